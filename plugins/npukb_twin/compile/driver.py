"""Compiles device code into shared images, one per kind of core: a translation unit around the entry's file."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from npukb_twin.compile.assembly import host_assembly
from npukb_twin.compile.borrowed_names import borrowed, lent
from npukb_twin.compile.build import Runtime, kernel_flags, kind_flag, refuse_stale, source_root, thunk_flags
from npukb_twin.compile.device_code import COUNTED, MARK, marked, not_device_code
from npukb_twin.compile.dialect import BRACKET_FORM, SOURCE_SUFFIXES, Translated, find_entry, translate_files
from npukb_twin.compile.elf import Elf
from npukb_twin.compile.imports import computes_jumps, doubts, foreign, foreign_calls, forgeries, oversized, wrapped
from npukb_twin.compile.kinds import Images, Kind, entry_attribute, mentions_cube
from npukb_twin.compile.messages import KERNEL_FILE, explain, only_gaps
from npukb_twin.compile.toolchain import Toolchain, clean_environment
from npukb_twin.compile.units import to_its_place, unit_file, unit_stop, write_files, write_unit
from npukb_twin.launch.forkserver import Stop
from npukb_twin.launch.process import Finished, Limits, run
from npukernelbench.nouns import INCLUDE_FOLDER, Candidate, Diagnostic, Outcome, Severity

__all__ = ["KERNEL_FILE", "Compiled", "Unit", "compile_command", "compile_kernel", "compile_unit", "unit_text"]

#: Headers that a kernel is given only where it asks for what is in them: their names are often a kernel's own.
_OPTIONAL_HEADERS = {
    "twin/layout.h": re.compile(
        r"\bTransData(?:Config|Params)?\b|\bAscendC::(?:Make(?:Layout|Shape|Stride|Coord|Tile)|Layout|Crd2Idx)\b"
    )
}
#: One of these stands in every kernel that sets flags between cores.
_CORE_FLAGS = ("CrossCore", "ffts_cross_core_sync", "wait_flag_dev", "WaitEvent")
_MEMORY_BYTES = 4 << 30
_FILE_BYTES = 256 << 20


@dataclass(frozen=True, slots=True)
class Compiled:
    """What came out. ``images`` is None unless ``outcome`` is OK."""

    outcome: Outcome
    images: Images | None
    diagnostics: tuple[Diagnostic, ...]


@dataclass(frozen=True, slots=True)
class Unit:
    """One compilation. ``source`` is the device file that holds ``entry``, whose pointers are ``arguments`` in order;
    ``prelude`` stands in front of it; ``folder`` is an include path; ``template`` are the arguments of an entry that is
    a template, ``scope`` is the namespace of one that has one. The arguments of a ``direct`` launch are of any type
    and come packed.
    """

    source: str
    entry: str
    arguments: Sequence[str]
    prelude: str = ""
    folder: str = ""
    template: str = ""
    scope: str = ""
    direct: bool = False


def compile_kernel(
    candidate: Candidate,
    *,
    entry: str,
    arguments: Sequence[str],
    toolchain: Toolchain,
    runtime: Runtime,
    work: Path,
    timeout_s: float,
    prelude: str = "",
) -> Compiled:
    """Compile the one file of a static candidate, behind ``prelude``, in the empty folder ``work``."""
    translated = write_sources(candidate.files, entry, work)
    unit = Unit(KERNEL_FILE, entry, arguments, prelude)
    return compile_unit(
        unit, candidate.files, translated, toolchain=toolchain, runtime=runtime, work=work, timeout_s=timeout_s
    )


def write_sources(files: Mapping[str, str], entry: str, work: Path) -> Translated:
    """Put the translated files into ``work``."""
    translated = translate_files(files, entry)
    write_files(translated.files, work)
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
    if assembly := host_assembly(files):
        return Compiled(Outcome.COMPILE_ERROR, None, assembly)

    def spelled(lent_names: str) -> tuple[str, str]:
        headers = _headers(runtime, files)
        return unit_text(unit, translated.entry, headers, names=lent_names, marks=toolchain.is_clang)

    text, renamed = spelled(borrowed(files))
    names = {renamed: unit.entry, **translated.types}

    def compile_for(kind: Kind) -> _Made:
        name = _name_of(kind)
        write_unit(work, name, text)
        return _compile_for(
            kind, unit, files, names, spelled, toolchain=toolchain, runtime=runtime, work=work, timeout_s=timeout_s
        )

    checked = partial(_checked, unit=unit, files=files, names=names, host=runtime.host)
    flags = any(name in text for text in files.values() for name in _CORE_FLAGS)
    if not mentions_cube(files.values()):
        made = checked(compile_for(Kind.VECTOR))
        return Compiled(made.outcome, None if made.path is None else Images(made.path, flags=flags), made.said)
    with ThreadPoolExecutor(max_workers=2) as pool:
        vector, cube = pool.map(compile_for, (Kind.VECTOR, Kind.CUBE))
    images = Images(vector.path, cube.path, entry_attribute(files.values(), unit.entry), flags)
    return _together(unit, vector, cube, images, checked)


def _together(unit: Unit, vector: _Made, cube: _Made, images: Images, checked: Callable[[_Made], _Made]) -> Compiled:
    """Both compilations as one. What one of them said counts if the kernel runs on that kind of core; only then is its
    image ``checked``, too.
    """
    used = images.compositions or ((images.composition(),) if images.vector and images.cube else ())
    runs = (
        (vector, any(composition.vectors for composition in used)),
        (cube, any(composition.cubes for composition in used)),
    )
    kinds = [checked(made) for made, wanted in runs if wanted or not used]
    for made in kinds:
        if made.image is None:
            only = len(kinds) > 1 and made is kinds[1]
            said = tuple(
                replace(diagnostic, message=f"{diagnostic.message} (compiled for the cube core)")
                for diagnostic in made.said
            )
            return Compiled(made.outcome, None, said if only else made.said)
    if (untyped := images.untyped_keys) and not unit.template:
        message = f"KERNEL_TASK_TYPE gives types to some tiling keys, not to {', '.join(map(str, untyped))}"
        remedy = "Give every tiling key a type, or all of them one by KERNEL_TASK_TYPE_DEFAULT."
        said = tuple(replace(problem, remedy=remedy) for problem in _problem(unit, "task_type", message))
        return Compiled(Outcome.COMPILE_ERROR, None, said)
    heard: list[Diagnostic] = []
    for diagnostic in (diagnostic for made in kinds for diagnostic in made.said):
        if diagnostic not in heard:
            heard.append(diagnostic)
    return Compiled(Outcome.OK, images, tuple(heard))


@dataclass(frozen=True, slots=True)
class _Made:
    """One compilation's outcome. ``image`` is None unless ``outcome`` is OK; ``device`` are its functions that are
    marked for the device, None where the compiler does not say.
    """

    outcome: Outcome
    image: Elf | None
    said: tuple[Diagnostic, ...]
    device: frozenset[str] | None = None

    @property
    def path(self) -> Path | None:
        """Where the image lies."""
        return None if self.image is None else self.image.path


def _compile_for(
    kind: Kind,
    unit: Unit,
    files: Mapping[str, str],
    names: Mapping[str, str],
    spelled: Callable[[str], tuple[str, str]],
    *,
    toolchain: Toolchain,
    runtime: Runtime,
    work: Path,
    timeout_s: float,
) -> _Made:
    name = _name_of(kind)
    environment = clean_environment(work)
    limits = Limits(wall_s=timeout_s, memory_bytes=_MEMORY_BYTES, file_bytes=_FILE_BYTES)
    other = runtime.counting
    sandbox = runtime.sandbox.reaching(
        *(source_root(), runtime.host.parent, runtime.prelude, *(() if other is None else (other.prelude,))),
        run=toolchain.folders,
        children=toolchain.starts_programs,
    )
    call = partial(run, work=work, environment=environment, limits=limits, sandbox=sandbox)
    command = compile_command(toolchain, runtime, unit, kind)
    compiled = partial(call, stop=unit_stop(name, command))
    done = compiled(command)
    if done.returncode != 0 and (more := lent(done.output, files)):
        write_unit(work, name, spelled(more)[0])
        done = compiled(command)
    unit_object = Elf(work / f"{name}.o") if done.returncode == 0 else None
    again = thunk_flags(toolchain)
    if jumps := unit_object is not None and again != () and computes_jumps(unit_object):
        done, unit_object = call((*command, *again)), None
    if done.timed_out:
        return _Made(Outcome.TIMEOUT, None, _problem(unit, "timeout", f"compiling took longer than {timeout_s:g} s"))
    refuse_stale(done.output, runtime.host.parent)
    said = explain(done.output, unit.entry, Candidate(files, ""), names)
    if done.returncode != 0:
        # what the twin lacks is no fault of the kernel
        return _Made(Outcome.INFRA_ERROR if only_gaps(said) else _outcome(done), None, said)
    unit_object = unit_object or Elf(work / f"{name}.o")
    image = work / f"{name}.so"
    kept = toolchain.link_word("--gc-sections") if unit.direct else ()
    # in front: of functions with one name the linker takes the one that it sees first
    first = (str(runtime.thunks),) if jumps and runtime.thunks is not None else ()
    link = (*toolchain.link_kernel, *wrapped(toolchain), *kept, *first, f"{name}.o", "-o", image.name)
    linked = call(link, stop=Stop(f"{name}.o", image.name))
    if linked.returncode != 0:
        message = f"the kernel does not link: {linked.output.strip()[:2000]}"
        return _Made(Outcome.COMPILE_ERROR, None, _problem(unit, "link", message))
    (work / f"{name}.o").unlink()
    inside = Elf(image)
    if forged := forgeries(inside, runtime.host, files):
        return _Made(Outcome.CHEAT, None, forged)
    if large := oversized(inside, files):
        return _Made(Outcome.COMPILE_ERROR, None, large)
    device = marked(unit_object) if toolchain.is_clang else None
    if other is not None:
        with_its = replace(runtime, headers=other.headers, prelude=other.prelude)
        words = compile_command(other.toolchain, with_its, unit, kind, f"{image.name}{COUNTED}")
        done = _count(words, other.toolchain, kept, work, call)
        # any other failure leaves no image, and the kernel's own code is counted
        if done.timed_out or done.returncode < 0:
            rule = "timeout" if done.timed_out else "compiler"
            outcome = Outcome.TIMEOUT if done.timed_out else _outcome(done)
            return _Made(outcome, None, _problem(unit, rule, "compiling it once more, to count operations, failed"))
    return _Made(Outcome.OK, inside, (*said, *doubts(inside, files)), device)


def _count(
    command: Sequence[str],
    toolchain: Toolchain,
    kept: Sequence[str],
    work: Path,
    call: Callable[[Sequence[str]], Finished],
) -> Finished:
    """Make the image that says what is counted (runtime/time/reference.h), beside the kernel's. Where there is none,
    because the source asks which processor it is for, the kernel's own code counts.
    """
    image = command[-1]
    made = work / f"{image}.o"
    command = (*command[:-1], made.name)
    done = call(command)
    if done.returncode == 0 and computes_jumps(Elf(made)):
        done = call((*command, *thunk_flags(toolchain)))
    if done.returncode == 0:
        done = call((*toolchain.link_kernel, *wrapped(toolchain), *kept, made.name, "-o", image))
    # A compilation that failed may have left nothing.
    made.unlink(missing_ok=True)
    return done


def _entry_of(names: Mapping[str, str], entry: str) -> str:
    """What the entry is called in the image, given the author's names by those of the image."""
    return next((name for name, author_s in names.items() if author_s == entry), entry)


