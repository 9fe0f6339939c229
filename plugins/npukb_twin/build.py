"""The runtime of the twin: a host program and a precompiled API header, built once per machine and toolchain.

The cache key covers every source, the flags, the compiler and the CPU's features, so a changed file or machine means
a new build and nothing is ever rebuilt in place. Two processes that need the same build take turns through a lock
file.
"""

from __future__ import annotations

import platform
from dataclasses import dataclass
from hashlib import sha256
from importlib.resources import as_file, files
from pathlib import Path

from npukb_twin.builds import call, call_all, make
from npukb_twin.toolchain import Toolchain

__all__ = ["Runtime", "ensure", "locate", "source_root"]

#: Flags of kernels. Instructions run in the runtime, so a kernel's own code is scalar glue: compiling it fast matters
#: more than running it fast, and unoptimised code keeps its lines and its endless loops. Signed overflow wraps;
#: nothing is fused.
KERNEL_FLAGS = (
    "-std=c++17",
    "-O0",
    "-fPIC",
    "-fno-exceptions",
    "-fno-rtti",
    "-fno-threadsafe-statics",
    "-ffp-contract=off",
    "-fwrapv",
    "-fvisibility=hidden",
    "-w",
)
KERNEL_FLAGS_CLANG = (
    "-gline-tables-only",
    "-fno-finite-loops",
    "-fno-color-diagnostics",
    "-fno-spell-checking",
    "-ferror-limit=20",
)
KERNEL_FLAGS_GCC = ("-g1", "-fno-finite-loops", "-fdiagnostics-color=never", "-fmax-errors=20")
_BASELINE = {
    "x86_64": ("-march=x86-64-v3",),
    "aarch64": ("-march=armv8.2-a+fp16",),
    "arm64": ("-march=armv8.2-a+fp16",),
}
_RUNTIME_FLAGS = (
    "-std=c++17",
    "-O3",
    "-march=native",
    "-fPIC",
    "-fno-exceptions",
    "-fno-rtti",
    "-fno-threadsafe-statics",
    "-ffp-contract=off",
    "-fwrapv",
    "-fno-math-errno",
    "-fno-omit-frame-pointer",  # the candidate's line is found through the frames of the API functions compiled here
    "-fvisibility=hidden",  # a kernel sees the API's functions and no others
    "-Wall",
    "-Wextra",
)


@dataclass(frozen=True, slots=True)
class Runtime:
    """A finished build. ``header`` is the precompiled API header, None for compilers without one."""

    key: str
    host: Path
    header: Path | None


def source_root() -> Path:
    """Folder of ``include/`` and ``runtime/`` as files on disk."""
    with as_file(files("npukb_twin")) as root:
        return root


def kernel_flags(toolchain: Toolchain) -> tuple[str, ...]:
    """Flags every kernel is compiled with by ``toolchain``, without include paths."""
    own = KERNEL_FLAGS_CLANG if toolchain.is_clang else KERNEL_FLAGS_GCC
    return (*KERNEL_FLAGS, *own, *_BASELINE.get(platform.machine(), ()))


def _sources() -> list[Path]:
    root = source_root()
    return sorted(p for folder in ("include", "runtime") for p in (root / folder).rglob("*") if p.is_file())


def _key(toolchain: Toolchain) -> str:
    digest = sha256()
    for part in (toolchain.description, *toolchain.compile, *kernel_flags(toolchain), *_RUNTIME_FLAGS, _cpu()):
        digest.update(part.encode() + b"\0")
    for path in _sources():
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:24]


def _cpu() -> str:
    """What ``-march=native`` depends on."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="ascii", errors="replace")
    except OSError:
        return platform.machine()
    wanted = ("flags", "Features", "model name", "CPU part")
    return "\n".join(sorted({line for line in text.splitlines() if line.startswith(wanted)}))


def locate(toolchain: Toolchain, cache: Path) -> Runtime | None:
    """The finished build in ``cache``, or None when it has to be made."""
    key = _key(toolchain)
    folder = cache / "twin" / key
    header = folder / "kernel_operator.h.pch"
    if not (folder / "complete").exists():
        return None
    return Runtime(key, folder / "npukb-twin-host", header if toolchain.is_clang else None)


def ensure(toolchain: Toolchain, cache: Path) -> Runtime:
    """The runtime for ``toolchain``, building it first when needed (about ten seconds on two cores).

    ToolchainError with the compiler's words when it cannot be built.
    """
    found = locate(toolchain, cache)
    if found is not None:
        return found
    make(cache / "twin" / _key(toolchain), lambda work: _build(toolchain, work))
    found = locate(toolchain, cache)
    assert found is not None
    return found


def _build(toolchain: Toolchain, work: Path) -> None:
    """Compile the runtime and the precompiled header into ``work``."""
    root, what = source_root(), "the twin's runtime"
    extra = ["-Wno-pass-failed"] if toolchain.is_clang else []
    jobs = [
        [*toolchain.compile, *_RUNTIME_FLAGS, *extra, "-D_GNU_SOURCE", "-c", str(source), "-o", f"{source.stem}.o"]
        for source in sorted((root / "runtime").glob("*.cpp"))
    ]
    if toolchain.is_clang:
        header = str(root / "include" / "kernel_operator.h")
        own = (f"-I{root / 'include'}", "-x", "c++-header", header, "-o", "kernel_operator.h.pch")
        jobs.append([*toolchain.compile, *kernel_flags(toolchain), *own])
    call_all(jobs, work, what)
    objects = sorted(p.name for p in work.glob("*.o"))
    call([*toolchain.link_host, *objects, "-o", "npukb-twin-host", "-ldl", "-lpthread", "-lm"], work, what)
    for leftover in work.glob("*.o"):
        leftover.unlink()
