"""The runtime of the twin: a host program and a precompiled API header, built once per machine and toolchain.

The cache key covers every source, the flags, the compiler and the CPU's features, so a changed file or machine means
a new build and nothing is ever rebuilt in place. Two processes that need the same build take turns through a lock
file.
"""

from __future__ import annotations

import fcntl
import os
import platform
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from importlib.resources import as_file, files
from pathlib import Path

from npukb_twin.toolchain import Toolchain, clean_environment
from npukernelbench.errors import ToolchainError

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
    folder = cache / "twin" / _key(toolchain)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ToolchainError(
            f"cannot create {folder.parent}: {error.strerror}", remedy="set NPUKB_CACHE_DIR"
        ) from error
    with _turn(folder.with_suffix(".lock")):
        found = locate(toolchain, cache)
        if found is None:
            _build(toolchain, folder)
            found = locate(toolchain, cache)
    assert found is not None
    return found


@contextmanager
def _turn(lock: Path) -> Iterator[None]:
    with lock.open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def _build(toolchain: Toolchain, folder: Path) -> None:
    """Build into a temporary folder beside ``folder`` and move it into place when everything is there."""
    root = source_root()
    include = f"-I{root / 'include'}"
    with tempfile.TemporaryDirectory(dir=folder.parent) as name:
        work = Path(name)
        jobs: list[list[str]] = []
        for source in sorted((root / "runtime").glob("*.cpp")):
            extra = ["-Wno-pass-failed"] if toolchain.is_clang else []
            jobs.append(
                [
                    *toolchain.compile,
                    *_RUNTIME_FLAGS,
                    *extra,
                    "-D_GNU_SOURCE",
                    "-c",
                    str(source),
                    "-o",
                    f"{source.stem}.o",
                ]
            )
        if toolchain.is_clang:
            header = str(root / "include" / "kernel_operator.h")
            jobs.append(
                [
                    *toolchain.compile,
                    *kernel_flags(toolchain),
                    include,
                    "-x",
                    "c++-header",
                    header,
                    "-o",
                    "kernel_operator.h.pch",
                ]
            )
        with ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as pool:
            list(pool.map(lambda job: _call(job, work), jobs))
        objects = sorted(p.name for p in work.glob("*.o"))
        _call([*toolchain.link_host, *objects, "-o", "npukb-twin-host", "-ldl", "-lpthread", "-lm"], work)
        for leftover in (*work.glob("*.o"), work / "zig-cache"):
            shutil.rmtree(leftover) if leftover.is_dir() else leftover.unlink(missing_ok=True)
        (work / "complete").touch()
        shutil.rmtree(folder, ignore_errors=True)
        work.rename(folder)
        work.mkdir()  # what TemporaryDirectory removes


def _call(command: list[str], work: Path) -> None:
    try:
        done = subprocess.run(
            command, cwd=work, env=clean_environment(work), capture_output=True, text=True, timeout=600, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ToolchainError(f"{Path(command[0]).name} cannot be run: {error}") from error
    if done.returncode != 0:
        tail = "\n".join(done.stderr.splitlines()[:20])
        raise ToolchainError(
            f"the twin's runtime does not build with {Path(command[0]).name}:\n{tail}",
            remedy="npukb doctor shows which compilers are usable",
        )