def _checked(made: _Made, unit: Unit, files: Mapping[str, str], names: Mapping[str, str], host: Path) -> _Made:
    """The same, or a compile error when its image calls what is not there, or does what no core can."""
    if made.image is None:
        return made
    wrong: tuple[Diagnostic, ...] = ()
    if made.device is not None:
        wrong = not_device_code(made.image, made.device, _entry_of(names, unit.entry), files, names)
    wrong = wrong or foreign_calls(foreign(made.image, host), files)
    return _Made(Outcome.COMPILE_ERROR, None, wrong) if wrong else made


def _headers(runtime: Runtime, files: Mapping[str, str]) -> tuple[str, ...]:
    """What is included before the candidate's text, beside what is precompiled."""
    return (*(() if runtime.headers else (str(runtime.prelude),)), *_optional_headers(files))


def _optional_headers(files: Mapping[str, str]) -> tuple[str, ...]:
    texts = [text for name, text in files.items() if name.endswith(SOURCE_SUFFIXES)]
    return tuple(name for name, asks in _OPTIONAL_HEADERS.items() if any(map(asks.search, texts)))


def _name_of(kind: Kind) -> str:
    """What the files are called that come about when a unit is compiled for one kind of core."""
    return "kernel" if kind is Kind.VECTOR else "kernel.cube"


