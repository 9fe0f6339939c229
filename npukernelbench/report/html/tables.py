"""Tables as a page of their own: comparisons and leaderboards for a browser. No program, nothing loaded."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from html import escape
from itertools import zip_longest

from npukernelbench.report.html.page import asset
from npukernelbench.report.table import Column, Table

__all__ = ["document", "tables_page"]

#: A page without a program follows the system.
_SYSTEM_DARK = (
    "@media (prefers-color-scheme: dark) { :root { --bg: #101214; --panel: #16191c; --ink: #e4e6e9; --muted: #9aa2ac; "
    "--line: #2a2e33; --soft: #1e2226; --accent: #8fa8ff; color-scheme: dark; } }"
)


def tables_page(title: str, tables: Iterable[Table]) -> str:
    """All tables, each under its title and above its note."""
    body = "".join(_section(table) for table in tables)
    return document(title, f"<main><h1>{escape(title)}</h1>{body}</main>")


def document(title: str, body: str, *, head: str = "") -> str:
    """A page of finished HTML in the style of reports, which may load nothing."""
    policy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8">{head}<title>{escape(title)}</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1"><link rel="icon" href="data:,">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        f"<style>{asset('page.css')}{_SYSTEM_DARK}</style></head><body>{body}</body></html>\n"
    )


def _section(table: Table) -> str:
    heads = "".join(f'<th scope="col"{_aligned(column)}>{escape(column.name)}</th>' for column in table.columns)
    rows = "".join(_row(table.columns, row, link) for row, link in zip_longest(table.rows, table.links, fillvalue=""))
    note = f'<p class="muted">{escape(table.note)}</p>' if table.note else ""
    return (
        f'<section class="chart"><h2>{escape(table.title)}</h2><div class="scroll" tabindex="0" role="region" '
        f'aria-label="{escape(table.title)}"><table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table></div>'
        f"{note}</section>"
    )


def _row(columns: tuple[Column, ...], row: tuple[str, ...] | str, link: str) -> str:
    return f"<tr>{''.join(_cells(columns, row, link))}</tr>"


def _cells(columns: tuple[Column, ...], row: tuple[str, ...] | str, link: str) -> Iterator[str]:
    for number, (column, cell) in enumerate(zip(columns, row, strict=True)):
        text = escape(cell)
        linked = f'<a href="{escape(link)}">{text}</a>' if link and number == 0 else text
        yield f"<td{_aligned(column)}>{linked}</td>"


def _aligned(column: Column) -> str:
    return ' class="number"' if column.numeric else ""
