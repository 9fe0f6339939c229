"""``npukb run``: ask a model, judge its answers, show what came of it."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

import click

from npukernelbench.cli.boundary import App
from npukernelbench.cli.group import Command
from npukernelbench.cli.judging import announce
from npukernelbench.cli.options import (
    executor_options,
    json_option,
    setting_option,
    setting_options,
    shared_options,
)
from npukernelbench.cli.plan import make_plan
from npukernelbench.cli.session import open_session
from npukernelbench.errors import ExecutorError

if TYPE_CHECKING:
    from npukernelbench.cli.session import Session
    from npukernelbench.config import Config
    from npukernelbench.run.plan import RunSummary

__all__ = ["command", "execute"]

#: Options that take several words: ``--tasks sqrt gelu``.
_LISTS = ("--tasks", "-t", "--model_args", "-a", "--gen_kwargs", "--executor_args", "--strategy_args", "--include_path")


@click.command("run", cls=Command, lists=_LISTS, short_help="Ask a model for kernels and judge them.")
@setting_options("model", "model_args", "tasks", "track", "num_samples", "turns", "hints", "limit", "samples", "shard")
@setting_options("gen_kwargs", "strategy", "strategy_args", "prompt_style", "knowledge", "parser", "seed")
@setting_options("rules", "checkout", "hidden_seed", "use_cache", "prices")
@setting_options("max_cost", "max_tokens_total", "max_time_s")
@executor_options
@setting_options("jobs", "output_path")
@setting_option("predict_only", flag=True)
@setting_option("fail_under")
@click.option("--dry_run", is_flag=True, help="Print the number of requests and their possible cost, and stop.")
@click.option("--show_config", is_flag=True, help="Print every setting with its origin, and stop.")
@json_option
@shared_options
@click.pass_obj
def command(app: App, /, show_config: bool, dry_run: bool, as_json: bool, **options: Any) -> int:
    """Ask a model for kernels and judge them.

    The same command resumes in its folder: finished samples are not repeated, and faults of the infrastructure are
    tried again.
    """
    session = open_session(options)
    if show_config:
        _show_config(app, session.config, as_json)
        return 0
    if dry_run:
        _show_forecast(app, session, as_json)
        return 0
    return execute(app, session, as_json)


def execute(app: App, session: Session, as_json: bool, inputs: int | None = None) -> int:
    """Run what the session's configuration asks for, show what came of it, return the exit code. ``inputs`` is the
    secret of an earlier run whose inputs are drawn again.
    """
    from npukernelbench.nouns import Outcome
    from npukernelbench.report.progress import progress_for
    from npukernelbench.report.threshold import Threshold
    from npukernelbench.run.runner import run
    from npukernelbench.store import results_json

    config = session.config
    # Before anything is asked: a metric that the run will not have would else be noticed hours later.
    threshold = Threshold.for_run(config.fail_under, config.num_samples, config.shard)
    plan = make_plan(session, inputs)
    announce(app, session)
    if config.limit is not None:
        app.console.warn("--limit is for trials: results on part of the cases are not benchmark results")
    app.resumable = True
    with progress_for(app.console) as progress:
        summary = run(plan, session.plugins, progress)
    if progress.tally.earlier == summary.total:
        app.console.err(f"nothing to do, all {summary.total} samples were finished")
    if as_json:
        content = results_json(summary.results) if summary.results else {}
        app.console.json({"directory": str(summary.directory), **content})
    else:
        _show(app, summary)
    filtered = summary.by_outcome.get(Outcome.FILTERED, 0)
    if filtered:
        app.console.warn(f"{filtered} of {summary.total} answers were withheld by a content filter and are not counted")
    if summary.stopped:
        app.console.warn(f"stopped at {summary.stopped}; the same command with a higher limit continues")
    # A withheld answer is not missing: asked again, it would be withheld again.
    missing = summary.total - (summary.generated if plan.predict_only else summary.valid + filtered)
    if missing:
        what = "answered" if plan.predict_only else "judged"
        app.console.warn(f"{missing} of {summary.total} samples could not be {what}; the same command tries again")
        return ExecutorError.exit_code
    return threshold.exit_code_of_run(summary.results) if threshold and summary.results else 0


def _show(app: App, summary: RunSummary) -> None:
    from npukernelbench.report.reporter import draw
    from npukernelbench.report.screen import screen

    console, results = app.console, summary.results
    if results is None:
        console.out(f"{summary.generated} answers are stored; without --predict_only the same command judges them")
        console.out(f"run: {summary.directory}")
        return
    draw(screen(results, summary.directory), console)
    console.out(f"results: {summary.directory / 'results.json'}")
    folder = shlex.quote(str(summary.directory))
    console.out(f"more:    npukb report {folder} --format html    (or table: every problem, task and category)")


def _show_forecast(app: App, session: Session, as_json: bool) -> None:
    from npukernelbench.run.forecast import forecast

    expected = forecast(make_plan(session), session.plugins)
    if as_json:
        app.console.json(expected.as_json())
        return
    for line in expected.lines():
        app.console.tell(line)


def _show_config(app: App, config: Config, as_json: bool) -> None:
    from npukernelbench.nouns.codec import dumps
    from npukernelbench.report.table import as_columns

    values = config.as_dict()
    if as_json:
        app.console.json({name: {"value": value, "origin": config.origin(name)} for name, value in values.items()})
        return
    rows = [(name, dumps(value), config.origin(name)) for name, value in values.items()]
    for line in as_columns([("SETTING", "VALUE", "ORIGIN"), *rows]):
        app.console.out(line)
