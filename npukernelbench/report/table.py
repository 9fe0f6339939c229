"""Tables as data, and their three renderings: aligned text, markdown, and rich for people in front of a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING, NamedTuple

from npukernelbench.console import Console, Paint

if TYPE_CHECKING:
    from rich.table import Table as RichTable

__all__ = ["Column", "Table", "as_columns", "as_markdown", "as_rich", "draw_tables"]


class Column(NamedTuple):
    """Header of a column; numbers are aligned to the right."""

    name: str
    numeric: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """A title, columns, and rows of finished text, one cell per column. ``note`` is a line below the table."""

    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""


def as_columns(rows: Iterable[Sequence[str]], *, gap: str = "  ") -> list[str]:
    """Rows of cells as lines whose columns are aligned to the left; the last column is not padded."""
    cells = [tuple(row) for row in rows]
    widths = [max(map(len, column)) for column in zip_longest(*cells, fillvalue="")]
    return [gap.join(cell.ljust(width) for cell, width in zip(row, widths, strict=False)).rstrip() for row in cells]


def as_markdown(table: Table) -> str:
    """A GitHub-flavoured markdown table under a heading; pipes in cells are escaped."""
    names = [column.name for column in table.columns]
    rules = ["---:" if column.numeric else "---" for column in table.columns]
    lines = [f"### {table.title}", "", _markdown_row(names), _markdown_row(rules)]
    lines.extend(_markdown_row(row) for row in table.rows)
    if table.note:
        lines.extend(["", table.note])
    return "\n".join(lines) + "\n"


def as_rich(table: Table) -> RichTable:
    """A rich table without its note; the marks ✓ and ✗ and the word ``ok`` get their colours."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table as RichTable
    from rich.text import Text

    drawn = RichTable(
        title=table.title,
        title_style="bold",
        title_justify="left",
        box=SIMPLE_HEAD,
        pad_edge=False,
    )
    for column in table.columns:
        drawn.add_column(column.name, justify="right" if column.numeric else "left", overflow="fold")
    for row in table.rows:
        drawn.add_row(*(Text(cell, style=_COLOURS.get(cell, "")) for cell in row))
    return drawn


def draw_tables(console: Console, tables: Iterable[Table]) -> None:
    """Draw tables on standard output, each followed by its note."""
    for table in tables:
        console.draw(as_rich(table))
        if table.note:
            console.out(f"{console.paint(table.note, Paint.DIM)}\n")


_COLOURS = {"✓": "green", "✗": "red", "ok": "green", "–": "dim", "problem": "bold red", "warning": "yellow"}


def _markdown_row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"
