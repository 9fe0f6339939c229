"""``npukb compare``: runs or profiles side by side."""

from __future__ import annotations

from pathlib import Path

import click

from npukernelbench.cli.boundary import App
from npukernelbench.cli.group import Command
from npukernelbench.cli.options import format_option, json_option, verbosity_option

__all__ = ["command"]


@click.command("compare", cls=Command, short_help="Say whether runs differ, and by how much; or two profiles.")
@click.argument("paths", metavar="A B [C…]", nargs=-1, type=click.Path(path_type=Path))
@click.option("--shared_tasks", is_flag=True, help="Compare only tasks that all runs had, in the same version.")
@click.option(
    "--rows",
    metavar="FILE",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Also write predicted beside measured, one row per case: as .csv, or as .md for docs/calibration.md.",
)
@format_option("table", "markdown", "html", "json")
@json_option
@verbosity_option
@click.pass_obj
def command(app: App, paths: tuple[Path, ...], shared_tasks: bool, rows: Path | None, form: str, as_json: bool) -> None:
    """Compare runs of the same tasks, given by their folders, with the first of them; or two files that profile --json
    wrote.

    Of runs: the difference of every success rate with its interval and an exact test, the problems that changed sides,
    and the difference that so many tasks could show. Two runs that judged the same answers are also compared by time.
    With --rows, one of two has predicted times and the other measured ones.
    """
    from npukernelbench.report.comparison.present import compare_paths
    from npukernelbench.report.parity import write_rows
    from npukernelbench.report.presenting import present_tables

    comparison = compare_paths(paths, shared_tasks=shared_tasks)
    said = write_rows(rows, paths) if rows is not None else ""
    if as_json or form == "json":
        app.console.json(comparison.as_json())
    else:
        present_tables(app.console, comparison.parts, form, title="Comparison")
        if said and form == "table":
            app.console.out(said)
