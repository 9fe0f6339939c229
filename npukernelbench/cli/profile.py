"""``npukb profile``: where a kernel's time goes, and what would make it faster."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from npukernelbench.cli.boundary import App
from npukernelbench.cli.group import Command
from npukernelbench.cli.judging import judge_once
from npukernelbench.cli.options import GivenKernel, include_option, kernel_arguments, kernel_options
from npukernelbench.cli.session import find_case, only_task, open_session
from npukernelbench.errors import ExecutorError, NpukbError

if TYPE_CHECKING:
    from npukernelbench.nouns import Case, Profile
    from npukernelbench.report.verdict import Subject

__all__ = ["command"]


@click.command("profile", cls=Command, short_help="Show where a kernel's time goes.")
@kernel_arguments("Case to profile on.  [default: the largest of profile cpu]")
@click.option(
    "--out",
    metavar="FOLDER",
    type=click.Path(path_type=Path),
    help="Also write a trace for Perfetto and CSV tables there.",
)
@include_option
@kernel_options()
def command(
    app: App,
    given: GivenKernel,
    /,
    out: Path | None,
    as_json: bool,
    **options: Any,
) -> int:
    """Profile the kernel in FILE (- is standard input) as an answer to TASK, on one case.

    The kernel is judged first: one that is not right has no time. Times of the twin are predictions. A time that a
    device measured is followed by the twin's profile, which says what would be faster.

    The exit code is 0 whatever the verdict; 4 when the verdict could not be reached.
    """
    from npukernelbench.generate.extract import candidate_of
    from npukernelbench.generate.sources import read_sources
    from npukernelbench.nouns import Outcome, Owner, Tier
    from npukernelbench.nouns.codec import to_json
    from npukernelbench.report.profile import render_profile
    from npukernelbench.report.profile_files import write_profile
    from npukernelbench.report.verdict import Subject, render_verdict
    from npukernelbench.tasks.sizes import largest_case

    session = open_session(options)
    selected = only_task(session, given.task).task
    named = None if given.case_id is None else find_case(selected, given.case_id, session.config.track, session.hidden)
    case = named or largest_case(selected)
    read = read_sources(given.sources, session.config.track, given.include)
    subject = Subject(selected.name, case.id, candidate_of(read.files), read.paths)
    verdict = judge_once(app, session, (case,), subject, {"profile": "full"})
    profile = next((case_result.profile for case_result in verdict.cases if case_result.profile is not None), None)
    beside = _predicted(app, options, case, subject) if profile is not None and not profile.predicted else None
    if as_json:
        facts = {"task": selected.name, "case": case.id, "tier": verdict.tier.value, "outcome": verdict.outcome.value}
        predicted = {} if beside is None else {"predicted": to_json(beside)}
        app.console.json({**facts, "profile": to_json(profile), **predicted})
    elif verdict.outcome is not Outcome.OK or profile is None:
        for line in render_verdict(subject, verdict, app.console.paint, app.console.words):
            app.console.tell(line)
    else:
        app.console.out(f"{selected.name} · case {case.id} · {session.config.track.value}")
        for line in render_profile(profile, subject.candidate.files, verdict.tier, app.console.paint):
            app.console.tell(line)
        if beside is not None:
            app.console.out("")
            for line in render_profile(beside, subject.candidate.files, Tier.TWIN, app.console.paint):
                app.console.tell(line)
    if out is not None and profile is not None:
        for path in write_profile(profile, selected.kernel, out):
            app.console.err(f"wrote {path}")
    return ExecutorError.exit_code if verdict.owner is Owner.INFRA else 0


def _predicted(app: App, options: dict[str, Any], case: Case, subject: Subject) -> Profile | None:
    """The twin's profile of a kernel that a device has timed: what its lines cost and what would be faster comes from
    the twin's record of a run, which no device keeps. None, with the reason told, where the twin cannot work.
    """
    try:
        # The arguments that were given are those of the device's executor.
        session = open_session({**options, "executor": "twin", "executor_args": None})
        verdict = judge_once(app, session, (case,), subject, {"profile": "full"})
    except NpukbError as error:
        app.console.err(f"no prediction beside the measured time: {error}")
        return None
    profile = next((case_result.profile for case_result in verdict.cases if case_result.profile is not None), None)
    if profile is None:
        app.console.err(f"no prediction beside the measured time: on the twin the kernel is {verdict.outcome.value}")
        for said in (*verdict.diagnostics, *(diagnostic for ran in verdict.cases for diagnostic in ran.diagnostics)):
            app.console.err(f"  {said}")
    return profile
