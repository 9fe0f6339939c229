"""Runs the script that writes a sample's data, such as ``scripts/gen_data.py``, and keeps what it wrote.

It runs in a copy of its folder, confined as compilers are: it can change the copy alone, and reaches no network where
the machine has namespaces. Types and shapes are those of the arrays that it wrote.
"""

from __future__ import annotations

import ast
import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, partial
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

from npukb_suites.recorded import tracer
from npukb_suites.recorded.application import PROGRAM, Call, compile_application, read_calls
from npukb_suites.recorded.records import load
from npukb_suites.torch_client import VARIABLE
from npukernelbench.errors import SourceLocation, TaskError, UsageError
from npukernelbench.judge.scratch import Scratch

if TYPE_CHECKING:
    from npukb_twin.launch.sandbox import Sandbox
    from npukernelbench.nouns.execution import Array

__all__ = ["Written", "run_script"]

_TIMEOUT_S = 600.0
_IMAGE = "npukb_application.so"
_MEMORY_BYTES = 32 << 30  # address space: torch reserves much more than it uses
_FILE_BYTES = 2 << 30
_MOST_AXES = 32  # of an array, to every version of NumPy
#: Not copied: what builds leave behind, and files that no script of a sample reads.
_LEFT_OUT = shutil.ignore_patterns(".*", "build*", "*.so", "*.o", "*.run", "__pycache__")
#: What the script around it (run.sh) makes first.
_FOLDERS = ("input", "output")
_PREFIXES = "import sys; print(sys.prefix); print(sys.base_prefix)"


@dataclass(frozen=True)
class Written:
    """One array that the script wrote. ``variables`` are plain values of the function that wrote it, and those that
    calls in the script give by name.
    """

    path: str
    array: Array
    variables: Mapping[str, Any]

    @property
    def is_output(self) -> bool:
        """Whether it is a right answer: by its folder, or by its own name."""
        folder, _, name = self.path.rpartition("/")
        said = any(word in name.lower() for word in ("golden", "expect"))
        return said or folder.rpartition("/")[2].lower() in ("output", "outputs", "golden")


def run_script(folder: Path, command: str) -> tuple[tuple[Written, ...], tuple[Call, ...]]:
    """What ``command``, a script in ``folder`` with arguments, writes there, in its order, the last of each file; and
    the calls of an application that lies there and reads what was written.

    UsageError where there is no such script, TaskError with its last words where it fails.
    """
    from npukb_twin.launch.process import Limits, run

    script, *arguments = shlex.split(command)
    if not (folder / script).is_file():
        raise UsageError(
            f"there is no {script} in {folder}", field="--script", remedy="name it from the folder of --data"
        )
    python = os.environ.get(VARIABLE) or sys.executable
    place = SourceLocation(folder / script)
    with Scratch("data") as scratch:
        work = scratch / "case"
        # Links stay links: followed, they would copy what lies outside of the folder.
        shutil.copytree(folder, work, ignore=_LEFT_OUT, symlinks=True)
        for name in _FOLDERS:
            if not (work / name).exists():
                (work / name).mkdir()
        # A pipe of its own, because what the script prints is no report.
        reading, writing = os.pipe()
        confined = partial(
            run,
            work=work,
            # One thread: sums that several threads add up may differ from run to run.
            environment={"PATH": os.defpath, "HOME": str(work), "TMPDIR": str(work), "OMP_NUM_THREADS": "1"},
            limits=Limits(_TIMEOUT_S, _MEMORY_BYTES, _FILE_BYTES),
            sandbox=_sandbox(python),
        )
        # -I: no packages of the user's own and no settings of the environment; -B: no bytecode is written.
        done = confined(
            (python, "-I", "-B", tracer.__file__, str(writing), script, *arguments), report=(reading, writing)
        )
        if done.timed_out:
            raise TaskError(f"it took longer than {_TIMEOUT_S:g} s", location=place)
        if done.returncode != 0:
            # The last line of a traceback says what is wrong.
            last = (done.output.strip().splitlines() or [f"exit status {done.returncode}"])[-1]
            raise TaskError(f"it failed: {last}", location=place, remedy=_remedy(last), detail=done.output)
        found = tuple(
            _kept(
                work,
                _told(done.report, place),
                _keywords((work / script).read_text(encoding="utf-8", errors="replace")),
            )
        )
        # Without data nothing could be compared, and compiling takes seconds.
        made = compile_application(work, scratch / "application") if found else None
        if made is None:
            calls: tuple[Call, ...] = ()
        else:
            (work / "build").mkdir(exist_ok=True)
            shutil.copy2(made[0], work / _IMAGE)
            # Whether it succeeds does not matter: calls that it noted until then count.
            confined((python, "-I", "-B", "-c", PROGRAM, str(work / _IMAGE)))
            calls = read_calls(work, made[1])
    if not found:
        raise TaskError("it wrote no array (ndarray.tofile) into its folder", location=place)
    return found, calls


