"""Ascend C out of a model's program, made by a process of its own: confined as compilers are, with limits on all.

Text that is a megabyte long is refused before anything starts. The sandbox is the twin's where it has been built;
without it limits on time, memory and files hold alone.
"""

from __future__ import annotations

import json
import os
import pickle
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from npukb_tile.child import Request
from npukb_tile.limits import MOST_CHARACTERS
from npukernelbench.judge.scratch import Scratch
from npukernelbench.nouns import Diagnostic, Severity

__all__ = ["PROGRAM", "Lowered", "lower"]

#: The name under which diagnostics speak of the program.
PROGRAM = "program.tile.py"
_MEMORY_BYTES = 2 << 30
_FILE_BYTES = 1 << 20
_START = "import sys; sys.path[:] = {paths!r}; from npukb_tile.child import main; main()"


@dataclass(frozen=True, slots=True)
class Lowered:
    """The files of an answer, or what is wrong with the program. ``ours`` says that the lowering itself failed."""

    files: Mapping[str, str] = field(default_factory=dict)
    wrong: Diagnostic | None = None
    ours: bool = False


def lower(request: Request, timeout_s: float) -> Lowered:
    """Make files of a program. Never raises for what the program says; ExecutorError where no process can be had."""
    if len(request.source) > MOST_CHARACTERS:
        detail = f"the program has {len(request.source)} characters, the limit is {MOST_CHARACTERS}"
        return Lowered(wrong=_diagnostic("limit", detail, 1, "a program of this language has some dozens of lines"))
    from npukb_twin.launch.process import Limits, run

    # An empty entry is the working folder, which may be anybody's.
    paths = tuple(path for path in sys.path if path and Path(path).exists())
    with Scratch("tile") as work:
        question = work / "request"
        # The request is ours and may be a pickle; the answer is JSON, since the process has read foreign text.
        question.write_bytes(pickle.dumps(request))
        # The answer has a pipe of its own, so that nothing that is printed can pass for it.
        reading, writing = os.pipe()
        try:
            done = run(
                # Isolated: nothing of the user's environment or working folder reaches the process that reads a model's
                # text.
                (sys.executable, "-I", "-B", "-c", _START.format(paths=list(paths)), str(question), str(writing)),
                work=work,
                # NumPy would start a thread per core, whose stacks and buffers count against the memory limit.
                environment={"PATH": os.defpath, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
                limits=Limits(timeout_s, _MEMORY_BYTES, _FILE_BYTES),
                report=(reading, writing),
                sandbox=_sandbox(paths),
            )
        # Once it has run, the ends of the pipe are closed by `run`.
        except BaseException:
            for end in (reading, writing):
                _close(end)
            raise
    if not done.report:
        return _ended(done.timed_out, done.returncode, timeout_s, done.output)
    report = json.loads(done.report)
    if "files" in report:
        return Lowered(files=report["files"])
    fault = report["fault"]
    wrong = _diagnostic(fault["rule"], fault["detail"], fault["line"], fault["remedy"])
    return Lowered(wrong=wrong, ours=fault["rule"] == "lowering")


def _ended(timed_out: bool, returncode: int, timeout_s: float, output: str) -> Lowered:
    """The process said nothing: the program took too much, or it never came to read it."""
    # A signal is how the limits on memory and stack end a process.
    if timed_out or returncode < 0:
        what = f"took longer than {timeout_s:g} s" if timed_out else "took more memory or stack than available"
        return Lowered(wrong=_diagnostic("limit", f"reading the program {what}", 1, "write a smaller program"))
    last = output.strip().splitlines()[-1:] or [f"exit status {returncode}"]
    return Lowered(
        wrong=_diagnostic("lowering", f"the process that reads programs failed: {last[0]}", 0, ""), ours=True
    )


def _diagnostic(rule: str, detail: str, line: int, remedy: str) -> Diagnostic:
    return Diagnostic(Severity.ERROR, rule, detail, file=PROGRAM, line=line, remedy=remedy)


@cache
def _sandbox(paths: tuple[str, ...]):  # type: ignore[no-untyped-def]
    """The twin's sandbox, reaching Python and what it imports; none where the twin is not built."""
    from npukb_twin.compile import build, toolchain
    from npukb_twin.launch.sandbox import Mode, Sandbox, open_sandbox
    from npukernelbench.config import default_cache_dir
    from npukernelbench.errors import NpukbError

    try:
        runtime = build.locate(toolchain.find(), default_cache_dir())
    except NpukbError:
        runtime = None
    if runtime is None:
        return Sandbox()
    folders = {sys.prefix, sys.base_prefix, sys.exec_prefix, *paths}
    # The interpreter of an environment is a link: both names of it have to be allowed below.
    program = Path(sys.executable)
    return open_sandbox(Mode.AUTO, runtime.host.parent).reaching(
        *(Path(folder) for folder in sorted(folders) if Path(folder).exists()), run=(program, program.resolve())
    )


def _close(descriptor: int) -> None:
    try:
        os.close(descriptor)
    except OSError:
        return
