"""The runtime of the twin: a host program and a precompiled API header, built once per machine and toolchain.

The cache key covers every source, the flags, the compiler and the CPU's features, so a changed file or machine means
a new build and nothing is ever rebuilt in place. Two processes that need the same build take turns through a lock
file.
"""

from __future__ import annotations

import platform
import re
import shutil
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256
from importlib.resources import as_file, files
from pathlib import Path

from npukb_twin.compile.cached import build_launcher, call, call_all, make
from npukb_twin.compile.paging import read_ahead
from npukb_twin.compile.refused_names import prelude_text
from npukb_twin.compile.toolchain import ARM, REFERENCE, Toolchain, counting
from npukb_twin.launch.sandbox import LAUNCHER, Sandbox
from npukernelbench.errors import ExecutorError
from npukernelbench.tasks.making import sources_digest

__all__ = [
    "SLS_FUNCTIONS",
    "Runtime",
    "digest_below",
    "ensure",
    "locate",
    "object_name",
    "refuse_stale",
    "runtime_flags",
    "runtime_sources",
    "source_root",
]

#: What kernels and the runtime have in common. Signed overflow wraps; nothing is fused.
_DIALECT = (
    "-fsigned-char",  # on every processor
    "-fPIC",
    "-fno-exceptions",
    "-fno-rtti",
    "-fno-threadsafe-statics",  # their guards are calls of the C++ library, which kernels have not
    "-ffp-contract=off",
    "-fwrapv",
)
#: Flags of kernels. Instructions run in the runtime, so a kernel's own code is scalar glue: compiling it fast matters
#: more than running it fast, and unoptimised code keeps its lines and its endless loops.
KERNEL_FLAGS = (
    "-std=c++17",
    "-O0",
    *_DIALECT,
    "-fvisibility=hidden",
)
KERNEL_FLAGS_CLANG = (
    *("-gline-tables-only", "-gno-column-info"),
    "-fno-gnu-inline-asm",  # there is no other processor's assembly in a kernel
    "-fno-finite-loops",
    *("-mllvm", "-trap-unreachable"),  # code that nothing reaches ends all the same; see runtime/verify/image.h
    "-fno-color-diagnostics",
    "-fno-spell-checking",
    "-ferror-limit=20",
    # a call before every division by zero and for every lost bit; see runtime/process/compiler_checks.cpp
    "-fsanitize=integer-divide-by-zero,implicit-integer-truncation",
    "-fsanitize-recover=integer-divide-by-zero,implicit-integer-truncation",
    "-fsanitize-coverage=bb,no-prune,trace-pc",  # see runtime/time/scalar_counting.h
)
#: Every load and store of a kernel is announced to the runtime (raw.h), as compilers do for operating systems.
_ANNOUNCED = ("-fsanitize=kernel-address",)
_ANNOUNCED_CLANG = tuple(
    word
    for option in (
        "asan-memory-access-callback-prefix=npukb_raw_",
        "asan-kernel-mem-intrinsic-prefix",
        "asan-instrumentation-with-call-threshold=0",
        "asan-stack=0",
        "asan-globals=0",
        "asan-opt-stack",
        "asan-opt-globals=0",  # a name of the runtime can be declared as anything
        "asan-opt-same-temp=0",  # nor does an access of one byte stand for one of more
        "asan-use-stack-safety=0",
        "asan-constructor-kind=none",
    )
    for word in ("-mllvm", f"-{option}")
)
_ANNOUNCED_GCC = tuple(
    word
    for option in ("asan-instrumentation-with-call-threshold=0", "asan-stack=0", "asan-globals=0")
    for word in ("--param", option)
)
#: Return addresses lie where no pointer leads. Where that is comes from a function: the compiler's fast path knows
#: calls, but no variables of threads. A switch is no jump to a computed address.
_GUARDED_CLANG = (
    *("-Xclang", "-fsanitize=safe-stack", "-mllvm", "-safestack-use-pointer-address"),
    "-fno-jump-tables",
)
#: The API functions that are compiled into the runtime write to objects whose place the kernel chooses.
_INSTANCES = "api_instances.cpp"
_INSTANCES_CLANG = (
    *_ANNOUNCED,
    *_ANNOUNCED_CLANG,
    "-mllvm",
    "-asan-instrument-reads=0",
    *_GUARDED_CLANG,
)
#: Jumps to computed addresses go through the runtime (runtime/process/computed_calls.h). These flags take the
#: compiler's fast path away, so only code that has such jumps is compiled with them, again. The precompiled header was
#: made without them, which does no harm: they are about instructions.
_THUNKS = {
    REFERENCE: ("-mretpoline", "-mretpoline-external-thunk", "-Xclang", "-fno-validate-pch"),
    ARM: ("-mharden-sls=blr", "-Xclang", "-fno-validate-pch"),
}
#: For aarch64 compilers bring functions of their own for such jumps, which end in one. The linker takes those of the
#: same names that it sees first.
SLS_FUNCTIONS = "".join(
    f""".section .text.__llvm_slsblr_thunk_x{number},"axG",@progbits,__llvm_slsblr_thunk_x{number},comdat
.hidden __llvm_slsblr_thunk_x{number}
.weak __llvm_slsblr_thunk_x{number}
.type __llvm_slsblr_thunk_x{number},@function
__llvm_slsblr_thunk_x{number}: {jump}
.size __llvm_slsblr_thunk_x{number},4
"""
    for number, jump in (
        *((number, f"b __aarch64_indirect_thunk_x{number}") for number in (*range(16), *range(18, 30))),
        (31, "brk 1"),  # the address zero
    )
)
#: A header is compiled ahead. The key of a build holds the text of its headers: they may have a new date, as after
#: checking out or installing the same again. Templates that it uses itself are instantiated in it, not in every kernel.
PRECOMPILED = ("-Xclang", "-fno-pch-timestamp", "-fpch-instantiate-templates", "-x", "c++-header")
_PROGRAM = "npukb-twin-host"
_COUNTING = ".counting"
_THUNK_OBJECT = "thunks.o"
_STALE = re.compile(r"^fatal error: .*precompiled header.*$", re.MULTILINE)
KERNEL_FLAGS_GCC = ("-g1", "-fno-finite-loops", "-fdiagnostics-color=never", "-fmax-errors=20", "-w")
_BASELINE = {REFERENCE: ("-march=x86-64-v3",), ARM: ("-march=armv8.2-a+fp16",)}
_RUNTIME_FLAGS = (
    "-std=c++17",
    "-O3",
    "-march=native",
    *_DIALECT,
    "-fno-math-errno",
    "-fno-omit-frame-pointer",  # the candidate's line is found through the frames of the API functions compiled here
    "-fvisibility=hidden",  # a kernel sees the API's functions and no others
    "-Wall",
    "-Wextra",
)


