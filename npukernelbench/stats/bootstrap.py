"""Intervals by drawing tasks again: samples of one task resemble each other, so tasks are what chance has drawn.

Equal data give equal intervals: the draws come from a generator with a fixed seed and a frozen stream.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import fsum, sqrt
from typing import TYPE_CHECKING, Any, NamedTuple

from npukernelbench.stats.interval import Interval, wilson

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Cluster", "cluster_ratio", "mean_difference", "paired_difference"]

_SEED = 20240917
_DIGITS = 9
#: With fewer clusters no exact test of 5 % can be significant, and resamples reach no further than what is there.
_FEW = 6


class Cluster(NamedTuple):
    """What one task adds to numerator and denominator of a share, for instance solved problems and problems."""

    part: float
    whole: float


def cluster_ratio(clusters: Sequence[Cluster], confidence: float = 0.95, draws: int = 1000) -> Interval:
    """The interval of the sum of parts over the sum of wholes, by the percentiles of ``draws`` resamples of clusters.

    Where resampling cannot tell anything, because there is one cluster or all have the same share, it is
    Wilson's interval with the clusters as trials. ValueError when nothing was counted.
    """
    parts, wholes = [cluster.part for cluster in clusters], [cluster.whole for cluster in clusters]
    total, size = sum(parts), sum(wholes)
    if not clusters or min(wholes) <= 0:
        raise ValueError("every cluster must have counted something, and there must be a cluster")
    if _alike([part / whole for part, whole in clusters]):
        # Rounding may take the share above 1, which Wilson's interval refuses.
        return wilson(min(total / size, 1.0) * len(clusters), len(clusters), confidence)
    weights = _weights(len(clusters), draws)
    shares = sorted(((weights @ parts) / _drawn(tuple(wholes), draws)).tolist())
    skipped = int((1 - confidence) / 2 * draws)
    # Rounded, as matrix products differ in the last digits from machine to machine.
    return Interval(round(shares[skipped], _DIGITS), round(shares[-1 - skipped], _DIGITS))


def mean_difference(clusters: Sequence[Cluster], confidence: float = 0.95, draws: int = 1000) -> tuple[float, Interval]:
    """The sum of parts over the sum of wholes, where parts are sums of differences from -1 to 1, and its interval.

    A cluster is a task: its problems' differences added up, and their number. Clusters are drawn again as in
    :func:`cluster_ratio`, with percentiles further out for few clusters (see :func:`_skipped`). Where all clusters have
    one difference, resampling cannot tell anything: Wilson's interval says how many of all clusters may have another.
    With fewer than six clusters no resample is further out than the clusters are, and that interval is the least.
    ValueError when there is no cluster, or a difference is none.
    """
    if not clusters or not all(cluster.whole > 0 and abs(cluster.part) <= cluster.whole for cluster in clusters):
        raise ValueError("every cluster needs differences from -1 to 1, and there must be a cluster")
    parts, wholes = [cluster.part for cluster in clusters], [cluster.whole for cluster in clusters]
    value = round(fsum(parts) / fsum(wholes), _DIGITS)
    differences = [part / whole for part, whole in clusters]
    reach = wilson(0, len(clusters), confidence).high
    if _alike(differences):
        return value, Interval(max(-1.0, value - reach), min(1.0, value + reach))
    weights = _weights(len(clusters), draws)
    means = sorted(((weights @ parts) / (weights @ wholes)).tolist())
    skipped = _skipped(len(clusters), confidence, draws)
    low, high = round(means[skipped], _DIGITS), round(means[-1 - skipped], _DIGITS)
    if len(clusters) < _FEW:
        low, high = min(low, max(-1.0, value - reach)), max(high, min(1.0, value + reach))
    return value, Interval(low, high)


def paired_difference(
    clusters: Sequence[tuple[float, float]], confidence: float = 0.95, draws: int = 1000
) -> tuple[float, Interval]:
    """How much higher the first of two shares is than the second, on average over clusters, and its interval.

    Each cluster (a task) gives two shares from 0 to 1, one per model: what is hard for both cancels out. See
    :func:`mean_difference`. ValueError when there is no cluster, or a share is none.
    """
    if not clusters or not all(0 <= share <= 1 for pair in clusters for share in pair):
        raise ValueError("every cluster needs two shares from 0 to 1, and there must be a cluster")
    return mean_difference([Cluster(first - second, 1.0) for first, second in clusters], confidence, draws)


def _alike(shares: Sequence[float]) -> bool:
    # Equal shares that were divided out of other numbers may differ in their last digits.
    return max(shares) - min(shares) < 1e-9


def _skipped(clusters: int, confidence: float, draws: int) -> int:
    """How many resamples lie outside of each end of the interval.

    Plain percentiles are those of a normal distribution whose spread is too small by sqrt((n-1)/n): with ten clusters
    such intervals hold in 90 of 100 cases, not 95. Percentiles that stand for Student's distribution mend both
    (Hesterberg 2015, doi:10.1080/00031305.2015.1089789, section 3.3).
    """
    from scipy.special import ndtr, stdtrit

    reach = sqrt(clusters / (clusters - 1)) * float(stdtrit(clusters - 1, (1 + confidence) / 2))
    return int(float(ndtr(-reach)) * draws)


@lru_cache(maxsize=8)
def _drawn(wholes: tuple[float, ...], draws: int) -> NDArray[Any]:
    """The denominators of all resamples, which a run's many rates have in common."""
    drawn: NDArray[Any] = _weights(len(wholes), draws) @ wholes
    return drawn


@lru_cache(maxsize=64)
def _weights(clusters: int, draws: int) -> NDArray[Any]:
    """How often each cluster is in each resample, [draws, clusters]."""
    import numpy as np

    # RandomState's stream is frozen by NumPy's compatibility policy, that of Generator is not.
    chosen = np.random.RandomState(_SEED).randint(0, clusters, size=(draws, clusters))
    # A range of numbers for each resample, so that one `bincount` counts for all of them.
    rows = np.arange(draws)[:, None] * clusters + chosen
    return np.bincount(rows.ravel(), minlength=draws * clusters).reshape(draws, clusters).astype(np.float64)