def unit_text(
    unit: Unit, entry: str, headers: Sequence[str] = (), *, names: str = "", marks: bool = True
) -> tuple[str, str]:
    """The translation unit, the candidate with the launcher behind it, and what its entry is called there.

    ``entry`` is the name that the dialect gave it; where it could not, a macro renames everything of that name.
    ``headers`` are those of ours that are not part of the main one, ``names`` what brings in others; with ``marks``,
    functions for the device are seen in what is compiled.
    """
    # for the message of launch.h where the entry takes others
    interface = ", ".join(f"GM_ADDR {name}" for name in unit.arguments)
    pointers = ", ".join(f"a[{index}]" for index in range(len(unit.arguments)))
    renamed = entry if entry != unit.entry else f"npukb_entry_{unit.entry}"
    macro = "" if entry != unit.entry else f"#define {unit.entry} {renamed}\n"
    launched, chosen = f"{unit.scope}{renamed}", ""
    if unit.template:
        # An alias by reference: the macro behind it takes a plain name.
        launched, chosen = "npukb_chosen", f"static constexpr auto& npukb_chosen = {launched}<{unit.template}>;\n"
    launch = f'NPUKB_LAUNCH({launched}, {len(unit.arguments)}, "{interface}", {pointers})\n'
    text = (
        "#include <kernel_operator.h>\n"  # before names change, so that the entry may be called as a function of libm
        # chr(10): before Python 3.12 the braces of an f-string cannot hold a backslash
        f"{''.join(f'#include <{name}>{chr(10)}' for name in headers)}"
        f"{names}"
        # launch.h asks whether the candidate's own text has included the API
        "#undef NPUKB_KERNEL_OPERATOR_INCLUDED\n"
        f"{unit.prelude}"
        f"{macro}"
        f"{MARK if marks else ''}#define{BRACKET_FORM}__aicore__\n"
        f'#include "{unit.source}"\n'
        '#include "twin/launch.h"\n'
        f"{chosen}"
        f"{f'NPUKB_LAUNCH_DIRECT({launched}){chr(10)}' if unit.direct else launch}"
    )
    return text, renamed