def _keywords(text: str) -> dict[str, Any]:
    """Plain values that calls in the script give by name, such as ``diag(x, diagonal=1)``, where all agree."""
    told: dict[str, list[Any]] = {}
    try:
        tree = ast.parse(text)
    # The interpreter that ran it may be newer than this one; and it may have changed its own text.
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return {}
    for node in ast.walk(tree):
        for keyword in node.keywords if isinstance(node, ast.Call) else ():
            with suppress(ValueError, TypeError):
                value = ast.literal_eval(keyword.value)
                told.setdefault(keyword.arg or "", []).append(value)
    # A name with two values tells nothing.
    return {name: values[0] for name, values in told.items() if all(value == values[0] for value in values)}


def _told(report: bytes, place: SourceLocation) -> dict[str, Mapping[str, Any]]:
    """What the tracer told of each file, by its path. TaskError where the report is not as the tracer writes it."""
    result: dict[str, Mapping[str, Any]] = {}
    for line in report.splitlines():
        try:
            told = json.loads(line)
        except (ValueError, RecursionError):
            told = None
        match told:
            case {"path": str(path), "dtype": str(), "shape": list(shape), "variables": dict()} if _is_shape(shape):
                # A file that is written twice counts as it was written last.
                result[path] = told
            case _:
                # The script runs in the tracer's process: it reaches the pipe, and may have filled it.
                raise TaskError("the report of what it wrote cannot be read", location=place)
    return result


def _is_shape(given: list[Any]) -> bool:
    """Whether they are extents of an array that a file here may hold."""
    whole = all(type(extent) is int and extent >= 0 for extent in given)
    return whole and len(given) <= _MOST_AXES and prod(extent or 1 for extent in given) <= _FILE_BYTES


def _kept(work: Path, told_of: Mapping[str, Mapping[str, Any]], keywords: Mapping[str, Any]) -> list[Written]:
    result = []
    for name, told in told_of.items():
        path = Path(name)
        # The report is written in the script's own process, and may name any file.
        if path.is_file() and path.resolve().is_relative_to(work.resolve()):
            # A scalar is a tensor of one element to a kernel.
            shape = tuple(told["shape"]) or (1,)
            array = load(path, told["dtype"], shape)
            result.append(Written(path.relative_to(work).as_posix(), array.copy(), {**keywords, **told["variables"]}))
    return result


def _remedy(last: str) -> str | None:
    if "No module named" in last:
        return f"name a Python that has what the script imports in {VARIABLE}"
    return None


@cache
def _sandbox(python: str) -> Sandbox:
    """The twin's sandbox, reaching this interpreter and the shell that scripts make their folders with."""
    from npukb_twin.compile.toolchain import find
    from npukb_twin.operator.host_build import confined_host
    from npukernelbench.config import default_cache_dir

    sandbox = confined_host(find(), default_cache_dir()).sandbox
    try:
        said = subprocess.run((python, "-I", "-c", _PREFIXES), capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        message = f"{python} does not run: {error}"
        raise UsageError(message, field=VARIABLE, remedy="name a Python interpreter") from error
    program = Path(python)
    folders = [Path(line) for line in dict.fromkeys(said.stdout.split("\n")) if line]
    return sandbox.reaching(
        *folders,
        Path(tracer.__file__),
        Path("/proc/cpuinfo"),  # torch asks what the processor has
        run=(program, program.resolve(), Path("/bin"), Path("/usr/bin"), *folders),
        children=True,
    )
