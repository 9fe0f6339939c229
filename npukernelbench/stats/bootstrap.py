"""Intervals by drawing tasks again: samples of one task resemble each other, so tasks are what chance has drawn.

Equal data give equal intervals: the draws come from a generator with a fixed seed and a frozen stream.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import fsum
from typing import TYPE_CHECKING, Any, NamedTuple

from npukernelbench.stats.interval import Interval, wilson

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Cluster", "cluster_ratio", "paired_difference"]

_SEED = 20240917
_DIGITS = 9


class Cluster(NamedTuple):
    """What one task adds to numerator and denominator of a share, for instance solved problems and problems."""

    part: float
    whole: float


def cluster_ratio(clusters: Sequence[Cluster], confidence: float = 0.95, draws: int = 1000) -> Interval:
    """The interval of the sum of parts over the sum of wholes, by the percentiles of ``draws`` resamples of clusters.

    Where resampling cannot tell anything, because there is one cluster or all have the same share of 0 or of 1, it is
    Wilson's interval with the clusters as trials (with one cluster: its whole). ValueError when nothing was counted.
    """
    parts, wholes = [cluster.part for cluster in clusters], [cluster.whole for cluster in clusters]
    total, size = sum(parts), sum(wholes)
    if not clusters or min(wholes) <= 0:
        raise ValueError("every cluster must have counted something, and there must be a cluster")
    if len(clusters) == 1:
        return wilson(total, int(size), confidence)
    if total <= 0 or total >= size:
        return wilson(len(clusters) if total >= size else 0, len(clusters), confidence)
    weights = _weights(len(clusters), draws)
    shares = sorted(((weights @ parts) / (weights @ wholes)).tolist())
    skipped = int((1 - confidence) / 2 * draws)
    # Rounded, as matrix products differ in the last digits from machine to machine.
    return Interval(round(shares[skipped], _DIGITS), round(shares[-1 - skipped], _DIGITS))


def paired_difference(
    clusters: Sequence[tuple[float, float]], confidence: float = 0.95, draws: int = 1000
) -> tuple[float, Interval]:
    """How much higher the first of two shares is than the second, on average over clusters, and its interval.

    Each cluster (a task) gives two shares from 0 to 1, one per model: what is hard for both cancels out. The clusters
    are drawn again as in :func:`cluster_ratio`. Where all differences are equal, resampling cannot tell anything: no
    cluster differed from that value, and Wilson's interval says how many of all clusters may. ValueError when there is
    no cluster, or a share is none.
    """
    if not clusters or not all(0 <= share <= 1 for pair in clusters for share in pair):
        raise ValueError("every cluster needs two shares from 0 to 1, and there must be a cluster")
    differences = [first - second for first, second in clusters]
    value = round(fsum(differences) / len(differences), _DIGITS)
    if max(differences) == min(differences):
        reach = wilson(0, len(clusters), confidence).high
        return value, Interval(max(-1.0, value - reach), min(1.0, value + reach))
    means = sorted((_weights(len(clusters), draws) @ differences / len(clusters)).tolist())
    skipped = int((1 - confidence) / 2 * draws)
    return value, Interval(round(means[skipped], _DIGITS), round(means[-1 - skipped], _DIGITS))


@lru_cache(maxsize=64)
def _weights(clusters: int, draws: int) -> NDArray[Any]:
    """How often each cluster is in each resample, [draws, clusters]."""
    import numpy as np

    # RandomState's stream is frozen by NumPy's compatibility policy, that of Generator is not.
    chosen = np.random.RandomState(_SEED).randint(0, clusters, size=(draws, clusters))
    rows = np.arange(draws)[:, None] * clusters + chosen
    return np.bincount(rows.ravel(), minlength=draws * clusters).reshape(draws, clusters).astype(np.float64)
