"""Whether two models differ on the same tasks: an exact test, and the difference that so many tasks could show."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import fsum, isclose, lcm, sqrt
from typing import NamedTuple

from npukernelbench.stats.bootstrap import Cluster

__all__ = ["SignFlip", "detectable_difference", "holm", "sign_flip_test"]

#: Denominators up to this are taken for exact: shares of at most about a hundred samples.
_DENOMINATOR = 10_000
#: The longest distribution that is computed; anything beyond is drawn.
_LENGTH = 200_000
_DRAWS = 20_000
_SEED = 20240917


class SignFlip(NamedTuple):
    """The two-sided p, and whether it is that of all assignments of signs or of drawn ones."""

    p: float
    exact: bool


def sign_flip_test(differences: Sequence[float]) -> SignFlip:
    """How often a sum of differences is as far from 0 as this one, when chance decides which model is which per task.

    One difference per task. With a single sample per task it is the exact form of McNemar's test. The distribution over
    all 2^n assignments is computed where differences are multiples of one fraction that is not too small; otherwise
    20,000 assignments are drawn from a fixed seed, and the observed one is counted among them.
    """
    # A difference of 0 is the same under both signs.
    there = [difference for difference in differences if difference]
    if not there:
        return SignFlip(1.0, True)
    steps = _as_integers(there)
    return _drawn(there) if steps is None else SignFlip(_counted(steps), True)


def detectable_difference(clusters: Sequence[Cluster], confidence: float = 0.95, power: float = 0.8) -> float | None:
    """The true difference that a comparison with so many clusters, scattered like these, would find with ``power``.

    A cluster is as in :func:`~npukernelbench.stats.mean_difference`. None when they do not scatter, or are fewer than
    two: then nothing is known of how models differ from task to task.
    """
    from scipy.special import stdtrit

    count, total = len(clusters), fsum(cluster.whole for cluster in clusters)
    if count < 2:
        return None
    mean = fsum(cluster.part for cluster in clusters) / total
    squares = fsum((cluster.part - mean * cluster.whole) ** 2 for cluster in clusters)
    if squares < 1e-18:
        return None
    error = sqrt(squares * count / (count - 1)) / total
    reach = float(stdtrit(count - 1, (1 + confidence) / 2)) + float(stdtrit(count - 1, power))
    return min(1.0, reach * error)


def holm(ps: Sequence[float]) -> list[float]:
    """p values of several tests, raised so that one false alarm among all of them is as rare as in one (Holm 1979)."""
    raised = [0.0] * len(ps)
    highest = 0.0
    for rank, index in enumerate(sorted(range(len(ps)), key=lambda i: ps[i])):
        highest = max(highest, min(1.0, ps[index] * (len(ps) - rank)))
        raised[index] = highest
    return raised


def _as_integers(differences: Sequence[float]) -> list[int] | None:
    """Differences as multiples of their largest common fraction; None when that is too small to enumerate."""
    fractions = [Fraction(difference).limit_denominator(_DENOMINATOR) for difference in differences]
    pairs = zip(fractions, differences, strict=True)
    # A float is the fraction meant only if that gives the same float again.
    if not all(isclose(float(fraction), given, rel_tol=1e-9, abs_tol=1e-12) for fraction, given in pairs):
        return None
    scale = lcm(*(fraction.denominator for fraction in fractions))
    steps = [int(fraction * scale) for fraction in fractions]
    return steps if sum(map(abs, steps)) <= _LENGTH else None


def _counted(steps: Sequence[int]) -> float:
    """The share of sign assignments whose sum is as far from 0, by the distribution of the sum, task after task."""
    import numpy as np

    reach, observed = sum(map(abs, steps)), abs(sum(steps))
    chances = np.zeros(2 * reach + 1)
    chances[reach] = 1.0
    for step in map(abs, steps):
        flipped = np.zeros_like(chances)
        flipped[step:] += chances[: chances.size - step] / 2
        flipped[: chances.size - step] += chances[step:] / 2
        chances = flipped
    # At 0 both tails hold the middle, which would be counted twice.
    if not observed:
        return 1.0
    return min(1.0, float(chances[: reach - observed + 1].sum() + chances[reach + observed :].sum()))


def _drawn(differences: Sequence[float]) -> SignFlip:
    import numpy as np

    # From `RandomState`: NumPy has frozen its stream, and not that of `Generator`.
    signs = np.random.RandomState(_SEED).randint(0, 2, size=(_DRAWS, len(differences))) * 2 - 1
    sums = np.abs(signs @ np.asarray(differences))
    # Sums that are equal but for rounding count as reached.
    reached = int((sums >= abs(fsum(differences)) - 1e-9).sum())
    return SignFlip((reached + 1) / (_DRAWS + 1), False)
