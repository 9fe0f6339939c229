"""Compilers the twin can use, and how each is called.

The reference is the clang inside the pinned ``ziglang`` package: it is installed with the harness, needs no system
header or library, and is the same on every machine. Its clang and its linker are called directly, without zig's build
cache in between: an empty file compiles in about ten milliseconds. System compilers can be chosen instead; g++ before
14 rejects some kernels (explicit specialisations in class scope) and reports rule violations at header lines rather
than at the candidate's.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from npukernelbench.errors import ToolchainError, UsageError

__all__ = ["ARM", "REFERENCE", "Toolchain", "candidates", "counting", "find", "packaged", "processor"]

REFERENCE, ARM = "x86_64", "aarch64"  # processors
_PROCESSORS = {"x86_64": REFERENCE, "aarch64": ARM, "arm64": ARM}
_GLIBC_MINOR = 28  # what the runtime is linked against: older than any supported distribution

#: Addresses of functions are filled in before anything runs and read-only from then on; a source names no libraries.
_LINKED = ("-z", "now", "-z", "relro", "--no-dependent-libraries")

#: Where zig keeps what it made, in the folder that it works in.
ZIG_CACHE = "zig-cache"

_LIBCXX_DEFINES = (
    "-D_LIBCPP_HARDENING_MODE=_LIBCPP_HARDENING_MODE_NONE",
    "-D_LIBCPP_ABI_VERSION=1",
    "-D_LIBCPP_ABI_NAMESPACE=__1",
    "-D_LIBCPP_HAS_NO_VENDOR_AVAILABILITY_ANNOTATIONS",
    "-D_LIBCPP_DISABLE_VISIBILITY_ANNOTATIONS",
    "-D_LIBCXXABI_DISABLE_VISIBILITY_ANNOTATIONS",
    "-D_LIBCPP_PSTL_CPU_BACKEND_SERIAL",
    f"-D__GLIBC_MINOR__={_GLIBC_MINOR}",
)


@dataclass(frozen=True, slots=True)
class Toolchain:
    """One way to compile. ``name`` is what ``--executor_args toolchain=`` takes; ``version`` is part of every
    cache key.
    """

    name: str
    version: str
    compile: tuple[str, ...]
    link_kernel: tuple[str, ...]
    link_host: tuple[str, ...]
    is_clang: bool
    loss: str = ""
    library_sources: Path | None = None
    """Folder of the C++ standard library's sources where the toolchain brings no built one; host code needs it."""

    folders: tuple[Path, ...] = ()
    """What the compiler itself reads and runs, beside the system's shared libraries."""
    links_directly: bool = False
    """Whether ``link_kernel`` is the linker itself rather than a compiler that calls it."""
    starts_programs: bool = False
    """Whether it calls an assembler or a linker in a process of its own."""
    processor: str = ""
    """What it compiles for; empty where the harness knows nothing of that."""

    @property
    def description(self) -> str:
        """For provenance: name and version, no path."""
        return f"{self.name} {self.version}"

    def link_word(self, word: str) -> tuple[str, ...]:
        """An option of the linker as ``link_kernel`` takes it."""
        return (word if self.links_directly else f"-Wl,{word}",)

    def identity(self, words: Iterable[str]) -> tuple[str, ...]:
        """Words of its commands for the key of a build that does not remember where the compiler lies."""
        own = "" if self.library_sources is None else f"{self.library_sources.parent}/"
        return (self.description, *(word.replace(own, "") if own else word for word in words))


def processor() -> str:
    """This machine's; empty where the harness knows nothing of it."""
    return _PROCESSORS.get(platform.machine(), "")


def counting(toolchain: Toolchain) -> Toolchain | None:
    """The same compiler for the processor whose code says what counts as an operation of a kernel
    (runtime/time/reference.h); None for code that says so itself, and for compilers that cannot make the other one.
    """
    return packaged(REFERENCE) if toolchain.name == "zig" and toolchain.processor != REFERENCE else None


