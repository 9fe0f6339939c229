"""Compiles a candidate into a shared image, and turns compiler messages into diagnostics at its own lines."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from npukb_twin.build import Runtime, kernel_flags, source_root
from npukb_twin.process import Finished, Limits, run
from npukb_twin.toolchain import Toolchain, clean_environment
from npukernelbench.nouns import Candidate, Diagnostic, Outcome, Severity

__all__ = ["Compiled", "compile_command", "compile_kernel", "explain", "unit_text"]

_MEMORY_BYTES = 4 << 30
_FILE_BYTES = 256 << 20
_LINE = re.compile(
    r"^(?P<file>[^:\n]+):(?P<line>\d+):(?P<column>\d+): (?P<kind>fatal error|error|warning|note): (?P<text>.*)$"
)
_UNDECLARED = re.compile(
    r"(?:use of undeclared identifier|no member named|unknown type name|no template named) '([^']+)'"
)
#: The file every candidate's device code is in, and the one the driver writes around it.
KERNEL_FILE, UNIT_FILE = "kernel.cpp", "unit.cc"


@dataclass(frozen=True, slots=True)
class Compiled:
    """What came out. ``image`` is None unless ``outcome`` is OK."""

    outcome: Outcome
    image: Path | None
    diagnostics: tuple[Diagnostic, ...]


def compile_kernel(
    candidate: Candidate,
    *,
    entry: str,
    arguments: Sequence[str],
    toolchain: Toolchain,
    runtime: Runtime,
    work: Path,
    timeout_s: float,
) -> Compiled:
    """Compile ``candidate`` in the empty folder ``work``. ``arguments`` name the entry's pointers, in order."""
    for name, text in candidate.files.items():
        path = work / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", errors="surrogateescape")
    (work / UNIT_FILE).write_text(unit_text(entry, arguments), encoding="utf-8")
    environment = clean_environment(work)
    limits = Limits(wall_s=timeout_s, memory_bytes=_MEMORY_BYTES, file_bytes=_FILE_BYTES)
    done = run(compile_command(toolchain, runtime), work=work, environment=environment, limits=limits)
    if done.timed_out:
        return _failed(Outcome.TIMEOUT, "timeout", f"compiling took longer than {timeout_s:g} s")
    if done.returncode != 0:
        return Compiled(_outcome(done), None, explain(done.output, entry, candidate))
    linked = run(
        (*toolchain.link_kernel, "unit.o", "-o", "kernel.so"), work=work, environment=environment, limits=limits
    )
    if linked.returncode != 0:
        return _failed(Outcome.COMPILE_ERROR, "link", f"the kernel does not link: {linked.output.strip()[:2000]}")
    return Compiled(Outcome.OK, work / "kernel.so", explain(done.output, entry, candidate))


def unit_text(entry: str, arguments: Sequence[str]) -> str:
    """The translation unit: the candidate, its entry renamed out of libm's way, and the launcher behind it."""
    interface = ", ".join(f"GM_ADDR {name}" for name in arguments)
    pointers = ", ".join(f"a[{index}]" for index in range(len(arguments)))
    return (
        f"#define {entry} npukb_entry_{entry}\n"
        f'#include "{KERNEL_FILE}"\n'
        '#include "twin/launch.h"\n'
        f'NPUKB_LAUNCH({entry}, {len(arguments)}, "{interface}", {pointers})\n'
    )


def compile_command(toolchain: Toolchain, runtime: Runtime) -> tuple[str, ...]:
    header = ("-include-pch", str(runtime.header)) if runtime.header is not None else ()
    include = f"-I{source_root() / 'include'}"
    return (*toolchain.compile, *kernel_flags(toolchain), include, *header, "-c", UNIT_FILE, "-o", "unit.o")


def _failed(outcome: Outcome, rule: str, message: str) -> Compiled:
    return Compiled(outcome, None, (Diagnostic(Severity.ERROR, rule, message, file=KERNEL_FILE),))


def _outcome(done: Finished) -> Outcome:
    """A compiler that was killed, or says it has no memory left, did not judge the source."""
    if done.returncode < 0 or "out of memory" in done.output or "cannot allocate" in done.output:
        return Outcome.OUT_OF_MEMORY
    return Outcome.COMPILE_ERROR


def explain(output: str, entry: str, candidate: Candidate) -> tuple[Diagnostic, ...]:
    """Diagnostics out of a compiler's output.

    A message inside the API's headers is moved to the candidate's line that led there. Renamed entries get their name
    back.
    """
    renamed = f"npukb_entry_{entry}"
    found: list[Diagnostic] = []
    for line in output.splitlines():
        match = _LINE.match(line)
        if match is None:
            continue
        file, text = Path(match["file"]).name, match["text"].replace(renamed, entry)
        own = file in {Path(name).name for name in candidate.files}
        at = (file, int(match["line"]), int(match["column"]))
        if match["kind"] == "note":
            if own and found and found[-1].file == "":
                last = found[-1]
                found[-1] = Diagnostic(last.severity, last.rule, last.message, *at, remedy=last.remedy)
            continue
        severity = Severity.WARNING if match["kind"] == "warning" else Severity.ERROR
        where = at if own else ("", 0, 0)
        found.append(Diagnostic(severity, "compile", _reword(text, entry), *where, remedy=_remedy(text, entry)))
    if not found and output.strip():
        found.append(Diagnostic(Severity.ERROR, "compile", output.strip()[:2000].replace(renamed, entry)))
    return tuple(found)


def _reword(text: str, entry: str) -> str:
    """Messages about the driver's own lines, in the words of the interface."""
    if f"use of undeclared identifier '{entry}'" in text:
        return f"the source defines no kernel entry named '{entry}'"
    return re.sub(r"^static assertion failed(?: due to requirement '.*?')?: ", "", text).strip('"')


def _remedy(text: str, entry: str) -> str:
    name = _UNDECLARED.search(text)
    if name is not None and name[1] == entry:
        return f'define extern "C" __global__ __aicore__ void {entry}(...) at namespace scope'
    return ""