@dataclass(frozen=True, slots=True)
class Counting:
    """What compiles kernels once more, to count their operations: see :func:`npukb_twin.compile.toolchain.counting`.
    ``headers`` and ``prelude`` are as those of :class:`Runtime`.
    """

    toolchain: Toolchain
    headers: tuple[Path, Path]
    prelude: Path


@dataclass(frozen=True, slots=True)
class Runtime:
    """A finished build. ``headers`` are the precompiled API headers, one per kind of core as the headers number them;
    None for compilers without. ``prelude`` is the API and the names that kernels may not use. ``sandbox`` is what
    compilers and kernels run in. ``counting`` is None where the kernels' own code is counted.
    """

    key: str
    host: Path
    headers: tuple[Path, Path] | None
    prelude: Path
    sandbox: Sandbox = field(default_factory=Sandbox)
    thunks: Path | None = None
    """What is linked in front of code with computed calls, if anything is."""
    counting: Counting | None = None


@cache
def source_root() -> Path:
    """Folder of ``include/`` and ``runtime/`` as files on disk."""
    with as_file(files("npukb_twin")) as root:
        return root


@cache
def digest_below(*folders: str) -> str:
    """Of every file in these folders of the twin. A process keeps to the sources that it began with."""
    return sources_digest(*(source_root() / folder for folder in folders))


