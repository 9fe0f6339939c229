"""Tables as a page of their own: comparisons and leaderboards for a browser. Nothing is loaded.

A number with its interval is also drawn, to the scale of its column, so that rows can be compared by eye. A page has a
program only where it has speeds, whose curves the reader moves; tables can be read without.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from itertools import zip_longest
from typing import NamedTuple

from npukernelbench.report.comparison.speeds import Speeds
from npukernelbench.report.html.page import asset, packed_text, program_of
from npukernelbench.report.table import Column, Table

__all__ = ["document", "tables_page"]

#: A page without a program follows the system.
_SYSTEM_DARK = (
    "@media screen and (prefers-color-scheme: dark) { :root { --bg: #101214; --panel: #16191c; --ink: #e4e6e9; "
    "--muted: #9aa2ac; --line: #2a2e33; --soft: #1e2226; --accent: #8fa8ff; color-scheme: dark; } }"
)


_SCRIPTS = "script-src 'unsafe-inline'; "
#: The program of a page with speeds.
_PROGRAM = ("vendor/d3.min.js", "vendor/plot.min.js", "data.js", "charts.js", "speeds.js")


def tables_page(title: str, parts: Iterable[Table | Speeds]) -> str:
    """All parts, each under its title and what it says in words. Speeds of runs without times are left out."""
    # A page of speeds without a time would have axes and nothing in them.
    shown = [part for part in parts if isinstance(part, Table) or part.baselines]
    body = "".join(_section(part) if isinstance(part, Table) else _speeds(part) for part in shown)
    program = any(isinstance(part, Speeds) for part in shown)
    whole = f"<main><h1>{escape(title)}</h1>{body}</main>{''.join(program_of(*_PROGRAM)) if program else ''}"
    return document(title, whole, program=program)


def document(title: str, body: str, *, head: str = "", program: bool = False) -> str:
    """A page of finished HTML in the style of reports, which may load nothing. ``program`` lets scripts in it run."""
    policy = (
        f"default-src 'none'; style-src 'unsafe-inline'; {_SCRIPTS if program else ''}img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8">{head}<title>{escape(title)}</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1"><link rel="icon" href="data:,">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        f"<style>{asset('page.css')}{_SYSTEM_DARK}</style></head><body>{body}</body></html>\n"
    )


def _speeds(speeds: Speeds) -> str:
    """A place for the program to draw in, and what it draws."""
    without = "Curves and speeds by problem need JavaScript; the tables do not."
    return (
        f'<section class="speeds" aria-label="Speeds: {escape(speeds.title)}"><noscript>{without}</noscript>'
        # Base64 has no `<`, so that no name of a model can end the element.
        f'<script type="text/plain">{packed_text(speeds.as_json())}</script></section>'
    )


def _section(table: Table) -> str:
    heads = "".join(f'<th scope="col"{_aligned(column)}>{escape(column.name)}</th>' for column in table.columns)
    scales = [_scale(row[i] for row in table.rows) for i in range(len(table.columns))]
    rows = "".join(
        _row(table.columns, scales, row, link) for row, link in zip_longest(table.rows, table.links, fillvalue="")
    )
    note = f'<p class="lead">{escape(table.note)}</p>' if table.note else ""
    return (
        f'<section class="chart board"><h2>{escape(table.title)}</h2>{note}'
        f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(table.title)}">'
        f"<table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table></div></section>"
    )


def _row(columns: tuple[Column, ...], scales: Sequence[_Scale | None], row: tuple[str, ...] | str, link: str) -> str:
    return f"<tr>{''.join(_cells(columns, scales, row, link))}</tr>"


def _cells(
    columns: tuple[Column, ...], scales: Sequence[_Scale | None], row: tuple[str, ...] | str, link: str
) -> Iterator[str]:
    for number, (column, scale, cell) in enumerate(zip(columns, scales, row, strict=True)):
        text = escape(cell)
        linked = f'<a href="{escape(link)}">{text}</a>' if link and number == 0 else text
        match = _INTERVAL.fullmatch(cell)
        drawn = _whisker(scale, *map(float, match.groups())) if scale and match else ""
        yield f"<td{_aligned(column)}>{linked}{drawn}</td>"


#: A value with its interval, as cells of numbers show it.
_INTERVAL = re.compile(r"([+-]?\d+\.\d+) \[([+-]?\d+\.\d+), ([+-]?\d+\.\d+)\]")


class _Scale(NamedTuple):
    """What the ends of a column's whiskers stand for."""

    low: float
    high: float

    def share(self, value: float) -> float:
        """Where a value lies between the ends, in percent."""
        # Limited: a value has a digit more than its interval and may lie beyond the ends by that rounding.
        return round(100 * min(max((value - self.low) / (self.high - self.low), 0.0), 1.0), 2)


def _scale(cells: Iterable[str]) -> _Scale | None:
    """The scale of a column: 0 to 1 for rates, as wide as its intervals on both sides of 0 for differences."""
    matches = [match for cell in cells if (match := _INTERVAL.fullmatch(cell))]
    if not matches:
        return None
    # Differences are written with a sign, rates without.
    if not any(match[1].startswith(("+", "-")) for match in matches):
        return _Scale(0.0, 1.0)
    # A column of zeros has no width either, and is divided by it.
    widest = max(abs(float(match[i])) for match in matches for i in (2, 3)) or 1.0
    return _Scale(-widest, widest)


def _whisker(scale: _Scale, value: float, low: float, high: float) -> str:
    """The interval as a bar with a mark at the value and, for differences, a line at 0; the cell says the same."""
    left, right = scale.share(low), scale.share(high)
    zero = f'<u style="left:{scale.share(0.0)}%"></u>' if scale.low < 0 else ""
    return (
        f'<div class="whisker" aria-hidden="true">{zero}<i style="left:{left}%;width:{round(right - left, 2)}%"></i>'
        f'<b style="left:{scale.share(value)}%"></b></div>'
    )


def _aligned(column: Column) -> str:
    return ' class="number"' if column.numeric else ""
