"""Compiles host code: the shared runtime once per machine, an operator's sources for every candidate."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from hashlib import sha256
from pathlib import Path, PurePosixPath

from npukb_twin.compile.build import PRECOMPILED, digest_below, refuse_stale, source_root
from npukb_twin.compile.cached import build_launcher, call, call_all, make
from npukb_twin.compile.cxxlib import ensure_library, locate_library
from npukb_twin.compile.dialect import launches
from npukb_twin.compile.toolchain import ARM, Toolchain, clean_environment
from npukb_twin.compile.units import to_its_place, unit_file, unit_stop, write_files, write_unit
from npukb_twin.launch.forkserver import Stop
from npukb_twin.launch.process import Finished, Limits, run
from npukb_twin.launch.sandbox import LAUNCHER, Mode, open_sandbox
from npukb_twin.operator.host_arrays import with_values_stored
from npukb_twin.operator.host_cache import HostCache, HostCall, KeptHost, included
from npukb_twin.operator.host_messages import begins_with_gap, explain_host
from npukb_twin.operator.host_missing import defining, undefined
from npukb_twin.operator.host_types import HostResult, HostRuntime
from npukernelbench.generate.includes import tiling_sources
from npukernelbench.judge.executor import HOST_STANDARD
from npukernelbench.nouns import INCLUDE_FOLDER, Diagnostic, Outcome, Severity

__all__ = ["build_image", "compile_host", "confined_host", "ensure_host", "host_flags", "locate_host", "sources_of"]

_LIBRARY_FLAGS = ("-std=c++17", "-O1", "-fPIC", "-Wall", "-Wextra", "-D_GNU_SOURCE")
#: Host code runs for milliseconds: compiling it fast matters more than running it fast.
_HOST_FLAGS = (f"-std={HOST_STANDARD}", "-O0", "-fPIC", "-fno-omit-frame-pointer")
#: What is an error to clang alone: the vendor's build compiles host code with g++, which warns.
_WARNED = ("c++11-narrowing", "register", "enum-constexpr-conversion", "reserved-user-defined-literal")
_HOST_FLAGS_CLANG = (
    "-Wno-everything",
    *(f"-W{option}{name}" for name in _WARNED for option in ("", "no-error=")),
    "-gline-tables-only",
    "-fno-color-diagnostics",
    "-fno-spell-checking",
    "-ferror-limit=20",
)
_HOST_FLAGS_GCC = ("-g1", "-w", "-fdiagnostics-color=never", "-fmax-errors=20")
#: What its programs and its precompiled header are made of.
_SOURCES = ("include_host", "host", "include/twin", "include_direct/twin_direct", "runtime/process", "launcher")
_PROGRAM, _HEADER = "npukb-twin-tiling", "host.h.pch"
_MEMORY_BYTES = 4 << 30
_FILE_BYTES = 256 << 20
_INTERFACE = re.compile(
    r'^\s*#\s*include\s*[<"](?:opdev/(?:make_)?op_executor\.h|aclnn/aclnn_base\.h|aclnn_kernels/)', re.M
)
_REGISTERS = re.compile(r"\b(?:OP_ADD|(?:IMPL|REG)_OP\w*)\s*\(")
#: Host code that asks for the size of a half, and a half of its own.
_HALF = re.compile(r"\bsizeof\s*\(\s*half\s*\)")
_OWN_HALF = re.compile(
    r"\b(?:struct|class|using|typedef[^;]*|#[ \t]*define)\s+half\b|include\s*[<\"]kernel_operator\.h"
)
#: Names of collectives, and those of a source's own.
_RANKS = re.compile(r"\bHCCL_(?:CMD|REDUCE|DATA_TYPE)_\w+|\bHccl(?:CMDType|DataType|ReduceOp)\b")
_OWN_RANKS = re.compile(r"\bHCCL_(?:CMD|REDUCE|DATA_TYPE)_\w+\s*=(?!=)|\benum\b[^{;]*\{[^}]*\bHCCL_")
_SUFFIXES = frozenset({".cpp", ".cc", ".cxx"})
_KEPT = HostCache()
#: Where the C++ library looks for the image that a static object belongs to; a linker driver would add it.
_DSO = 'extern "C" { __attribute__((visibility("hidden"))) void* __dso_handle = &__dso_handle; }\n'


def host_flags(toolchain: Toolchain) -> tuple[str, ...]:
    """Flags that host code is compiled with, without include paths."""
    return (*_HOST_FLAGS, *(_HOST_FLAGS_CLANG if toolchain.is_clang else _HOST_FLAGS_GCC))


def _compiles_header(toolchain: Toolchain) -> bool:
    """Whether what the header defines and instantiates is compiled into the runner, and not again into every image.
    The packaged compiler ends with a segmentation fault when it does that for aarch64.
    """
    return toolchain.is_clang and toolchain.processor != ARM


def _ahead(toolchain: Toolchain) -> tuple[str, ...]:
    return (*PRECOMPILED, *(("-fpch-codegen",) if _compiles_header(toolchain) else ()))


def locate_host(toolchain: Toolchain, cache: Path) -> HostRuntime | None:
    """The finished build in ``cache``, or None when it has to be made."""
    key = _key(toolchain)
    folder = cache / "twin-host" / key
    if not (folder / "complete").exists() or locate_library(toolchain, cache) is None:
        return None
    header = folder / _HEADER if toolchain.is_clang else None
    return HostRuntime(key, folder / _PROGRAM, header)


def ensure_host(toolchain: Toolchain, cache: Path) -> HostRuntime:
    """The host runtime for ``toolchain``, building it first when needed (a quarter of a minute on two cores, much of
    it the C++ standard library). ToolchainError with the compiler's words when it cannot be built.
    """
    runtime = locate_host(toolchain, cache)
    if runtime is None:
        library = ensure_library(toolchain, cache)
        programs = cache / "twin-host-programs" / _programs_key(toolchain)
        make(programs, lambda work: _build_programs(toolchain, library, work))
        make(cache / "twin-host" / _key(toolchain), lambda work: _build(toolchain, programs, work))
        runtime = locate_host(toolchain, cache)
    assert runtime is not None
    return runtime


def confined_host(toolchain: Toolchain, cache: Path, mode: Mode = Mode.AUTO) -> HostRuntime:
    """The same in a sandbox, which its user closes."""
    host = ensure_host(toolchain, cache)
    return replace(host, sandbox=open_sandbox(mode, host.runner.parent))


def _key(toolchain: Toolchain) -> str:
    digest = sha256(bytes(source_root()))  # precompiled headers remember where their headers lie
    for part in (_programs_key(toolchain), *toolchain.compile, *host_flags(toolchain), *_ahead(toolchain)):
        digest.update(part.encode() + b"\0")
    return digest.hexdigest()[:24]


def _programs_key(toolchain: Toolchain) -> str:
    """What the programs depend on. They do not remember where their sources lie: two checkouts share them."""
    digest = sha256()
    flags = (*_LIBRARY_FLAGS, *host_flags(toolchain), *_ahead(toolchain))
    sources = digest_below(*_SOURCES)
    for part in (*toolchain.identity((*toolchain.compile, *toolchain.link_host, *flags, _DSO)), sources):
        digest.update(part.encode() + b"\0")
    return digest.hexdigest()[:24]


def _build_programs(toolchain: Toolchain, library: Sequence[Path], work: Path) -> None:
    """Compile the program that asks host code, what host code links to, and the sandbox's launcher into ``work``."""
    root, what = source_root(), "the twin's host runtime"
    include = (f"-I{root / folder}" for folder in ("include_host", "runtime", "include_direct", "include"))
    own = (*_LIBRARY_FLAGS, *include)
    sources = [*sorted((root / "host").glob("*.cpp")), root / "runtime/process/sandbox.cpp"]
    ahead: tuple[str, ...] = ()
    if toolchain.is_clang:
        # most of what a source takes is this header and the library's behind it
        call([*toolchain.compile, *own, *PRECOMPILED, str(_header()), "-o", "own.pch"], work, what)
        ahead = ("-include-pch", "own.pch")
    jobs = [[*toolchain.compile, *own, *ahead, "-c", str(path), "-o", f"{path.stem}.o"] for path in sources]
    (work / "dso.cpp").write_text(_DSO, encoding="ascii")
    # not .o: the runner is linked of all those, and this is for images
    jobs.append([*toolchain.compile, "-fPIC", "-c", "dso.cpp", "-o", "dso.obj"])
    if toolchain.is_clang:
        _compile_ahead(toolchain, work)
    if _compiles_header(toolchain):
        jobs.append([*toolchain.compile, *host_flags(toolchain), "-c", _HEADER, "-o", "instances.o"])
    call_all(jobs, work, what)
    objects = sorted(path.name for path in work.glob("*.o"))
    libraries = ("-ldl", "-lpthread", "-lm")
    call([*toolchain.link_host, *objects, *map(str, library), "-o", _PROGRAM, *libraries], work, what)
    for leftover in (*work.glob("*.o"), *work.glob("*.pch"), work / "dso.cpp"):
        leftover.unlink()
    build_launcher(toolchain, root, work)


