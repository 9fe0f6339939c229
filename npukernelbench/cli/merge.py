"""``npukb merge``: the shards of a run as one run."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import click

from npukernelbench.cli.boundary import App
from npukernelbench.cli.group import Command
from npukernelbench.cli.options import json_option, setting_options, shared_options
from npukernelbench.cli.session import open_session
from npukernelbench.errors import ExecutorError

__all__ = ["command"]


@click.command("merge", cls=Command, short_help="Put the shards of a run together.")
@click.argument("directories", metavar="RUN…", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--out", "-o", "out", metavar="FOLDER", required=True, type=click.Path(path_type=Path), help="New folder to write."
)
@setting_options("fail_under")
@json_option
@shared_options
@click.pass_obj
def command(app: App, /, directories: tuple[Path, ...], out: Path, as_json: bool, **options: Any) -> int:
    """Put the folders of run --shard 1/N … N/N together: the run that one machine would have made.

    Refused, with every reason, are missing, doubled and unfinished shards and such of other runs.
    """
    from npukernelbench.report.run_tables import headline
    from npukernelbench.report.threshold import Threshold
    from npukernelbench.run.merge import merge, samples_per_problem
    from npukernelbench.store import results_json

    session = open_session(options)
    # Before anything is written: a metric that the merged run will not have is an error now.
    threshold = Threshold.for_run(session.config.fail_under, samples_per_problem(directories[0]))
    merged = merge(directories, out, session.plugins)
    if as_json:
        content = results_json(merged.results) if merged.results else {}
        app.console.json({"directory": str(merged.directory), **content})
    else:
        app.console.out(f"{merged.shards} shards, {merged.samples} samples: {merged.directory}")
        if merged.results:
            app.console.out(headline(merged.results))
            app.console.out(f"more: npukb report {shlex.quote(str(merged.directory))}")
    if merged.faulted:
        shards = ", ".join(merged.faulted)
        app.console.warn(f"shards {shards} hold faults of the infrastructure; run them again and merge again")
        return ExecutorError.exit_code
    return threshold.exit_code_of_run(merged.results) if threshold and merged.results else 0
