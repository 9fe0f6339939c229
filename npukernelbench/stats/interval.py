"""Intervals for shares and for means over tasks. No resampling: equal data give equal intervals."""

from __future__ import annotations

from collections.abc import Sequence
from math import fsum, sqrt
from statistics import NormalDist
from typing import NamedTuple

__all__ = ["Estimate", "Interval", "cluster_mean", "nine_in_ten", "wilson"]

#: Of the values of :func:`nine_in_ten`, this share may lie beyond each end.
_TAIL = 0.05


class Interval(NamedTuple):
    """Lower and upper bound."""

    low: float
    high: float


class Estimate(NamedTuple):
    """A mean, its interval, and the number of clusters it is over."""

    value: float
    low: float
    high: float
    clusters: int


def nine_in_ten(values: Sequence[float]) -> Interval:
    """The values between which nine in ten of ``values`` lie, rather one more than one less. ValueError for none."""
    if not values:
        raise ValueError("nothing lies between no values")
    ordered = sorted(values)
    beyond = int(_TAIL * (len(ordered) + 1))  # of the sorted values, those that may be left outside
    return Interval(ordered[max(beyond - 1, 0)], ordered[-max(beyond, 1)])


def wilson(successes: float, trials: int, confidence: float = 0.95) -> Interval:
    """The Wilson score interval of a share, within [0, 1]; (0, 1) when nothing was tried.

    ``successes`` may be fractional, as the sum of pass@k over problems is. ValueError unless
    ``0 <= successes <= trials``.
    """
    if trials < 0 or not 0 <= successes <= trials:
        raise ValueError(f"{successes} successes in {trials} trials is impossible")
    if trials == 0:
        return Interval(0.0, 1.0)
    z = _quantile(confidence)
    share, square = successes / trials, z * z / trials
    centre = share + square / 2
    spread = z * sqrt(share * (1 - share) / trials + square / (4 * trials))
    # Exact at the ends, where rounding would leave a bound like 1e-17.
    low = 0.0 if successes == 0 else max(0.0, (centre - spread) / (1 + square))
    high = 1.0 if successes == trials else min(1.0, (centre + spread) / (1 + square))
    return Interval(low, high)


def cluster_mean(clusters: Sequence[Sequence[float]], confidence: float = 0.95) -> Estimate:
    """The mean over clusters of each cluster's mean, with Student's interval from the spread between clusters.

    Samples of one task resemble each other, so tasks, not samples, are what is drawn. The interval is the whole line
    (-inf, inf) for a single cluster. ValueError when there is no cluster, or an empty one.
    """
    if not clusters or not all(clusters):
        raise ValueError("every cluster needs a value, and there must be a cluster")
    # fsum, so that the order of samples does not change the last digit.
    means = [fsum(cluster) / len(cluster) for cluster in clusters]
    count = len(means)
    value = fsum(means) / count
    if count == 1:
        return Estimate(value, float("-inf"), float("inf"), 1)
    deviation = sqrt(fsum((mean - value) ** 2 for mean in means) / (count - 1))
    half = _student_quantile(confidence, count - 1) * deviation / sqrt(count)
    return Estimate(value, value - half, value + half, count)


def _quantile(confidence: float) -> float:
    """The two-sided quantile of the normal distribution."""
    return NormalDist().inv_cdf(0.5 + _checked(confidence) / 2)


def _student_quantile(confidence: float, freedom: int) -> float:
    from scipy.special import stdtrit

    return float(stdtrit(freedom, 0.5 + _checked(confidence) / 2))


def _checked(confidence: float) -> float:
    if not 0 < confidence < 1:
        raise ValueError(f"a confidence lies between 0 and 1, not {confidence}")
    return confidence
