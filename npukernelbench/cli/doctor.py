"""``npukb doctor``: what works on this machine, and how to repair the rest."""

from __future__ import annotations

from typing import Any

import click

from npukernelbench.cli.boundary import App
from npukernelbench.cli.group import Command
from npukernelbench.cli.options import json_option, setting_options, shared_options
from npukernelbench.cli.session import open_session
from npukernelbench.console import Paint
from npukernelbench.errors import ToolchainError

__all__ = ["command"]


@click.command("doctor", cls=Command, short_help="Show what works on this machine, and how to repair the rest.")
@setting_options("executor", "executor_args", "output_path")
@click.option("--npu", is_flag=True, help="Examine the device: also build and run two small kernels on it.")
@json_option
@shared_options
@click.pass_obj
def command(app: App, /, as_json: bool, npu: bool, **options: Any) -> int:
    """Show what works on this machine, and how to repair the rest.

    The exit code is 0 when the executor can work, else 4. Nothing is built, downloaded or written but with --npu, which
    tries the device out and takes some seconds.
    """
    from npukernelbench.report.doctor import examination_json, examine

    examination = examine(open_session({**options, "executor": "npu"} if npu else options), trying=npu)
    if as_json:
        app.console.json(examination_json(examination))
    else:
        _show(app, examination)
    return 0 if examination.usable else ToolchainError.exit_code


def _show(app: App, examination: Any) -> None:
    paint, out = app.console.paint, app.console.out
    marks = {"ok": ("✓", Paint.GOOD), "warning": ("!", Paint.WARN), "problem": ("✗", Paint.BAD)}
    for section in examination.sections:
        out(paint(section.title, Paint.BOLD))
        for finding in section.findings:
            mark, colour = marks[finding.status.value]
            out(f"  {paint(mark, colour)} {finding.name}: {finding.detail}")
            if finding.remedy:
                out(f"      {paint('remedy:', Paint.GOOD)} {finding.remedy}")
    out()
    out("ready to judge" if examination.usable else "not ready: the executor cannot work until its problems are solved")
