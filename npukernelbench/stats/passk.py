"""pass@k and pass_all@k out of n samples of which c are right.

pass@k is the chance that one of k answers is right, pass_all@k that all of them are; both are estimated without bias
from n answers of which c are right.
"""

from __future__ import annotations

from math import comb

__all__ = ["pass_all_at_k", "pass_at_k"]


def pass_at_k(n: int, c: int, k: int) -> float:
    """``1 - C(n-c, k) / C(n, k)``, in exact integers and rounded once (Chen et al., 2021, arXiv:2107.03374).

    The share of the k-subsets of the n samples that hold a right one. ValueError unless ``0 <= c <= n`` and
    ``1 <= k <= n``: fewer samples than k give no unbiased estimate.
    """
    _check(n, c, k)
    every = comb(n, k)
    return (every - comb(n - c, k)) / every


def pass_all_at_k(n: int, c: int, k: int) -> float:
    """``C(c, k) / C(n, k)``: the share of the k-subsets of the n samples that hold right ones only."""
    _check(n, c, k)
    return comb(c, k) / comb(n, k)


def _check(n: int, c: int, k: int) -> None:
    if not 0 <= c <= n:
        raise ValueError(f"{c} right samples of {n} is impossible")
    if not 1 <= k <= n:
        raise ValueError(f"pass@{k} cannot be estimated from {n} samples")
