"""Tables as data, and their three renderings: aligned text, markdown, and rich for people in front of a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from textwrap import wrap
from typing import TYPE_CHECKING, NamedTuple

from npukernelbench.console import Console, Paint

if TYPE_CHECKING:
    from rich.table import Table as RichTable

__all__ = ["READABLE", "Column", "Prose", "Table", "as_columns", "as_markdown", "as_rich", "draw_tables", "in_parts"]


class Column(NamedTuple):
    """Header of a column; numbers are aligned to the right."""

    name: str
    numeric: bool = False


class Prose(str):
    """Text for people that a terminal may break between words."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Table:
    """A title, columns, and rows of finished text, one cell per column. ``note`` is a line below the table.

    ``links`` has an address per row, empty where there is none, or is empty: what the row's first cell leads to.
    """

    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""
    links: tuple[str, ...] = ()


def as_columns(rows: Iterable[Sequence[str]], *, gap: str = "  ") -> list[str]:
    """Rows of cells as lines whose columns are aligned to the left; the last column is not padded."""
    cells = [tuple(row) for row in rows]
    # Rows may have fewer cells than others, and columns must be as wide as any.
    widths = [max(map(len, column)) for column in zip_longest(*cells, fillvalue="")]
    # A short row ends early, and its last cell is not padded.
    return [gap.join(cell.ljust(width) for cell, width in zip(row, widths, strict=False)).rstrip() for row in cells]


def as_markdown(table: Table) -> str:
    """A GitHub-flavoured markdown table under a heading; pipes in cells are escaped."""
    names = [_escaped(column.name) for column in table.columns]
    rules = ["---:" if column.numeric else "---" for column in table.columns]
    lines = [f"### {table.title}", "", _markdown_row(names), _markdown_row(rules)]
    for row, link in zip_longest(table.rows, table.links, fillvalue=""):
        first = _escaped(row[0])
        lines.append(_markdown_row([f"[{first}]({link})" if link else first, *map(_escaped, row[1:])]))
    if table.note:
        lines.extend(["", table.note])
    return "\n".join(lines) + "\n"


def as_rich(table: Table, *, width: int | None = None) -> RichTable:
    """A rich table without its note; the marks ✓ and ✗ and the word ``ok`` get their colours.

    In a terminal of ``width`` columns words and headers are folded, numbers never: see :func:`in_parts`.
    """
    from rich.box import SIMPLE_HEAD
    from rich.table import Table as RichTable
    from rich.text import Text

    drawn = RichTable(
        title=Text(table.title, style="bold"),
        title_justify="left",
        box=SIMPLE_HEAD,
        pad_edge=False,
    )
    for index, column in enumerate(table.columns):
        name = column.name
        if column.numeric and width is not None:
            name = "\n".join(wrap(name, _least_width(table, index)))
        drawn.add_column(
            Text(name),
            justify="right" if column.numeric else "left",
            overflow="fold",
            no_wrap=column.numeric,
        )
    for row, link in zip_longest(table.rows, table.links, fillvalue=""):
        # As `Text`: rich reads brackets in a plain string, such as those of an interval, as markup.
        cells = [Text(cell, style=_COLOURS.get(cell, "")) for cell in row]
        if link:
            cells[0].stylize(f"link {link}")
        drawn.add_row(*cells)
    return drawn


def in_parts(table: Table, width: int) -> list[Table]:
    """The table, or several with a part of its columns each where it is too wide. Every part has the columns of words
    that come first, which say what a row is; the note is below the last."""
    lead = next((index for index, column in enumerate(table.columns) if column.numeric), len(table.columns))
    named = list(range(lead))
    parts, room = [list(named)], _room(table, named, width)
    for index in range(lead, len(table.columns)):
        needed = _least_width(table, index) + _GAP
        # In the narrowest terminal, too, a part has one column of numbers.
        if needed > room and parts[-1] != named:
            parts.append(list(named))
            room = _room(table, named, width)
        parts[-1].append(index)
        room -= needed
    return [
        Table(
            table.title if number == 0 else "",
            tuple(table.columns[index] for index in columns),
            tuple(tuple(row[index] for index in columns) for row in table.rows),
            table.note if number == len(parts) - 1 else "",
            # Links belong to rows, which every part has.
            table.links,
        )
        for number, columns in enumerate(parts)
    ]


def draw_tables(console: Console, tables: Iterable[Table]) -> None:
    """Draw tables on standard output, each followed by its note."""
    width = console.width
    for table in tables:
        for part in [table] if width is None else in_parts(table, width):
            console.draw(as_rich(part, width=width))
        if table.note:
            for line in [table.note] if width is None else wrap(table.note, min(width, READABLE)):
                console.out(console.paint(line, Paint.DIM))
            console.out()


#: Between two columns of a table.
_GAP = 3
#: Columns of words are folded to this width before a table is taken apart.
_WORDS = 14
#: Sentences in longer lines are hard to read.
READABLE = 100


def _least_width(table: Table, index: int) -> int:
    """What a column needs: its longest number, or its words folded; and the longest word of its header."""
    cells = max((len(row[index]) for row in table.rows), default=0)
    column = table.columns[index]
    header = max(map(len, column.name.split()), default=0)
    return max(cells if column.numeric else min(cells, _WORDS), header)


def _room(table: Table, named: Sequence[int], width: int) -> int:
    return width - sum(_least_width(table, index) + _GAP for index in named)


_COLOURS = {"✓": "green", "✗": "red", "ok": "green", "–": "dim", "problem": "bold red", "warning": "yellow"}


def _markdown_row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _escaped(cell: str) -> str:
    # A row of markdown is one line.
    return cell.replace("|", "\\|").replace("\n", " ")
