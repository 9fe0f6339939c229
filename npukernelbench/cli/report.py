"""``npukb report``: the results of a finished run, read back from its folder."""

from __future__ import annotations

from pathlib import Path

import click

from npukernelbench.cli.boundary import App
from npukernelbench.cli.group import Command
from npukernelbench.cli.options import json_option, verbosity_option

__all__ = ["command"]


@click.command("report", cls=Command, short_help="Show the results of a finished run again.")
@click.argument("directory", metavar="FOLDER", type=click.Path(path_type=Path))
@click.option(
    "--format",
    "form",
    type=click.Choice(["table", "markdown", "json"]),
    default="table",
    show_default=True,
    help="Format of the report.",
)
@json_option
@verbosity_option
@click.pass_obj
def command(app: App, directory: Path, form: str, as_json: bool) -> None:
    """Show the results of the run in FOLDER: problem by problem, then per task, category and level."""
    from npukernelbench.report.results import summarise
    from npukernelbench.report.run_tables import failures, headline, run_tables, spending
    from npukernelbench.report.table import as_markdown, draw_tables
    from npukernelbench.store import read_run

    run = read_run(directory)
    results = summarise(run.manifest, run.samples.values())
    if as_json or form == "json":
        app.console.json(results)
        return
    if form == "markdown":
        for table in run_tables(results):
            app.console.out(as_markdown(table))
    else:
        draw_tables(app.console, run_tables(results))
        for line in failures(results):
            app.console.out(line)
    app.console.out(headline(results))
    for line in spending(results):
        app.console.out(line)
