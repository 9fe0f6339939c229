"""Near duplicates: answers whose code is almost the same, found without comparing each with every other.

What is compared is the set of five tokens in a row, comments left out (of an answer without code, five words in a row).
Signatures of random minima propose pairs, the sets themselves decide, and of a pair the earlier sample stays.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kernelgen_lm.corpus.check import tokens_of, words_of
from kernelgen_lm.corpus.sample import Sample, code_of
from npukernelbench.errors import UsageError

__all__ = ["LEAST", "near_duplicates", "shingles"]

#: Below this too many pairs would have to be compared.
LEAST = 0.6
_TOKENS = 5
_HASHES = 128
_PRIME = (1 << 61) - 1
#: Rows per band: the more, the fewer pairs are proposed. Enough of those at the threshold have to be.
_ROWS = (16, 8, 4, 2)
_RECALL = 0.99


class _Bands(NamedTuple):
    rows: int
    bands: int


def near_duplicates(samples: Iterable[Sample], threshold: float) -> Mapping[str, str]:
    """For every sample that is a near duplicate of an earlier one its identity and that of the one that stays.

    ``threshold`` is the share of what two answers have in common in what both have. UsageError outside of its range.
    """
    if not LEAST <= threshold <= 1:
        raise UsageError(f"{threshold:g} is no threshold", field="--near-duplicates", remedy=f"{LEAST:g} to 1")
    bands = _bands(threshold)
    multipliers, offsets = _hashes()
    buckets: dict[tuple[int, bytes], list[int]] = defaultdict(list)
    kept: list[tuple[str, NDArray[np.uint64]]] = []
    duplicates: dict[str, str] = {}
    for sample in samples:
        mine = shingles(sample.answer)
        signature = _signature(mine, multipliers, offsets)
        keys = [(band, signature[band * bands.rows : (band + 1) * bands.rows].tobytes()) for band in range(bands.bands)]
        # Sorted, so that the earliest duplicate is named whatever order a set has.
        candidates = sorted({index for key in keys for index in buckets[key]})
        same = next((kept[index][0] for index in candidates if _share(mine, kept[index][1]) >= threshold), None)
        if same is not None:
            # Put into no bucket: an answer that resembles a duplicate alone stays.
            duplicates[sample.id] = same
            continue
        for key in keys:
            buckets[key].append(len(kept))
        kept.append((sample.id, mine))
    return duplicates


def shingles(answer: str) -> NDArray[np.uint64]:
    """Hashes of what an answer consists of, ascending, each once."""
    code = code_of(answer)
    parts = tokens_of(code) if code.strip() else words_of(answer.rpartition("</think>")[2])
    # An answer with fewer parts than that is compared as a whole.
    width = min(_TOKENS, len(parts))
    texts = {" ".join(parts[start : start + width]) for start in range(len(parts) - width + 1)}
    digests = (hashlib.blake2b(text.encode(), digest_size=8).digest() for text in texts)
    return np.unique(np.array([int.from_bytes(digest, "big") for digest in digests], np.uint64))


def _share(left: NDArray[np.uint64], right: NDArray[np.uint64]) -> float:
    """What both have in what either has; sets without anything are equal."""
    both = np.intersect1d(left, right, assume_unique=True).size
    either = left.size + right.size - both
    return both / either if either else 1.0


def _signature(
    values: NDArray[np.uint64], multipliers: NDArray[np.uint64], offsets: NDArray[np.uint64]
) -> NDArray[np.uint64]:
    """The least value under each of the hash functions, whose multiplication wraps around."""
    if not values.size:
        return np.zeros(_HASHES, np.uint64)
    mixed = values[None, :] * multipliers[:, None] + offsets[:, None]
    return np.asarray((mixed ^ (mixed >> np.uint64(29))).min(axis=1))


def _hashes() -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Odd multipliers and offsets, the same always."""
    rng = np.random.default_rng(0)
    # Odd: multiplication by an odd number is a bijection on 64 bits, so no values collide by it.
    multipliers = rng.integers(0, _PRIME, _HASHES, dtype=np.uint64) * np.uint64(2) + np.uint64(1)
    return multipliers, rng.integers(0, _PRIME, _HASHES, dtype=np.uint64)


def _bands(threshold: float) -> _Bands:
    """As many rows per band as still propose nearly all pairs at the threshold."""
    for rows in _ROWS:
        count = _HASHES // rows
        # The chance that two answers of that similarity agree in all rows of at least one band.
        if 1 - (1 - threshold**rows) ** count >= _RECALL:
            return _Bands(rows, count)
    return _Bands(1, _HASHES)
