"""``npukb validate``: are tasks sound, and can right and wrong answers to them be told apart?"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from npukernelbench.cli.boundary import App
from npukernelbench.cli.group import Command
from npukernelbench.cli.options import json_option, setting_option, shared_options
from npukernelbench.cli.session import open_session
from npukernelbench.console import Paint
from npukernelbench.errors import TaskError
from npukernelbench.prompts import load_style

if TYPE_CHECKING:
    from npukernelbench.tasks.examine import Tools
    from npukernelbench.tasks.validate import Examination

__all__ = ["command"]

_PAINT = {"error": Paint.BAD, "warning": Paint.WARN, "note": Paint.DIM}


@click.command("validate", cls=Command, short_help="Check that tasks are sound and gradeable.")
@click.argument("tasks", nargs=-1, metavar="[TASKS|all]")
@click.option("--schema", is_flag=True, help="Print the JSON Schema of task.yaml, for editors, and stop.")
@setting_option("jobs")
@json_option
@shared_options
@click.pass_obj
def command(app: App, /, tasks: tuple[str, ...], schema: bool, as_json: bool, **shared: Any) -> int:
    """Check TASKS: names, levels, categories, tags, globs; all of them by default.

    Every prompt is rendered, every reference is run, and wrong answers (mutants) are tried on the task's checker. The
    exit code is 3 when a task is not fit to grade with.
    """
    from npukernelbench.report.examinations import Totals, examination_json
    from npukernelbench.tasks.examine import examine_tasks

    if schema:
        from npukernelbench.tasks.schema import json_schema

        app.console.json(json_schema())
        return 0
    session = open_session(shared)
    words = [word for text in tasks for word in text.replace(",", " ").split()] or ["all"]
    selected = [chosen.task for chosen in session.tasks.select(words)]
    totals, objects = Totals(), []
    config = session.config
    for examine_task in examine_tasks(selected, partial(_tools, shared), seed=config.seed, jobs=config.jobs):
        totals.add(examine_task)
        objects.append(examination_json(examine_task))
        if not as_json:
            _show(app, examine_task)
    if as_json:
        app.console.json({**totals.as_json(), "results": objects})
    else:
        for line in totals.lines():
            app.console.out(line)
    return TaskError.exit_code if totals.errors else 0


def _tools(shared: Mapping[str, Any]) -> Tools:
    """What examinations need, in whatever process they happen."""
    from npukernelbench.tasks.examine import Tools
    from npukernelbench.tasks.rules import Founded

    session = open_session(shared)
    registrations = session.plugins.prompts.values()
    loaded = (load_style(registration, lambda: session.tasks) for registration in registrations)
    # Those that are read from a checkout say nothing without one.
    styles = tuple(style for style in loaded if not isinstance(style, Founded))
    return Tools(session.plugins.checkers, styles)


def _show(app: App, examination: Examination) -> None:
    console = app.console
    worst = next((word for word in _PAINT if any(f.severity.value == word for f in examination.findings)), "ok")
    mark = {"error": "✗", "warning": "!"}.get(worst, "✓")
    tried, killed = sum(examination.tried.values()), sum(examination.killed.values())
    counts = console.paint(f"{examination.cases} cases, {killed} of {tried} mutants killed", Paint.DIM)
    console.out(f"{console.paint(mark, _PAINT.get(worst, Paint.GOOD))} {examination.task}  {counts}")
    for finding in examination.findings:
        place = f"case {finding.case}: " if finding.case else ""
        word = console.paint(finding.severity.value, _PAINT[finding.severity.value])
        console.out(f"    {word}: {place}{finding.message} [{finding.code}]")
