"""``npukb doctor``: what works on this machine, and how to repair the rest."""

from __future__ import annotations

from typing import Any

import click

from npukernelbench.cli.boundary import App
from npukernelbench.cli.group import Command
from npukernelbench.cli.options import json_option, setting_options, shared_options
from npukernelbench.cli.session import Session, open_session
from npukernelbench.console import Paint
from npukernelbench.errors import ToolchainError
from npukernelbench.nouns.codec import to_json

__all__ = ["command"]


@click.command("doctor", cls=Command, short_help="Show what works on this machine, and how to repair the rest.")
@setting_options("executor", "executor_args", "output_path")
@click.option("--npu", is_flag=True, help="Examine the device: also build and run two small kernels on it.")
@click.option("--faults", is_flag=True, help="List right kernels that were faster than the machine can be.")
@click.option("--clear", "cleared", metavar="ID|all", multiple=True, help="With --faults: forget one, or all of them.")
@json_option
@shared_options
@click.pass_obj
def command(app: App, /, as_json: bool, npu: bool, faults: bool, cleared: tuple[str, ...], **options: Any) -> int:
    """Show what works on this machine, and how to repair the rest.

    The exit code is 0 when the executor can work, else 4. Nothing is built, downloaded or written but with --npu, which
    tries the device out and takes some seconds.

    With --faults nothing is examined: faults of the time model are listed, each with the command that judges its kernel
    again as it was judged. They stay until --clear forgets them.
    """
    if faults or cleared:
        return _faults(app, open_session(options), cleared, as_json)
    from npukernelbench.report.doctor import examination_json, examine

    session = open_session({**options, "executor": "npu"} if npu else options)
    examination = examine(session, trying=npu, say=app.console.err)
    if as_json:
        app.console.json(examination_json(examination))
    else:
        _show(app, examination)
    return 0 if examination.usable else ToolchainError.exit_code


def _faults(app: App, session: Session, cleared: tuple[str, ...], as_json: bool) -> int:
    """List what is kept, or forget some of it."""
    from npukernelbench.judge.beaten import Faults

    kept = Faults.of(session.config)
    gone = kept.clear(cleared) if cleared else 0
    faults = kept.listed()
    if as_json:
        app.console.json({"cleared": gone, "faults": [to_json(fault) for fault in faults]})
        return 0
    for fault in faults:
        app.console.out(app.console.paint(f"{fault.id} {fault.task} on {fault.machine}", Paint.BOLD))
        for case, (time_us, bound_us) in fault.cases.items():
            app.console.out(f"  case {case}: predicted {time_us:.3f} us, the machine needs {bound_us:.3f} us")
        app.console.out(f"  {fault.command}")
    app.console.out(f"faults of the time model: {len(faults)}" + (f"; forgotten: {gone}" if cleared else ""))
    return 0


def _show(app: App, examination: Any) -> None:
    paint, out, words = app.console.paint, app.console.tell, app.console.words
    marks = {"ok": ("✓", Paint.GOOD), "warning": ("!", Paint.WARN), "problem": ("✗", Paint.BAD)}
    for section in examination.sections:
        out(paint(section.title, Paint.BOLD))
        for finding in section.findings:
            mark, colour = marks[finding.status.value]
            out(f"  {paint(mark, colour)} {finding.name}: {finding.detail}")
            if finding.remedy:
                out(f"      {paint(words.text('remedy:'), Paint.GOOD)} {words.sentence(finding.remedy)}")
    out()
    ready, broken = "ready to judge", "not ready: the executor cannot work until its problems are solved"
    out(words.text(ready if examination.usable else broken))
