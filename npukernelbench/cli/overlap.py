"""``npukb overlap``: how much of a run's answers stands in published kernels."""

from __future__ import annotations

from pathlib import Path

import click

from npukernelbench.cli.boundary import App
from npukernelbench.cli.group import Command
from npukernelbench.cli.options import format_option, json_option, verbosity_option

__all__ = ["command"]


@click.command("overlap", cls=Command, short_help="Compare answers with published kernels of the same operators.")
@click.argument("directory", metavar="RUN", type=click.Path(path_type=Path))
@click.option(
    "--against", required=True, metavar="FOLDER", type=click.Path(path_type=Path), help="Folder or checkout of kernels."
)
@format_option("table", "markdown")
@json_option
@verbosity_option
@click.pass_obj
def command(app: App, directory: Path, against: Path, form: str, as_json: bool) -> None:
    """Compare the answers of RUN with the C++ files below FOLDER: shared n-grams of code, answer by answer.

    What was found is stored beside the run's results, and reports say it. Nothing of FOLDER is stored but file names.
    """
    from dataclasses import asdict

    from npukernelbench.report.overlap import overlap_sentence, overlap_table, read_overlap
    from npukernelbench.report.presenting import present_tables

    overlap = read_overlap(directory, against)
    if as_json:
        app.console.json([asdict(shared) for shared in overlap])
        return
    present_tables(app.console, [overlap_table(overlap)], form, title="Overlap")
    app.console.out(overlap_sentence(directory))
