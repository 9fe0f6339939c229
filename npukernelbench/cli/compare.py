"""``npukb compare``: two profiles or two runs side by side."""

from __future__ import annotations

from pathlib import Path

import click

from npukernelbench.cli.boundary import App
from npukernelbench.cli.group import Command
from npukernelbench.cli.options import json_option, verbosity_option

__all__ = ["command"]


@click.command("compare", cls=Command, short_help="Compare two profiles or two runs.")
@click.argument("first", type=click.Path(path_type=Path))
@click.argument("second", type=click.Path(path_type=Path))
@json_option
@verbosity_option
@click.pass_obj
def command(app: App, first: Path, second: Path, as_json: bool) -> None:
    """Compare FIRST with SECOND, each a file written by profile --json, or the folder of a run.

    Of runs, the same answers are compared on the same cases. Ratios are SECOND over FIRST.
    """
    from npukernelbench.report.comparison import compare, comparison_json, read_side
    from npukernelbench.report.table import draw_tables

    sides = read_side(first), read_side(second)
    if as_json:
        app.console.json(comparison_json(*sides))
    else:
        draw_tables(app.console, [compare(*sides)])
