"""``npukb conformance``: kernels of a checkout of NPUKernelBench, compiled unmodified and judged."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from npukernelbench.cli.boundary import App
from npukernelbench.cli.group import Command
from npukernelbench.cli.judging import announce
from npukernelbench.cli.options import judging_options, setting_options
from npukernelbench.cli.session import Session, open_session

if TYPE_CHECKING:
    from npukb_conformance.checkout import Variant
    from npukb_conformance.record import CaseRecord, Records
    from npukb_conformance.sitting import OperatorResult, Planned
    from npukernelbench.judge.executor import Executor

__all__ = ["command"]

#: Where records go below ``--output_path``.
_RECORDS = "conformance.jsonl"
#: The suite whose tasks have the operators' names.
_SUITE = "npukernelbench"


class _Asked(NamedTuple):
    """What the options of this command alone say."""

    path: Path
    operators: tuple[str, ...]
    most_cases: int | None
    variant: Variant
    compile_only: bool
    markdown: Path | None
    by_suite: bool


@click.command("conformance", cls=Command, short_help="Judge the kernels of a checkout of NPUKernelBench.")
@click.argument("path", metavar="PATH", type=click.Path(path_type=Path))
@click.option(
    "--operators", multiple=True, metavar="NAMES", help="Operators, levels, categories, globs.  [default: all]"
)
@click.option("--cases", type=click.IntRange(min=1), metavar="N", help="Only the first N cases of each operator.")
@click.option(
    "--variant", type=click.Choice(["answer", "question"]), default="answer", help="Files.  [default: answer]"
)
@click.option("--suite_rules", is_flag=True, help="Judge by the checkout's own limits and values instead of ours.")
@click.option("--compile_only", is_flag=True, help="Compile and stop.")
@click.option("--markdown", type=click.Path(path_type=Path), metavar="FILE", help="Write the results as a page.")
@click.option("--fail_under", multiple=True, metavar="METRIC=N", help="Exit code 1 below this; repeatable.")
@setting_options("seed", "jobs", "output_path")
@judging_options
@click.pass_obj
def command(
    app: App,
    /,
    path: Path,
    operators: tuple[str, ...],
    cases: int | None,
    variant: str,
    fail_under: tuple[str, ...],
    as_json: bool,
    **options: Any,
) -> int:
    """Judge the kernels of PATH, a checkout of NPUKernelBench, on the public cases of our tasks.

    Every operator is compiled unmodified and judged on the dynamic track. Each case is stored as soon as it is judged,
    and the same command resumes. A case that misses is judged again under the conditions in which its kernel was
    verified, and counted separately. The metrics of --fail_under are compile and pass, which count operators,
    and cases; N below 1 is a share.
    """
    from npukb_conformance.checkout import Variant
    from npukb_conformance.record import Records
    from npukb_conformance.report import ConformanceTotals, Requirement

    judged_only = options.pop("compile_only"), options.pop("markdown"), options.pop("suite_rules")
    asked = _Asked(path, operators or (_SUITE,), cases, Variant(variant), *judged_only)
    # Kernels of a checkout come with their host side, which only this track runs.
    session = open_session({**options, "track": "dynamic"})
    # Before anything is judged: a requirement that cannot be read is told now.
    requirements = [Requirement.parse(text) for text in fail_under]
    records = Records(session.config.output_path / _RECORDS)
    results, executor = _judged(app, session, asked, records)
    if asked.markdown is not None:
        _write_page(asked.markdown, results, executor)
    if as_json:
        _show_json(app, asked, results)
    else:
        _show(app, asked, results, records)
    totals = ConformanceTotals.of(results)
    return 0 if all(requirement.met(totals) for requirement in requirements) else 1


def _judged(
    app: App, session: Session, asked: _Asked, records: Records
) -> tuple[list[OperatorResult], Mapping[str, str]]:
    """The results, and what the executor says of itself."""
    from npukb_conformance.checkout import Checkout, is_damaged
    from npukb_conformance.dispatch import load_dispatch
    from npukb_conformance.rules import RULES
    from npukb_conformance.sitting import plan, sit
    from npukb_conformance.verified import load_verification
    from npukernelbench.judge.pipeline import Judge, JudgeSettings
    from npukernelbench.tasks.rules import under_rules

    config, plugins = session.config, session.plugins
    checkout, dispatch = Checkout(asked.path), load_dispatch()
    selected = session.tasks.select(asked.operators)
    if asked.by_suite:
        selected = under_rules(selected, RULES.with_checkout(asked.path))
    settings = JudgeSettings(config.compile_timeout_s, config.run_timeout_s, config.seed)
    with _executor(app, session) as executor:
        planned = plan(
            checkout,
            session.tasks,
            selected,
            dispatch=dispatch,
            variant=asked.variant,
            most_cases=asked.most_cases,
            executor=executor,
        )
        if any(entry.candidate is not None and is_damaged(entry.candidate) for entry in planned):
            app.console.warn(f"{asked.path}: a later commit damaged sources here; see docs/conformance.md")
        results = sit(
            planned,
            judge=lambda chosen: Judge(chosen, checkers=plugins.checkers, guards=plugins.guards, settings=settings),
            dispatch=dispatch,
            verification=load_verification(),
            executor=executor,
            records=records,
            variant=asked.variant,
            compile_only=asked.compile_only,
            jobs=config.jobs,
            on_case=_watch(app),
        )
        # Consumed here: behind the block the executor is closed.
        return list(_counted(app, planned, results)), executor.describe()


@contextmanager
def _executor(app: App, session: Session) -> Iterator[Executor]:
    from npukernelbench.judge.executor import make_executor, prepare, require_track

    config = session.config
    announce(app, session)
    executor = make_executor(session.executor.registration, config.executor_args)
    try:
        require_track(executor, config.track)
        prepare(executor, app.console.err, config.track)
        yield executor
    finally:
        executor.close()


def _watch(app: App) -> Any:
    """Called with each case: a line for those that miss, when somebody watches."""
    console = app.console

    def tell(case: CaseRecord) -> None:
        if not case.passed and console.is_interactive:
            console.err(f"  {case.operator}:{case.case} {case.verdict.outcome.value}")

    return tell


def _counted(app: App, planned: tuple[Planned, ...], results: Iterator[OperatorResult]) -> Iterator[OperatorResult]:
    """The results as they come, each with a line of progress on standard error."""
    for number, result in enumerate(results, 1):
        state = (
            "left out"
            if result.compiled is None
            else f"{result.passed}/{len(result.cases)}"
            if result.compiles
            else "✗"
        )
        app.console.err(f"[{number}/{len(planned)}] {result.planned.task.name} {state}")
        yield result


def _write_page(path: Path, results: list[OperatorResult], executor: Mapping[str, str]) -> None:
    from npukb_conformance.misses import load_misses
    from npukb_conformance.page import conformance_page

    path.write_text(conformance_page(results, load_misses(), executor), encoding="utf-8")


def _show(app: App, asked: _Asked, results: list[OperatorResult], records: Records) -> None:
    from npukb_conformance.report import ConformanceTotals, operator_table, scaled_table
    from npukernelbench.report.table import draw_tables

    draw_tables(app.console, [operator_table(results, f"{asked.variant.value} kernels"), *scaled_table(results)])
    for line in ConformanceTotals.of(results).lines(compile_only=asked.compile_only):
        app.console.out(line)
    app.console.out(f"records: {records.path}")


def _show_json(app: App, asked: _Asked, results: list[OperatorResult]) -> None:
    from npukb_conformance.report import report_json

    app.console.json(report_json(results, variant=asked.variant.value, compile_only=asked.compile_only))
