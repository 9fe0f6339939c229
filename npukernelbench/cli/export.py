"""``npukb export``: a run for other tools."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from npukernelbench.cli.boundary import App
from npukernelbench.cli.group import Command
from npukernelbench.cli.options import reporter_option, run_argument, shared_options
from npukernelbench.cli.session import open_session

__all__ = ["command"]


@click.command("export", cls=Command, short_help="Write a run's samples and results for other tools.")
@run_argument
@reporter_option(
    "jsonl",
    "jsonl or parquet for one row per sample; lm-eval, inspect, junit, pr or hf-dataset for what these read; or "
    "any other of npukb ls reporters.",
)
@click.option(
    "--output_path",
    "-o",
    "target",
    metavar="PATH",
    type=click.Path(path_type=Path),
    help="File, or folder for lm-eval, inspect and hf-dataset.  [default: beside the run's results]",
)
@shared_options
@click.pass_obj
def command(app: App, /, directory: Path, form: str, target: Path | None, **options: Any) -> None:
    """Write the run in FOLDER for other tools: rows of samples, logs of other harnesses, a report for a CI server or a
    pull request, a dataset with its card.
    """
    from npukernelbench.report.finding import only_run
    from npukernelbench.report.reporter import load_reporter, write
    from npukernelbench.report.results import summarise
    from npukernelbench.store import read_run

    reporter = load_reporter(open_session(options).plugins.reporters.find(form))
    run = read_run(only_run(directory))
    for path in write(reporter, form, run, summarise(run.manifest, run.samples.values()), target):
        app.console.out(str(path))