def _build(toolchain: Toolchain, programs: Path, work: Path) -> None:
    """Put the programs and the precompiled header into ``work``."""
    for name in (_PROGRAM, LAUNCHER, "dso.obj"):
        shutil.copy2(programs / name, work)
    if toolchain.is_clang:
        _compile_ahead(toolchain, work)


def _header() -> Path:
    return source_root() / "include_host/twin_host/host.h"


def _compile_ahead(toolchain: Toolchain, work: Path) -> None:
    """Put the precompiled header of host code into ``work``."""
    include = f"-I{source_root() / 'include_host'}"
    command = (*toolchain.compile, *host_flags(toolchain), include, *_ahead(toolchain), str(_header()), "-o", _HEADER)
    call(command, work, "the precompiled header of host code")


def sources_of(files: Mapping[str, str]) -> list[str]:
    """The host translation units among a candidate's files.

    Everything under a folder ``op_host``, or every source when there is no such folder; not what belongs to the
    vendor's call interface (``aclnn_…``, ``…_l0``), and not what launches kernels itself.
    """
    # sorted: of a function that is defined twice the first definition counts
    units = [name for name in sorted(files) if PurePosixPath(name).suffix in _SUFFIXES]
    units = [name for name in units if PurePosixPath(name).parts[0] != INCLUDE_FOLDER]
    own = [name for name in units if "op_host" in PurePosixPath(name).parts[:-1]]
    if not own:
        own = [name for name in units if "op_kernel" not in PurePosixPath(name).parts[:-1]]
    return [name for name in own if not _is_interface(name, files)]