def runtime_sources() -> list[Path]:
    """Every source file of the runtime, room by room."""
    return sorted((source_root() / "runtime").rglob("*.cpp"))


def runtime_flags() -> tuple[str, ...]:
    """Flags every source file of the runtime is compiled with."""
    return (*_RUNTIME_FLAGS, f"-I{source_root() / 'runtime'}")


def object_name(source: Path) -> str:
    """Two rooms may have files of one name."""
    return f"{source.parent.name}.{source.stem}.o"


def kernel_flags(toolchain: Toolchain) -> tuple[str, ...]:
    """Flags every kernel is compiled with by ``toolchain``, without include paths."""
    own = KERNEL_FLAGS_CLANG if toolchain.is_clang else KERNEL_FLAGS_GCC
    how = _ANNOUNCED_CLANG if toolchain.is_clang else _ANNOUNCED_GCC
    guarded = _GUARDED_CLANG if toolchain.is_clang else ()
    return (*KERNEL_FLAGS, *own, *_ANNOUNCED, *how, *guarded, *_BASELINE.get(toolchain.processor, ()))


def thunk_flags(toolchain: Toolchain) -> tuple[str, ...]:
    """Flags with which code is compiled again that jumps to computed addresses; none where there are none."""
    return _THUNKS.get(toolchain.processor, ()) if toolchain.is_clang else ()


def _links_thunks(toolchain: Toolchain) -> bool:
    return toolchain.is_clang and toolchain.processor == ARM


def refuse_stale(output: str, folder: Path) -> None:
    """ExecutorError when the compiler says that a header compiled ahead into ``folder`` is not what it was."""
    if stale := _STALE.search(output):
        raise ExecutorError(
            f"the twin's build is damaged: {stale[0]}", remedy=f"remove the folder {folder}; the next run builds it"
        )


def kind_flag(kind: int) -> str:
    """What tells the headers which kind of core a compilation is for."""
    return f"-DNPUKB_CORE_KIND={kind}"


def _prelude(folder: Path, what: str = "") -> Path:
    """Beside the build's folder: precompiled headers remember where the files lie that they were made of."""
    return folder.with_suffix(f"{what}.prelude.h")


def _header(kind: int, what: str = "") -> str:
    return f"kernel_operator{what}.{kind}.pch"


def _key(toolchain: Toolchain) -> str:
    """What the build depends on: the programs, flags, and where headers lie, which precompiled ones remember."""
    digest = sha256(bytes(source_root()))
    other = counting(toolchain)
    more = () if other is None else (*other.compile, *kernel_flags(other))
    for part in (_programs_key(toolchain), *toolchain.compile, *kernel_flags(toolchain), *more, *PRECOMPILED):
        digest.update(part.encode() + b"\0")
    # the prelude's text is made by it
    digest.update(files("npukb_twin.compile").joinpath("refused_names.py").read_bytes())
    return digest.hexdigest()[:24]


def _programs_key(toolchain: Toolchain) -> str:
    """What the programs depend on. They do not remember where their sources lie: two checkouts share them."""
    digest = sha256()
    flags = (*toolchain.compile, *toolchain.link_host, *kernel_flags(toolchain), *_RUNTIME_FLAGS, *_INSTANCES_CLANG)
    sources = digest_below("include", "runtime", "launcher")
    for part in (*toolchain.identity(flags), _cpu(), SLS_FUNCTIONS, sources):
        digest.update(part.encode() + b"\0")
    return digest.hexdigest()[:24]


