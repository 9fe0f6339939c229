"""``npukb report``: the results of a finished run, read back from its folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from npukernelbench.cli.boundary import App
from npukernelbench.cli.group import Command
from npukernelbench.cli.options import json_option, reporter_option, run_argument, shared_options
from npukernelbench.cli.session import open_session

__all__ = ["command"]


@click.command("report", cls=Command, short_help="Show the results of a finished run again.")
@run_argument
@reporter_option(
    "summary",
    "How to present them: summary, table, markdown, json, html (a page, written into FOLDER), or another of "
    "npukb ls reporters.",
)
@json_option
@shared_options
@click.pass_obj
def command(app: App, /, directory: Path, form: str, as_json: bool, **options: Any) -> None:
    """Show the results of the run in FOLDER: on one screen, or problem by problem, per task, category and level."""
    from npukernelbench.report.finding import only_run
    from npukernelbench.report.reporter import load_reporter, show
    from npukernelbench.report.results import summarise
    from npukernelbench.store import read_run

    name = "json" if as_json else form
    reporter = load_reporter(open_session(options).plugins.reporters.find(name))
    run = read_run(only_run(directory))
    show(reporter, name, run, summarise(run.manifest, run.samples.values()), app.console)
