"""The statistics of a corpus as a page: what is in it, where it comes from, how long it is, what was found wrong."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from kernelgen_lm.corpus.sample import Sample

__all__ = ["Lengths", "lengths_of", "operators_of", "render_page"]

#: Rows of a table of many values; the rest is one row.
_ROWS = 20
_TABLES = (
    ("kind", "Kinds"),
    ("track", "Tracks"),
    ("family", "Families"),
    ("operator", "Operators"),
    ("dtype", "Element types"),
    ("source", "Where samples come from"),
    ("licence", "Licences"),
    ("outcome", "The judge's word"),
)


class Lengths(NamedTuple):
    """Characters of something, from the shortest to the longest."""

    shortest: int
    median: int
    p90: int
    p99: int
    longest: int


def lengths_of(values: Sequence[int]) -> Lengths:
    """Five of the values in order; of no values all are 0."""
    ordered = sorted(values) or [0]

    def at(share: float) -> int:
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))]

    return Lengths(ordered[0], at(0.5), at(0.9), at(0.99), ordered[-1])


def operators_of(samples: Iterable[Sample]) -> Mapping[str, int]:
    """How many samples each operator or function has."""
    return Counter(sample.operator for sample in samples)


def render_page(facts: Mapping[str, Any]) -> str:
    """The page for what ``kernelgen-lm corpus check`` found."""
    return "\n".join(_lines(facts)) + "\n"


def _lines(facts: Mapping[str, Any]) -> Iterator[str]:
    yield from ("# Corpus", "")
    repeated = facts["repeated sources"]
    yield f"{facts['samples']} samples of {facts['operators']} operators and functions; {repeated} repeat others' code."
    yield from ("", "## Checks", "", "| check | result |", "|---|---|")
    findings = facts["findings"]
    yield f"| compared with | {facts['benchmark tasks']} benchmark tasks |"
    yield f"| samples that have something of them | {len({finding['sample'] for finding in findings})} |"
    yield f"| of which left out | {facts['left out']} |"
    if facts.get("near duplicates") is not None:
        yield f"| near duplicates left out | {facts['near duplicates']} |"
    again = facts["executed again"]
    yield f"| kernels executed again | {again['kernels']}, {len(again['failed'])} of them not right |"
    yield from ("", "## Lengths in characters", "", "| | shortest | median | 90 % | 99 % | longest |")
    yield "|---|---:|---:|---:|---:|---:|"
    for name, lengths in facts["lengths"].items():
        yield f"| {name} | {' | '.join(str(value) for value in lengths.values())} |"
    for name, title in _TABLES:
        if facts.get(name):
            yield from _table(title, facts[name])


def _table(title: str, counts: Mapping[str, int]) -> Iterator[str]:
    yield from ("", f"## {title}", "", "| | samples |", "|---|---:|")
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    for name, count in ordered[:_ROWS]:
        yield f"| {_escaped(name)} | {count} |"
    rest = ordered[_ROWS:]
    if rest:
        yield f"| {len(rest)} others | {sum(count for _, count in rest)} |"


def _escaped(text: str) -> str:
    # A bar would end the cell, and a line break the row.
    return text.replace("|", "\\|").replace("\n", " ")