@cache
def _cpu() -> str:
    """What ``-march=native`` depends on."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="ascii", errors="replace")
    except OSError:
        return platform.machine()
    wanted = ("flags", "Features", "model name", "CPU part")
    # a set: every core says the same
    return "\n".join(sorted({line for line in text.splitlines() if line.startswith(wanted)}))


def locate(toolchain: Toolchain, cache: Path) -> Runtime | None:
    """The finished build in ``cache``, or None when it has to be made."""
    key = _key(toolchain)
    folder = cache / "twin" / key
    if not (folder / "complete").exists():
        return None
    headers, counted = ((folder / _header(0, what), folder / _header(1, what)) for what in ("", _COUNTING))
    other = counting(toolchain)
    return Runtime(
        key,
        folder / _PROGRAM,
        headers if toolchain.is_clang else None,
        _prelude(folder),
        thunks=folder / _THUNK_OBJECT if _links_thunks(toolchain) else None,
        counting=None if other is None else Counting(other, counted, _prelude(folder, _COUNTING)),
    )


def ensure(toolchain: Toolchain, cache: Path) -> Runtime:
    """The runtime for ``toolchain``, building it first when needed (about ten seconds on two cores).

    ToolchainError with the compiler's words when it cannot be built.
    """
    if toolchain.is_clang:
        read_ahead(Path(toolchain.compile[0]), cache)
    runtime = locate(toolchain, cache)
    if runtime is not None:
        return runtime
    programs = cache / "twin-programs" / _programs_key(toolchain)
    make(programs, lambda work: _build_programs(toolchain, work))
    # Where it really lies: the folder may be reached by a link that is gone tomorrow.
    folder = (cache / "twin").resolve() / _key(toolchain)
    make(folder, lambda work: _build(toolchain, work, folder, programs))
    runtime = locate(toolchain, cache)
    assert runtime is not None
    return runtime


def _build_programs(toolchain: Toolchain, work: Path) -> None:
    """Compile the runtime and the sandbox's launcher into ``work``."""
    what = "the twin's runtime"
    extra = ["-Wno-pass-failed"] if toolchain.is_clang else []
    jobs = [
        [
            *(*toolchain.compile, *runtime_flags(), *extra),
            *(_INSTANCES_CLANG if toolchain.is_clang and source.name == _INSTANCES else ()),
            *("-D_GNU_SOURCE", "-c", str(source), "-o", object_name(source)),
        ]
        for source in runtime_sources()
    ]
    call_all(jobs, work, what)
    objects = sorted(p.name for p in work.glob("*.o"))
    call([*toolchain.link_host, *objects, "-o", _PROGRAM, "-ldl", "-lpthread", "-lm"], work, what)
    for leftover in work.glob("*.o"):
        leftover.unlink()
    build_launcher(toolchain, source_root(), work)


def _build(toolchain: Toolchain, work: Path, folder: Path, programs: Path) -> None:
    """Put the programs and the precompiled headers of both kinds of cores into ``work``, which becomes ``folder``."""
    for program in (_PROGRAM, LAUNCHER):
        shutil.copy2(programs / program, work)
    jobs = []
    for chosen, what in ((toolchain, ""), (counting(toolchain), _COUNTING)):
        if chosen is None:
            continue
        prelude = _prelude(folder, what)
        prelude.write_text(prelude_text(chosen), encoding="ascii")
        if not chosen.is_clang:
            return
        words = (*chosen.compile, *kernel_flags(chosen), f"-I{source_root() / 'include'}", *PRECOMPILED, str(prelude))
        jobs += [[*words, kind_flag(kind), "-o", _header(kind, what)] for kind in (0, 1)]
    if _links_thunks(toolchain):
        (work / "thunks.s").write_text(SLS_FUNCTIONS, encoding="ascii")
        jobs.append([*toolchain.compile, "-c", "thunks.s", "-o", _THUNK_OBJECT])
    call_all(jobs, work, "the twin's precompiled header")