def device_file(files: Mapping[str, str], entry: str) -> str | None:
    """The file that defines ``entry``; without one, the only source file; else None."""
    sources = [name for name in files if name.endswith((".cpp", ".cc", ".cxx", ".cce", ".asc"))]
    defining = [name for name in sources if find_entry(files[name], entry)]
    if defining:
        return defining[0]
    # With several files and no entry nobody could say which one is meant.
    return sources[0] if len(sources) == 1 else None


def compile_command(
    toolchain: Toolchain,
    runtime: Runtime,
    unit: Unit,
    kind: Kind = Kind.VECTOR,
    made: str = "",
) -> tuple[str, ...]:
    """How ``unit`` is compiled for one kind of core, into ``made`` or an object of its own name."""
    header = ("-include-pch", str(runtime.headers[kind.value])) if runtime.headers is not None else ()
    name = _name_of(kind)
    include = (f"-I{source_root() / 'include'}", *((f"-I{unit.folder}",) if unit.folder else ()), f"-I{INCLUDE_FOLDER}")
    if unit.direct:  # host code lies in the same files; what no kernel calls is left out
        direct, host = (f"-I{source_root() / folder}" for folder in ("include_direct", "include_host"))
        include = (direct, host, *include, "-I.", "-ffunction-sections", "-fdata-sections")
    files = (*to_its_place(toolchain), "-c", unit_file(name), "-o", made or f"{name}.o")
    return (*toolchain.compile, *kernel_flags(toolchain), kind_flag(kind.value), *include, *header, *files)


def _problem(unit: Unit, rule: str, message: str) -> tuple[Diagnostic, ...]:
    return (Diagnostic(Severity.ERROR, rule, message, file=unit.source),)


def _outcome(done: Finished) -> Outcome:
    """A compiler that was killed, or says it has no memory left, did not judge the source."""
    if done.returncode < 0 or "out of memory" in done.output or "cannot allocate" in done.output:
        return Outcome.OUT_OF_MEMORY
    return Outcome.COMPILE_ERROR