def _is_interface(name: str, files: Mapping[str, str]) -> bool:
    """Whether a source belongs to the layer that applications call: by its name, its launches, or what it includes,
    itself or by the header of its own name.
    """
    path, text = PurePosixPath(name), files[name]
    if path.stem.startswith("aclnn") or path.stem.endswith("_l0") or launches(text):
        return True
    includes = f'"{path.stem}.h"' in text and _REGISTERS.search(text) is None
    header = files.get(str(path.with_suffix(".h")), "") if includes else ""
    return any(map(_INTERFACE.search, (text, header)))


def compile_host(
    files: Mapping[str, str],
    *,
    toolchain: Toolchain,
    runtime: HostRuntime,
    work: Path,
    timeout_s: float,
    include: Sequence[Path] = (),
) -> HostResult:
    """Compile the host sources among ``files`` (names as in the candidate: ``op_host/…``) into ``work / "host.so"``.

    The other files are there to be included. ``include`` are folders of headers that the candidate's repository
    provides; they come before the twin's own.
    """
    units = sources_of(files)
    if not units:
        return _failed(Outcome.NO_CODE, "no_code", "there is no host source (op_host/*.cpp)")
    units += tiling_sources(files)
    command = _command(files, toolchain, runtime, include)
    return build_image(
        files, units, command, toolchain=toolchain, runtime=runtime, work=work, timeout_s=timeout_s, include=include
    )


