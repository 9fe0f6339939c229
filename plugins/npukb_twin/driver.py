"""Compiles device code into a shared image: one translation unit around the file that holds the entry."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from npukb_twin.build import Runtime, kernel_flags, source_root
from npukb_twin.dialect import Translated, find_entry, translate_files
from npukb_twin.messages import KERNEL_FILE, explain, only_gaps
from npukb_twin.process import Finished, Limits, run
from npukb_twin.toolchain import Toolchain, clean_environment
from npukernelbench.nouns import Candidate, Diagnostic, Outcome, Severity

__all__ = ["KERNEL_FILE", "Compiled", "Unit", "compile_command", "compile_kernel", "compile_unit", "unit_text"]

_MEMORY_BYTES = 4 << 30
_FILE_BYTES = 256 << 20


@dataclass(frozen=True, slots=True)
class Compiled:
    """What came out. ``image`` is None unless ``outcome`` is OK."""

    outcome: Outcome
    image: Path | None
    diagnostics: tuple[Diagnostic, ...]


@dataclass(frozen=True, slots=True)
class Unit:
    """One compilation. ``source`` is the device file that holds ``entry``, whose pointers are ``arguments`` in order;
    ``prelude`` stands in front of it; ``name`` is that of the files that come about, ``folder`` an include path.
    """

    source: str
    entry: str
    arguments: Sequence[str]
    prelude: str = ""
    name: str = "kernel"
    folder: str = ""


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
    """Compile the one file of a static candidate in the empty folder ``work``."""
    translated = write_sources(candidate.files, entry, work)
    unit = Unit(KERNEL_FILE, entry, arguments)
    return compile_unit(
        unit, candidate.files, translated, toolchain=toolchain, runtime=runtime, work=work, timeout_s=timeout_s
    )


def write_sources(files: Mapping[str, str], entry: str, work: Path) -> Translated:
    """Put the translated files into ``work``."""
    translated = translate_files(files, entry)
    for name, text in translated.files.items():
        path = work / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", errors="surrogateescape", newline="")
    return translated


def compile_unit(
    unit: Unit,
    files: Mapping[str, str],
    translated: Translated,
    *,
    toolchain: Toolchain,
    runtime: Runtime,
    work: Path,
    timeout_s: float,
) -> Compiled:
    """Compile ``unit`` in ``work``, where the translated files lie; ``files`` are what their author wrote."""
    text, renamed = unit_text(unit, translated.entry)
    (work / f"{unit.name}.unit.cc").write_text(text, encoding="utf-8")
    environment = clean_environment(work)
    limits = Limits(wall_s=timeout_s, memory_bytes=_MEMORY_BYTES, file_bytes=_FILE_BYTES)
    done = run(compile_command(toolchain, runtime, unit), work=work, environment=environment, limits=limits)
    if done.timed_out:
        return _failed(unit, Outcome.TIMEOUT, "timeout", f"compiling took longer than {timeout_s:g} s")
    said = explain(done.output, unit.entry, Candidate(files, ""), {renamed: unit.entry, **translated.types})
    if done.returncode != 0:
        return Compiled(Outcome.INFRA_ERROR if only_gaps(said) else _outcome(done), None, said)
    image = work / f"{unit.name}.so"
    command = (*toolchain.link_kernel, f"{unit.name}.o", "-o", image.name)
    linked = run(command, work=work, environment=environment, limits=limits)
    if linked.returncode != 0:
        message = f"the kernel does not link: {linked.output.strip()[:2000]}"
        return _failed(unit, Outcome.COMPILE_ERROR, "link", message)
    (work / f"{unit.name}.o").unlink()
    return Compiled(Outcome.OK, image, said)


def unit_text(unit: Unit, entry: str) -> tuple[str, str]:
    """The translation unit, the candidate with the launcher behind it, and what its entry is called there.

    ``entry`` is the name that the dialect gave it; where it could not, a macro renames everything of that name.
    """
    interface = ", ".join(f"GM_ADDR {name}" for name in unit.arguments)
    pointers = ", ".join(f"a[{index}]" for index in range(len(unit.arguments)))
    renamed = entry if entry != unit.entry else f"npukb_entry_{unit.entry}"
    macro = "" if entry != unit.entry else f"#define {unit.entry} {renamed}\n"
    text = (
        "#include <kernel_operator.h>\n"  # before names change, so that the entry may be called as a function of libm
        "#undef NPUKB_KERNEL_OPERATOR_INCLUDED\n"
        f"{unit.prelude}"
        f"{macro}"
        f'#include "{unit.source}"\n'
        '#include "twin/launch.h"\n'
        f'NPUKB_LAUNCH({renamed}, {len(unit.arguments)}, "{interface}", {pointers})\n'
    )
    return text, renamed


def device_file(files: Mapping[str, str], entry: str) -> str | None:
    """The file that defines ``entry``; without one, the only source file; else None."""
    sources = [name for name in files if name.endswith((".cpp", ".cc", ".cxx", ".cce", ".asc"))]
    found = [name for name in sources if find_entry(files[name], entry)]
    if found:
        return found[0]
    return sources[0] if len(sources) == 1 else None


def compile_command(toolchain: Toolchain, runtime: Runtime, unit: Unit) -> tuple[str, ...]:
    header = ("-include-pch", str(runtime.header)) if runtime.header is not None else ()
    include = (f"-I{source_root() / 'include'}", *((f"-I{unit.folder}",) if unit.folder else ()))
    files = ("-c", f"{unit.name}.unit.cc", "-o", f"{unit.name}.o")
    return (*toolchain.compile, *kernel_flags(toolchain), *include, *header, *files)


def _failed(unit: Unit, outcome: Outcome, rule: str, message: str) -> Compiled:
    return Compiled(outcome, None, (Diagnostic(Severity.ERROR, rule, message, file=unit.source),))


def _outcome(done: Finished) -> Outcome:
    """A compiler that was killed, or says it has no memory left, did not judge the source."""
    if done.returncode < 0 or "out of memory" in done.output or "cannot allocate" in done.output:
        return Outcome.OUT_OF_MEMORY
    return Outcome.COMPILE_ERROR
