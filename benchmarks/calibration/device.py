"""Kernels measured by owners of devices: rows of ``npukb compare --rows`` that lie beside reports in ``results/``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from npukernelbench.report.parity import ParityRow, parity_markdown, read_rows, summary

__all__ = ["section"]

RESULTS = Path(__file__).parents[2] / "results"
_NONE = "None yet: no row of a device has been sent."


def section(results: Path = RESULTS) -> str:
    """A line and a table per machine; a sentence where no device has been measured."""
    rows = [row for path in sorted(results.glob("**/rows.csv")) for row in read_rows(path)]
    return "\n".join(_tables(rows)).rstrip() or _NONE


def _tables(rows: list[ParityRow]) -> Iterator[str]:
    for machine in sorted({(row.measured_on, row.machine) for row in rows}):
        some = [row for row in rows if (row.measured_on, row.machine) == machine]
        yield f"`{machine[0]}`, predicted with `{machine[1]}`: {summary(some)}.\n"
        yield parity_markdown(some)
