"""The survey's tables: a row per file, and the missing names and headers by how many files each holds back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from npukb_conformance.survey.compiling import Surveyed
from npukernelbench.nouns.codec import JSON
from npukernelbench.report.table import Column, Table

__all__ = ["as_json", "causes_table", "files_table", "totals"]

_SIDES = (("device", "device files"), ("host", "host sides"))
_LONGEST = 90


def files_table(rows: Sequence[Surveyed]) -> Table:
    """Every file with what came of it; values where kernels were run."""
    names = ["side", "file", "track", "result", "first miss"]
    cells: list[tuple[str, ...]] = [(row.side, row.file, row.track.value, _result(row), _miss(row)) for row in rows]
    if any(row.values for row in rows):
        names.append("values")
        cells = [(*cell, "; ".join(map(str, row.values))) for cell, row in zip(cells, rows, strict=True)]
    return Table("Files", tuple(map(Column, names)), tuple(cells))


def _result(row: Surveyed) -> str:
    if row.compiles:
        return "compiles"
    return f"no ({row.beyond.value})" if row.beyond else "no"


def _miss(row: Surveyed) -> str:
    if row.error is None:
        return ""
    place = f"{row.error.file}:{row.error.line}: " if row.error.file else ""
    return f"{row.cause} — {place}{row.error.message}"[:_LONGEST]


def causes_table(rows: Sequence[Surveyed]) -> Table:
    """The first misses by count, those that are counted first."""
    counts = Counter((row.side, row.cause, row.beyond.value if row.beyond else "") for row in rows if not row.compiles)
    # By name at last, so that equal counts always stand in one order.
    ordered = sorted(counts.items(), key=lambda item: (bool(item[0][2]), -item[1], item[0]))
    columns = (Column("side"), Column("missing"), Column("files", numeric=True), Column("not counted as"))
    return Table("First misses", columns, tuple((side, cause, str(n), why) for (side, cause, why), n in ordered))


def totals(rows: Sequence[Surveyed]) -> list[str]:
    """Both sides in a line each: of all files, and of those that the twin of one chip could have."""
    lines = []
    for side, name in _SIDES:
        own = [row for row in rows if row.side == side]
        within = [row for row in own if row.beyond is None]
        good, away = sum(row.compiles for row in own), Counter(row.beyond.value for row in own if row.beyond)
        rest = ", ".join(f"{count} {why}" for why, count in sorted(away.items())) or "none"
        lines.append(f"{name} that compile: {good} of {len(within)} (set aside: {rest})")
    counts = Counter(values.answer.value for row in rows for values in row.values)
    if counts:
        lines.append(f"values: {', '.join(f'{counts[name]} {name}' for name in ('right', 'wrong', 'not run'))}")
    return lines


def as_json(rows: Sequence[Surveyed]) -> JSON:
    """The same for programs."""
    return [
        {
            "side": row.side,
            "file": row.file,
            "track": row.track.value,
            "compiles": row.compiles,
            "missing": row.cause,
            "message": row.error.message if row.error else "",
            "at": f"{row.error.file}:{row.error.line}" if row.error else "",
            "beyond": row.beyond.value if row.beyond else "",
            "compilations": row.variants,
            "seconds": round(row.seconds, 2),
            "values": [
                {"operator": one.operator, "answer": one.answer.value, "against": one.against, "said": one.said}
                for one in row.values
            ],
        }
        for row in rows
    ]
