"""Compiles a candidate into a shared image."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from npukb_twin.build import Runtime, kernel_flags, source_root
from npukb_twin.messages import KERNEL_FILE, explain, only_gaps
from npukb_twin.process import Finished, Limits, run
from npukb_twin.toolchain import Toolchain, clean_environment
from npukernelbench.nouns import Candidate, Diagnostic, Outcome, Severity

__all__ = ["KERNEL_FILE", "Compiled", "compile_command", "compile_kernel", "unit_text"]

_MEMORY_BYTES = 4 << 30
_FILE_BYTES = 256 << 20
#: The file the driver writes around the candidate.
UNIT_FILE = "unit.cc"


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
    said = explain(done.output, entry, candidate, _renamed(entry))
    if done.returncode != 0:
        return Compiled(Outcome.INFRA_ERROR if only_gaps(said) else _outcome(done), None, said)
    linked = run(
        (*toolchain.link_kernel, "unit.o", "-o", "kernel.so"), work=work, environment=environment, limits=limits
    )
    if linked.returncode != 0:
        return _failed(Outcome.COMPILE_ERROR, "link", f"the kernel does not link: {linked.output.strip()[:2000]}")
    (work / "unit.o").unlink()
    return Compiled(Outcome.OK, work / "kernel.so", said)


def unit_text(entry: str, arguments: Sequence[str]) -> str:
    """The translation unit: the candidate, its entry renamed out of libm's way, and the launcher behind it."""
    interface = ", ".join(f"GM_ADDR {name}" for name in arguments)
    pointers = ", ".join(f"a[{index}]" for index in range(len(arguments)))
    return (
        "#include <kernel_operator.h>\n"  # before names change, so that the entry may be called as a function of libm
        "#undef NPUKB_KERNEL_OPERATOR_INCLUDED\n"
        f"#define {entry} {_renamed(entry)}\n"
        f'#include "{KERNEL_FILE}"\n'
        '#include "twin/launch.h"\n'
        f'NPUKB_LAUNCH({entry}, {len(arguments)}, "{interface}", {pointers})\n'
    )


def _renamed(entry: str) -> str:
    return f"npukb_entry_{entry}"


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
