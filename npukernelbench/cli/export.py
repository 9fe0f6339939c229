"""``npukb export``: a run for other tools."""

from __future__ import annotations

from pathlib import Path

import click

from npukernelbench.cli.boundary import App
from npukernelbench.cli.group import Command
from npukernelbench.cli.options import verbosity_option

__all__ = ["command"]


@click.command("export", cls=Command, short_help="Write a run's samples and results for other tools.")
@click.argument("directory", metavar="FOLDER", type=click.Path(path_type=Path))
@click.option(
    "--format",
    "form",
    type=click.Choice(["jsonl", "parquet", "lm-eval"]),
    default="jsonl",
    show_default=True,
    help="One row per sample, or the files of lm-eval.",
)
@click.option(
    "--output_path",
    "-o",
    "target",
    metavar="PATH",
    type=click.Path(path_type=Path),
    help="File, or folder for lm-eval.  [default: beside the run's results]",
)
@verbosity_option
@click.pass_obj
def command(app: App, directory: Path, form: str, target: Path | None) -> None:
    """Write the samples of the run in FOLDER as one JSON object per line, as a Parquet table, or together with the
    results as lm-eval names its files and fields.
    """
    from npukernelbench.report.export import export_lm_eval, export_rows, export_table
    from npukernelbench.store import read_run

    run = read_run(directory)
    if form == "lm-eval":
        written = export_lm_eval(run, target or directory / "lm-eval")
    elif form == "parquet":
        written = (export_table(run, target or directory / "samples.parquet"),)
    else:
        written = (export_rows(run, target or directory / "samples.jsonl"),)
    for path in written:
        app.console.out(str(path))
