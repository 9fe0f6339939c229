"""``npukb judge``: one candidate, one verdict that its author can act on."""

from __future__ import annotations

from typing import Any

import click

from npukernelbench.cli.boundary import App
from npukernelbench.cli.group import Command
from npukernelbench.cli.judging import check_once, explain_once, judge_once, judge_text
from npukernelbench.cli.options import GivenKernel, include_option, kernel_arguments, kernel_options
from npukernelbench.cli.session import find_case, only_task, open_session
from npukernelbench.errors import ExecutorError, UsageError

__all__ = ["command"]


@click.command("judge", cls=Command, short_help="Judge a kernel's source.")
@kernel_arguments("Case to judge on.  [default: the smoke case; all on the other tracks]")
@click.option(
    "--parser",
    "parser",
    metavar="NAME",
    help="FILE is a model's answer: take the kernel from it with this parser.  [default: FILE is the kernel]",
)
@click.option(
    "--strategy",
    "strategy",
    metavar="NAME",
    help="FILE is a model's answer: make the kernel from it as this strategy does.  [default: FILE is the kernel]",
)
@click.option("--truncated", is_flag=True, help="The answer in FILE was cut off at the token limit.")
@click.option("--compile_only", is_flag=True, help="Say whether FILE compiles, and run nothing.")
@include_option
@click.option(
    "--explain",
    is_flag=True,
    help="Of wrong values: which instruction wrote the first of them, from which operands, and which lines decide it.",
)
@kernel_options("fail_under")
def command(
    app: App,
    given: GivenKernel,
    /,
    truncated: bool,
    compile_only: bool,
    explain: bool,
    as_json: bool,
    **options: Any,
) -> int:
    """Judge the kernel in FILE (- is standard input) as an answer to TASK.

    On the dynamic track an answer is several files: give them all, or the folder that holds op_host and op_kernel. On
    the launch track it is a folder or files with a host function that launches the kernels. With
    --parser or --strategy, FILE is a model's whole answer and gets the verdict that a run would give it;
    `npukb ls parsers` and `npukb ls strategies` list what can make a kernel of it.

    The exit code is 0 whatever the verdict, unless --fail_under asks for more; 4 when the verdict could not be reached.
    """
    from npukernelbench.generate.extract import candidate_of
    from npukernelbench.generate.sources import read_answer, read_sources, require_complete
    from npukernelbench.nouns import Completion, FinishReason, Owner
    from npukernelbench.report.threshold import Threshold
    from npukernelbench.report.verdict import Subject, render_verdict, verdict_json

    session = open_session(options)
    threshold = Threshold.parse(session.config.fail_under)
    selected = only_task(session, given.task).task
    hidden = session.hidden
    case = find_case(selected, given.case_id, session.config.track, hidden)
    cases = (case,) if case else (*selected.cases, *(hidden(selected) if hidden else ()))
    at = (selected.name, case.id if case else "")
    if options.get("parser") is None and options.get("strategy") is None:
        if truncated:
            # Only an answer that is read as one can have been cut off: source is judged as it stands.
            raise UsageError("FILE is no answer", field="--truncated", remedy="say how it is read: --parser auto")
        read = read_sources(given.sources, session.config.track, given.include)
        require_complete(read.files, selected, case, session.config.track)
        subject = Subject(*at, candidate_of(read.files), read.paths)
        verdict = (check_once if compile_only else judge_once)(app, session, cases, subject)
    elif compile_only:
        raise UsageError("an answer is judged as a whole", field="--compile_only", remedy="give the kernel's source")
    else:
        nothing = Subject(*at, candidate_of({}))
        reason = FinishReason.LENGTH if truncated else FinishReason.STOP
        subject, verdict = judge_text(app, session, cases, nothing, Completion(read_answer(given.sources), reason))
    if explain:
        verdict = explain_once(app, session, cases, subject, verdict)
    if as_json:
        app.console.json(verdict_json(subject, verdict))
    else:
        for line in render_verdict(subject, verdict, app.console.paint, app.console.words):
            app.console.tell(line)
    # Before the threshold, which a fault of ours neither meets nor misses.
    if verdict.owner is Owner.INFRA:
        return ExecutorError.exit_code
    return threshold.exit_code_of_verdict(verdict) if threshold else 0