def packaged(arch: str) -> Toolchain | None:
    """The clang in the ziglang package, or None when the package or the processor is absent."""
    spec = find_spec("ziglang")
    if spec is None or not spec.submodule_search_locations:
        return None
    root = Path(spec.submodule_search_locations[0])
    zig, library = root / "zig", root / "lib"
    if not (arch and zig.exists()):
        return None
    # zig keeps the kernel's headers of both x86 processors in one folder
    libc = "x86" if arch == REFERENCE else arch
    includes = (
        library / "libcxx/include",
        library / "libcxxabi/include",
        library / "include",
        library / f"libc/include/{arch}-linux-gnu",
        library / "libc/include/generic-glibc",
        library / f"libc/include/{libc}-linux-any",
        library / "libc/include/any-linux-any",
    )
    flags = (f"--target={arch}-linux-gnu", "-nostdinc", *(f"-isystem{path}" for path in includes), *_LIBCXX_DEFINES)
    return Toolchain(
        name="zig",
        version=_zig_version(root),
        compile=(str(zig), "clang", *flags),
        # one object links in a millisecond: starting a thread per CPU takes longer
        link_kernel=(str(zig), "ld.lld", "--threads=1", "-shared", "--build-id=none", *_LINKED),
        # -rdynamic: images find the API's functions in the program that loads them
        link_host=(str(zig), "cc", "-target", f"{arch}-linux-gnu.2.{_GLIBC_MINOR}", "-rdynamic", "-pie"),
        is_clang=True,
        library_sources=library,
        folders=(root,),
        links_directly=True,
        processor=arch,
    )


def _zig_version(root: Path) -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("ziglang")
    except PackageNotFoundError:
        return f"unpackaged {root.name}"


@cache
def _version_of(path: str) -> str:
    """``--version`` of a system compiler, its first line."""
    try:
        done = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=20, check=True)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.partition("\n")[0].strip()


def _system(name: str) -> Toolchain | None:
    """A compiler on PATH, or by path; None when it is absent or of no use."""
    path = shutil.which(name)
    version = _version_of(path) if path else ""
    number = re.search(r"(\d+)\.\d+(?:\.\d+)?", version)
    if path is None or number is None:
        return None
    major, is_clang = int(number[1]), "clang" in version.lower()
    if (is_clang and not 15 <= major <= 18) or (not is_clang and major < 11):
        return None
    loss = ""
    if not is_clang:
        loss = "diagnostics of rule violations name header lines"
        if major < 14:
            loss += "; explicit specialisations in class scope are rejected"
    return Toolchain(
        name=name,
        version=version,
        compile=(path,),
        link_kernel=(path, "-shared", "-Wl,-z,now,-z,relro"),
        link_host=(path, "-rdynamic", "-pie"),
        is_clang=is_clang,
        loss=loss,
        folders=(Path("/usr"), Path("/bin"), Path(path).resolve().parent),
        starts_programs=True,
        processor=processor(),
    )


def _system_names() -> Iterator[str]:
    yield from ("clang++-18", "clang++-17", "clang++-16", "clang++-15", "clang++", "g++")


def candidates() -> tuple[Toolchain, ...]:
    """Every usable toolchain on this machine, best first."""
    usable = [packaged(processor()), *(_system(name) for name in _system_names())]
    return tuple(toolchain for toolchain in usable if toolchain is not None)


def find(wanted: str = "auto") -> Toolchain:
    """The toolchain called ``wanted``: ``auto`` (zig), ``zig``, or a system compiler by name or path.

    ToolchainError when there is none at all, UsageError when the one asked for is missing or too old.
    """
    if wanted in ("auto", "zig"):
        zig = packaged(processor())
        if zig is not None:
            return zig
        if wanted == "auto" and candidates():
            return candidates()[0]
        raise ToolchainError("no usable C++ compiler", remedy="pip install ziglang==0.13.0")
    chosen = _system(wanted)
    if chosen is None:
        known = ", ".join(t.name for t in candidates()) or "none"
        raise UsageError(
            f"compiler {wanted!r} is missing or not usable (clang 15 to 18, g++ 11 or newer)",
            field="toolchain",
            remedy=f"choose one of: auto, {known}",
        )
    return chosen


def clean_environment(work: Path) -> dict[str, str]:
    """Environment of a compiler or kernel process: nothing of the user's but the search path."""
    return {
        "PATH": os.environ.get("PATH", "/usr/bin:/bin"),
        "HOME": str(work),
        "TMPDIR": str(work),
        # messages are read (messages.py), and would be translated otherwise
        "LC_ALL": "C",
        "ZIG_GLOBAL_CACHE_DIR": str(work / ZIG_CACHE),
        "ZIG_LOCAL_CACHE_DIR": str(work / ZIG_CACHE),
    }