def build_image(
    files: Mapping[str, str],
    units: Sequence[str],
    command: Sequence[str],
    *,
    toolchain: Toolchain,
    runtime: HostRuntime,
    work: Path,
    timeout_s: float,
    include: Sequence[Path] = (),
    linked: Sequence[str] = (),
) -> HostResult:
    """Compile ``units``, some of ``files``, with ``command`` each, and link them into ``work / "host.so"``."""
    write_files(files, work)
    limits = Limits(wall_s=timeout_s, memory_bytes=_MEMORY_BYTES, file_bytes=_FILE_BYTES)
    environment = clean_environment(work)
    image = work / "host.so"
    known = HostCall((*command, *linked), units, files)
    # headers in these folders are not among ``files``, by which a kept image is found again
    if not include and (kept := _KEPT.find(known)) is not None:
        image.write_bytes(kept.image)
        return HostResult(Outcome.OK, image, kept.said)
    sandbox = runtime.sandbox.reaching(
        source_root(),
        runtime.runner.parent,
        *include,
        run=toolchain.folders,
        children=toolchain.starts_programs,
    )
    call_compiler = partial(run, work=work, environment=environment, limits=limits, sandbox=sandbox)

    def compile_unit(name: str, index: int) -> Finished:
        unit = f"host{index}"
        write_unit(work, unit, f'#include "{name}"\n')
        # -MD: the files that were read are what a kept image is found again by
        own = (*to_its_place(toolchain), "-MD", "-MF", f"{unit}.d", "-c", unit_file(unit), "-o", f"{unit}.o")
        return call_compiler((*command, *own), stop=unit_stop(unit, command))

    extra = (*_ld_flags(toolchain, runtime), *linked)
    waiting, made, said = list(units), 0, tuple[Diagnostic, ...]()
    spare = {name for name in files if _is_spare(name)} - set(units)
    while waiting:
        with ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as pool:
            done = list(pool.map(compile_unit, waiting, range(made, made + len(waiting))))
            if changed := with_values_stored(files, "".join(compiled.output for compiled in done)):
                write_files(changed, work)
                done = list(pool.map(compile_unit, waiting, range(made, made + len(waiting))))
        if any(compiled.timed_out for compiled in done):
            return _failed(Outcome.TIMEOUT, "timeout", f"compiling the host code took longer than {timeout_s:g} s")
        output = "".join(compiled.output for compiled in done)
        refuse_stale(output, runtime.runner.parent)
        said += explain_host(output, files)
        if bad := [compiled for compiled in done if compiled.returncode != 0]:
            return HostResult(Outcome.INFRA_ERROR if begins_with_gap(said) else _outcome(bad), None, said)
        made += len(waiting)
        objects = [f"host{index}.o" for index in range(made)]
        link = (*toolchain.link_kernel, *extra, *objects, "-o", image.name)
        done_linking = call_compiler(link, stop=Stop(objects[0], image.name))
        if done_linking.returncode != 0:
            message = f"the host code does not link: {done_linking.output.strip()[:2000]}"
            return _failed(Outcome.COMPILE_ERROR, "link", message)
        waiting = _still_wanted(image, runtime, {name: files[name] for name in spare})
        spare -= set(waiting)
    for name in objects:
        (work / name).unlink()
    if not include:
        rules = [(work / f"host{index}.d").read_text(errors="surrogateescape") for index in range(made)]
        read = [name for rule in rules for name in included(rule)]
        _KEPT.keep(known, read, KeptHost(image.read_bytes(), said))
    return HostResult(Outcome.OK, image, said)


def _still_wanted(image: Path, runtime: HostRuntime, spare: Mapping[str, str]) -> list[str]:
    """The ``spare`` sources that define what the image lacks."""
    return sorted(defining(undefined(image, runtime.runner), spare)) if spare else []


def _is_spare(name: str) -> bool:
    """Whether a file is a source that ``--include`` brought: it is compiled where a host side lacks what it defines."""
    path = PurePosixPath(name)
    return path.parts[0] == INCLUDE_FOLDER and path.suffix in _SUFFIXES


def _command(
    files: Mapping[str, str], toolchain: Toolchain, runtime: HostRuntime, include: Sequence[Path]
) -> tuple[str, ...]:
    """A compiler call without source and output."""
    header: tuple[str, ...] = ("-include-pch", str(runtime.header)) if runtime.header is not None else ()
    if not toolchain.is_clang:
        header = ("-include", str(_header()))
    texts = [text for name, text in files.items() if name.startswith("op_host/")]
    if any(map(_HALF.search, texts)) and not any(map(_OWN_HALF.search, texts)):
        header += ("-include", "twin_host/half.h")
    if any(map(_RANKS.search, texts)) and not any(map(_OWN_RANKS.search, files.values())):
        header += ("-include", "twin_host/rank_names.h")
    own = sorted({str(path.parent) for path in map(PurePosixPath, files) if path.parts[0] != INCLUDE_FOLDER})
    folders = (*own, *map(str, include), str(source_root() / "include_host"), INCLUDE_FOLDER)
    return (*toolchain.compile, *host_flags(toolchain), *header, *(f"-I{folder}" for folder in folders))


def _ld_flags(toolchain: Toolchain, runtime: HostRuntime) -> tuple[str, ...]:
    """What the linker is told besides.

    The vendor links definition, inference and tiling into libraries of their own, so that one function may be defined
    in several of them: the first one counts here.
    """
    if toolchain.library_sources is None:
        return ("-Wl,-z,muldefs",)
    return ("--eh-frame-hdr", "-z", "muldefs", str(runtime.runner.parent / "dso.obj"))


def _failed(outcome: Outcome, rule: str, message: str) -> HostResult:
    return HostResult(outcome, None, (Diagnostic(Severity.ERROR, rule, message),))


def _outcome(bad: Sequence[Finished]) -> Outcome:
    """A compiler that was killed, or says it has no memory left, did not judge the source."""
    for failed in bad:
        if failed.returncode < 0 or "out of memory" in failed.output or "cannot allocate" in failed.output:
            return Outcome.OUT_OF_MEMORY
    return Outcome.COMPILE_ERROR
