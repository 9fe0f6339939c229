"""Tables on standard output in the form that a user names."""

from __future__ import annotations

from collections.abc import Sequence

from npukernelbench.console import Console
from npukernelbench.report.comparison.speeds import Speeds
from npukernelbench.report.html.tables import tables_page
from npukernelbench.report.table import Table, as_markdown, draw_tables

__all__ = ["present_tables"]


def present_tables(console: Console, parts: Sequence[Table | Speeds], form: str, *, title: str) -> None:
    """Print tables as a page (``html``), as ``markdown``, or as people read them in a terminal. ``title`` is the
    page's. Speeds are for pages only.
    """
    if form == "html":
        console.out(tables_page(f"{title} · npukernelbench", parts).rstrip())
        return
    tables = [part for part in parts if isinstance(part, Table)]
    if form == "markdown":
        for table in tables:
            console.out(as_markdown(table))
    else:
        draw_tables(console, tables)
