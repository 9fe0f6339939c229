"""``npukb survey``: how much of a folder of kernels the twin compiles."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from npukernelbench.cli.boundary import App
from npukernelbench.cli.group import Command
from npukernelbench.cli.options import json_option, setting_options, shared_options
from npukernelbench.cli.session import open_session
from npukernelbench.errors import UsageError

if TYPE_CHECKING:
    from npukb_conformance.survey.compiling import Limits, Surveyed
    from npukb_conformance.survey.values import Comparing
    from npukernelbench.cli.session import Session
    from npukernelbench.judge.executor import Executor

__all__ = ["command"]


@click.command("survey", cls=Command, short_help="Compile every kernel of a folder, and count what is missing.")
@click.argument("path", metavar="DIR", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option("--only", metavar="TEXT", default="", help="Only projects whose path has this text in it.")
@click.option(
    "--types",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    metavar="N",
    help="Combinations of element types that each kernel is compiled for.",
)
@click.option(
    "--timeout",
    type=click.FloatRange(min=1),
    default=120.0,
    show_default=True,
    metavar="SECONDS",
    help="Limit of one compilation.",
)
@click.option(
    "--run",
    is_flag=True,
    help="Run what compiles and has a right answer: a task of ours, or what its gen_data.py writes, confined.",
)
@click.option("--soc", metavar="NAME", help="Machine to judge for; the same as --executor_args soc=NAME.")
@setting_options("jobs")
@json_option
@shared_options
@click.pass_obj
def command(
    app: App, /, path: Path, only: str, types: int, timeout: float, run: bool, as_json: bool, **options: Any
) -> int:
    """Compile every kernel below DIR as it lies, with its host side, on the twin; run those that --run can compare.

    Device files, operator projects (op_host, op_kernel) and host code that launches kernels are found by what they
    contain. What they include is taken from wherever it lies below DIR. The tables say what compiles, and the first
    name or header that each other file lacks. See docs/own_kernels.md.
    """
    from npukb_conformance.survey import report
    from npukb_conformance.survey.compiling import Limits
    from npukernelbench.report.table import draw_tables

    session = open_session(options)
    rows = _surveyed(app, session, path.resolve(), only, Limits(timeout, types), run=run)
    if as_json:
        app.console.json(report.as_json(rows))
        return 0
    draw_tables(app.console, [report.files_table(rows), report.causes_table(rows)])
    for line in report.totals(rows):
        app.console.out(line)
    return 0


def _surveyed(app: App, session: Session, root: Path, only: str, limits: Limits, *, run: bool) -> list[Surveyed]:
    """Every row, project by project, with a line of progress each."""
    from npukb_conformance.survey.compiling import find, survey
    from npukb_conformance.survey.sources import Tree
    from npukb_twin.executor import TwinArgs, TwinExecutor
    from npukernelbench.nouns import Track

    tree = Tree(root)
    projects = [project for project in find(tree) if only in tree.relative(project.root)]
    if not projects:
        raise UsageError(
            f"there is no kernel (__global__ __aicore__) below {root}",
            field="DIR",
            remedy="name a folder of Ascend C sources",
        )
    executor = TwinExecutor(TwinArgs.model_validate(dict(session.config.executor_args)))
    try:
        executor.prepare(app.console.err, Track.DYNAMIC)
        # Made before the threads begin, which all compile with them.
        tools = executor.tools()
        # The protocol has its arguments' class as a variable; the twin has it as one of its class.
        comparing = _comparing(session, cast("Executor", executor)) if run else None
        with ThreadPoolExecutor(max_workers=max(1, session.config.jobs)) as pool:
            rows: list[Surveyed] = []
            # A list at once: a generator would do its work in the thread that reads it.
            surveyed = pool.map(lambda project: [*survey(project, tools, limits, comparing)], projects)
            for number, made in enumerate(surveyed, 1):
                rows += made
                good = sum(row.compiles for row in made)
                app.console.err(
                    f"[{number}/{len(projects)}] {tree.relative(projects[number - 1].root)}: {good}/{len(made)}"
                )
    finally:
        executor.close()
    return rows


def _comparing(session: Session, executor: Executor) -> Comparing:
    """What runs kernels with the settings of the configuration."""
    from npukb_conformance.survey.values import Comparing
    from npukernelbench.judge.pipeline import Judge, JudgeSettings

    config = session.config
    settings = JudgeSettings(config.compile_timeout_s, config.run_timeout_s, config.seed)
    return Comparing(session.tasks, executor, lambda chosen: Judge.of(chosen, session.plugins, settings))
