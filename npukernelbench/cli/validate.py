"""``npukb validate``: are tasks sound, and can right and wrong answers to them be told apart?"""

from __future__ import annotations

from collections import Counter
from typing import Any

import click

from npukernelbench.cli.boundary import App
from npukernelbench.cli.group import Command
from npukernelbench.cli.options import json_option, shared_options
from npukernelbench.cli.session import open_session
from npukernelbench.console import Paint
from npukernelbench.errors import TaskError
from npukernelbench.prompts import load_style

__all__ = ["command"]

_PAINT = {"error": Paint.BAD, "warning": Paint.WARN, "note": Paint.DIM}


@click.command("validate", cls=Command, short_help="Check that tasks are sound and gradeable.")
@click.argument("tasks", nargs=-1, metavar="[TASKS|all]")
@json_option
@shared_options
@click.pass_obj
def command(app: App, /, tasks: tuple[str, ...], as_json: bool, **shared: Any) -> int:
    """Check TASKS: names, levels, categories, tags, globs; all of them unless given.

    Every prompt is rendered, every reference is run, and wrong answers are tried on the task's checker. The exit code
    is 3 when a task is not fit to grade with.
    """
    from npukernelbench.nouns.codec import to_json
    from npukernelbench.tasks.validate import validate_task

    session = open_session(shared)
    words = [word for text in tasks for word in text.replace(",", " ").split()] or ["all"]
    styles = [load_style(registration) for registration in session.plugins.prompts.values()]
    counts: Counter[str] = Counter()
    objects = []
    for selected in session.tasks.select(words):
        findings = validate_task(selected.task, session.plugins.checkers, styles, seed=session.config.seed)
        counts.update(finding.severity.value for finding in findings)
        objects.append({"task": selected.task.name, "findings": [to_json(finding) for finding in findings]})
        if not as_json:
            _show(app, selected.task.name, findings)
    summary = {"tasks": len(objects), "errors": counts["error"], "warnings": counts["warning"], "notes": counts["note"]}
    if as_json:
        app.console.json({**summary, "results": objects})
    else:
        app.console.out(", ".join(f"{number} {name}" for name, number in summary.items()))
    return TaskError.exit_code if counts["error"] else 0


def _show(app: App, name: str, findings: tuple[Any, ...]) -> None:
    console = app.console
    worst = next((word for word in _PAINT if any(f.severity.value == word for f in findings)), "ok")
    mark = {"error": "✗", "warning": "!"}.get(worst, "✓")
    console.out(f"{console.paint(mark, _PAINT.get(worst, Paint.GOOD))} {name}")
    for finding in findings:
        place = f"case {finding.case}: " if finding.case else ""
        word = console.paint(finding.severity.value, _PAINT[finding.severity.value])
        console.out(f"    {word}: {place}{finding.message} [{finding.code}]")
