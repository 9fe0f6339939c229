"""``npukb debug``: step through what one core of a kernel did, forwards and backwards."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from npukernelbench.cli.boundary import App
from npukernelbench.cli.group import Command
from npukernelbench.cli.judging import record_once
from npukernelbench.cli.options import GivenKernel, include_option, kernel_arguments, kernel_options
from npukernelbench.cli.session import find_case, only_task, open_session
from npukernelbench.errors import ExecutorError, UsageError

if TYPE_CHECKING:
    from npukernelbench.nouns import Case, DType, Recording

__all__ = ["command"]


@click.command("debug", cls=Command, short_help="Step through a kernel.")
@kernel_arguments("Case to run on.  [default: the smoke case]")
@click.option("--block", default=0, show_default=True, type=click.IntRange(0), help="Block whose core is recorded.")
@click.option(
    "--core",
    default=0,
    show_default=True,
    type=click.IntRange(0),
    help="Which of the block's cores: where it has several, the cube core comes first.",
)
@click.option(
    "--run",
    "script",
    metavar="COMMANDS",
    multiple=True,
    help="Commands to carry out instead of asking, ; between them.",
)
@click.option(
    "--dump",
    "dumped",
    metavar="NAME",
    multiple=True,
    help="Write an argument or memory, as it is at the end, to NAME.npy.",
)
@include_option
@kernel_options()
def command(
    app: App,
    given: GivenKernel,
    /,
    block: int,
    core: int,
    script: tuple[str, ...],
    dumped: tuple[str, ...],
    as_json: bool,
    **options: Any,
) -> int:
    """Run the kernel in FILE once, and go through what one of its cores did: instruction by instruction, forwards and
    backwards, to a line, or to whatever writes a place. At every step UB and the other memories, flags and queues are
    shown as they were then. `help` lists the commands.

    The kernel is not judged: a wrong one, and one that breaks a rule, can be looked at up to there.
    """
    from npukernelbench.cli.stepping import Stepping
    from npukernelbench.generate.extract import candidate_of
    from npukernelbench.generate.sources import read_sources, require_complete
    from npukernelbench.nouns import named_tensors
    from npukernelbench.report.verdict import Subject

    session = open_session(options)
    selected = only_task(session, given.task).task
    # Named, since on tracks whose kernels are for all cases `find_case` takes none by itself.
    case = find_case(selected, given.case_id or "smoke", session.config.track, session.hidden)
    if case is None:
        raise UsageError("one case is run", field="--case", remedy="name it: npukb ls tasks --json lists them")
    read = read_sources(given.sources, session.config.track, given.include)
    require_complete(read.files, selected, case, session.config.track)
    subject = Subject(selected.name, case.id, candidate_of(read.files), read.paths)
    seen, request = record_once(app, session, case, subject, (block, core))
    for diagnostic in seen.diagnostics:
        app.console.err(str(diagnostic))
    if seen.recording is None or request is None:
        raise ExecutorError(
            f"executor {session.executor.registration.name!r} does not tell what a core did ({seen.outcome.value})",
            remedy="use the twin, --executor twin, on a kernel that ends",
        )
    if as_json:
        app.console.json(_written(seen.recording))
        return 0
    recording = seen.recording
    cut = ", the last ones missing" if recording.cut else ""
    lost = f", after {recording.lost} that are forgotten" if recording.lost else ""
    app.console.out(
        f"{seen.outcome.value}: {len(recording.entries)} instructions and events of a {recording.core} core{lost}{cut}"
    )
    stepping = Stepping(
        recording, dict(named_tensors(request.inputs)), _types(case), subject.candidate.files, app.console.out
    )
    if dumped:
        # The session is at the start of the recording, and memory is wanted as it is at the end.
        script = (*script, "goto -1", *(f"dump {name} {name}.npy" for name in dumped))
    if not script:
        stepping.cmdloop()
        return 0
    for line in (part.strip() for text in script for part in text.split(";")):
        # `onecmd` alone knows no short names.
        if line and stepping.onecmd(stepping.precmd(line)):
            break
    return 0


def _written(recording: Recording) -> object:
    """The recording as JSON; bytes are in hexadecimal digits."""
    from dataclasses import asdict

    def plain(fields: list[tuple[str, object]]) -> dict[str, object]:
        return {name: value.hex() if isinstance(value, bytes) else value for name, value in fields}

    return asdict(recording, dict_factory=plain)


def _types(case: Case) -> dict[str, DType]:
    """Element types of all tensors, as the runtime names them."""
    from npukernelbench.nouns import TensorShape

    types: dict[str, DType] = {}
    shapes: dict[str, object] = dict(case.outputs)
    for name, value in case.inputs.items():
        shapes[name] = (
            tuple(item.tensor for item in value) if isinstance(value, tuple) else getattr(value, "tensor", None)
        )
    for name, shape in shapes.items():
        if isinstance(shape, TensorShape):
            types[name] = shape.dtype
        elif isinstance(shape, tuple):
            types.update({f"{name}[{index}]": item.dtype for index, item in enumerate(shape)})
    return types
