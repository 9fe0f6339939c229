"""Packing: many samples into one sequence, so that little of a long context is padding.

First fit, longest first: a sample goes into the first sequence that has room for it. No sample is cut. Every sequence
keeps the boundaries of its samples and counts positions from 0 in each, which is what attention needs to keep them
apart: without a mask of their own, samples of one sequence would read each other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import median
from typing import Any, NamedTuple, Protocol

from kernelgen_lm.corpus.sample import Sample
from npukernelbench.errors import UsageError

__all__ = ["Packed", "Packing", "first_fit", "pack", "sequences"]

#: Labels that no loss looks at.
IGNORED = -100


class Encoded(Protocol):
    """A sample as token numbers; the first ``prompt`` of them are not learned."""

    @property
    def ids(self) -> Sequence[int]: ...

    @property
    def prompt(self) -> int: ...


class Packing(NamedTuple):
    """Which samples share a sequence, by index; and those that are too long for any."""

    length: int
    bins: list[list[int]]
    too_long: list[int]


class Packed(NamedTuple):
    """What became of a corpus. ``waste`` is the share of all sequences' room that holds no token."""

    samples: int
    too_long: int
    sequences: int
    least_sequences: int
    tokens: int
    waste: float
    samples_per_sequence: Mapping[str, float]


def first_fit(lengths: Sequence[int], length: int) -> Packing:
    """Pack samples of those lengths into sequences of ``length``; equal arguments give equal sequences."""
    if length < 1:
        raise UsageError(f"{length} is no length", field="--length", remedy="at least 1 token")
    # Longest first wastes least; the index breaks ties, so that equal lengths keep their order.
    order = sorted(range(len(lengths)), key=lambda index: (-lengths[index], index))
    too_long = sorted(index for index in order if lengths[index] > length)
    fitting = [index for index in order if lengths[index] <= length]
    # As many sequences as samples are enough, as each of these fits into one.
    rooms, bins = _Rooms(len(fitting), length), [list[int]() for _ in fitting]
    for index in fitting:
        bins[rooms.take(lengths[index])].append(index)
    return Packing(length, [sequence for sequence in bins if sequence], too_long)


class _Rooms:
    """How much room each sequence has, as a tree whose nodes know the most below them."""

    def __init__(self, count: int, length: int) -> None:
        # A power of two, so that every inner node has two children.
        self._leaves = 1 << max(count - 1, 0).bit_length()
        self._most = [length] * (2 * self._leaves)

    def take(self, length: int) -> int:
        """The first sequence with that much room, which has less now."""
        node = 1
        while node < self._leaves:
            # The left child first: that is the earliest sequence with room.
            node = 2 * node if self._most[2 * node] >= length else 2 * node + 1
        self._most[node] -= length
        taken = node - self._leaves
        while node > 1:
            node //= 2
            self._most[node] = max(self._most[2 * node], self._most[2 * node + 1])
        return taken


def sequences(packing: Packing, samples: Sequence[Sample], encoded: Sequence[Encoded]) -> Iterator[Mapping[str, Any]]:
    """One row per sequence: tokens, labels, positions, boundaries, identities.

    ``cu_seq_lens`` begins with 0 and ends with the number of tokens; there is no padding.
    """
    for chosen in packing.bins:
        row: dict[str, list[Any]] = {"input_ids": [], "labels": [], "position_ids": [], "cu_seq_lens": [0]}
        for index in chosen:
            ids, prompt = list(encoded[index].ids), encoded[index].prompt
            row["input_ids"] += ids
            row["labels"] += [IGNORED] * prompt + ids[prompt:]
            row["position_ids"] += range(len(ids))
            row["cu_seq_lens"].append(len(row["input_ids"]))
        yield {**row, "samples": [samples[index].id for index in chosen]}


def pack(encoded: Iterable[Encoded], length: int) -> tuple[Packing, Packed]:
    """The packing of a corpus, with its statistics."""
    lengths = [len(sample.ids) for sample in encoded]
    packing = first_fit(lengths, length)
    counts = [len(sequence) for sequence in packing.bins]
    tokens = sum(lengths[index] for sequence in packing.bins for index in sequence)
    room = length * len(packing.bins)
    spread = {"fewest": min(counts), "median": median(counts), "most": max(counts)} if counts else {}
    facts = Packed(
        samples=sum(counts),
        too_long=len(packing.too_long),
        sequences=len(packing.bins),
        least_sequences=-(-tokens // length),
        tokens=tokens,
        waste=round(1 - tokens / room, 6) if room else 0.0,
        samples_per_sequence=spread,
    )
    return packing, facts
