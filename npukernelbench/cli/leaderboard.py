"""``npukb leaderboard``: many runs, one row per model and settings."""

from __future__ import annotations

from pathlib import Path

import click

from npukernelbench.cli.boundary import App
from npukernelbench.cli.group import Command
from npukernelbench.cli.options import format_option, json_option, verbosity_option

__all__ = ["command"]


@click.command("leaderboard", cls=Command, short_help="Rank the models of many runs; ties stay ties.")
@click.argument("folders", metavar="[RESULTS…]", nargs=-1, type=click.Path(path_type=Path))
@click.option("--by", default="correct@1", show_default=True, metavar="RATE", help="The rate that ranks.")
@format_option("table", "markdown", "html", "csv", "json")
@json_option
@verbosity_option
@click.pass_obj
def command(app: App, folders: tuple[Path, ...], by: str, form: str, as_json: bool) -> None:
    """Rank every run at or below the folders RESULTS (default: results): a board per tier, rules and tasks, a row per
    model and settings.

    Runs that differ only in their seed are one row. Rows that cannot be told apart share a rank.
    """
    from npukernelbench.report.leaderboard import as_csv, board_json, board_parts, read_boards
    from npukernelbench.report.presenting import present_tables

    boards, empty = read_boards(*(folders or (Path("results"),)), by=by)
    for line in empty:
        app.console.warn(line)
    if as_json or form == "json":
        app.console.json([board_json(board) for board in boards])
    elif form == "csv":
        app.console.out(as_csv(boards).rstrip("\n"))
    else:
        present_tables(app.console, board_parts(boards), form, title="Leaderboard")
