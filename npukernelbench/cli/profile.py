"""``npukb profile``: where a kernel's time goes, and what would make it faster."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from npukernelbench.cli.boundary import App
from npukernelbench.cli.group import Command
from npukernelbench.cli.judging import judge_once
from npukernelbench.cli.options import judging_options, setting_options
from npukernelbench.cli.session import find_case, only_task, open_session
from npukernelbench.errors import ExecutorError

__all__ = ["command"]


@click.command("profile", cls=Command, short_help="Show where a kernel's time goes.")
@click.argument("task")
@click.argument("sources", metavar="FILE...", nargs=-1, required=True)
@click.option("--case", "case_id", metavar="ID", help="Case to profile on.  [default: the largest of profile cpu]")
@click.option(
    "--out",
    metavar="FOLDER",
    type=click.Path(path_type=Path),
    help="Also write a trace for Perfetto and CSV tables there.",
)
@setting_options("track", "seed", "hidden_seed")
@judging_options
@click.pass_obj
def command(
    app: App,
    /,
    task: str,
    sources: tuple[str, ...],
    case_id: str | None,
    out: Path | None,
    as_json: bool,
    **options: Any,
) -> int:
    """Profile the kernel in FILE (- is standard input) as an answer to TASK, on one case.

    The kernel is judged first: one that is not right has no time. Times of the twin are predictions.

    The exit code is 0 whatever the verdict; 4 when the verdict could not be reached.
    """
    from npukernelbench.generate.extract import candidate_of
    from npukernelbench.generate.sources import read_sources
    from npukernelbench.nouns import Outcome, Owner
    from npukernelbench.nouns.codec import to_json
    from npukernelbench.report.profile import render_profile
    from npukernelbench.report.profile_files import write_profile
    from npukernelbench.report.verdict import Subject, render_verdict
    from npukernelbench.tasks.sizes import largest_case

    session = open_session(options)
    found = only_task(session, task).task
    named = None if case_id is None else find_case(found, case_id, session.config.track, session.hidden)
    case = named or largest_case(found)
    read = read_sources(sources, session.config.track)
    subject = Subject(found.name, case.id, candidate_of(read.files), read.paths)
    verdict = judge_once(app, session, (case,), subject, {"profile": "full"})
    profile = next((one.profile for one in verdict.cases if one.profile is not None), None)
    if as_json:
        facts = {"task": found.name, "case": case.id, "tier": verdict.tier.value, "outcome": verdict.outcome.value}
        app.console.json({**facts, "profile": to_json(profile)})
    elif verdict.outcome is not Outcome.OK or profile is None:
        for line in render_verdict(subject, verdict, app.console.paint):
            app.console.out(line)
    else:
        app.console.out(f"{found.name} · case {case.id} · {session.config.track.value}")
        for line in render_profile(profile, subject.candidate.files, verdict.tier, app.console.paint):
            app.console.out(line)
    if out is not None and profile is not None:
        for path in write_profile(profile, found.kernel, out):
            app.console.err(f"wrote {path}")
    return ExecutorError.exit_code if verdict.owner is Owner.INFRA else 0
