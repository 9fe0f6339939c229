"""The C++ standard library for host code, out of the sources that come with the ziglang package.

Kernels need no library, host code does: strings, containers, streams, exceptions. zig would build all of libc++ at
the first link, which takes minutes; here the parts that host code can reach are compiled once per machine with the
toolchain's own clang, in about ten seconds on two cores: its headers are compiled once, which takes longer than what
most of its sources add to them. A system compiler brings its own library.
"""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

from npukb_twin.compile.build import PRECOMPILED
from npukb_twin.compile.cached import call, call_all, make
from npukb_twin.compile.toolchain import Toolchain

__all__ = ["ensure_library", "locate_library"]

# The slow ones first, so that no CPU waits at the end.
_LIBCXX = (
    "locale", "algorithm", "chrono", "ios.instantiations", "thread", "condition_variable", "bind",
    "iostream", "regex", "ostream", "string", "ios", "ryu/d2fixed", "ryu/d2s", "ryu/f2s", "any", "atomic", "call_once",
    "charconv", "condition_variable_destructor", "error_category", "exception", "functional", "future", "hash",
    "memory", "mutex", "mutex_destructor", "new", "new_helpers", "optional", "random", "shared_mutex",
    "stdexcept", "system_error", "valarray", "variant", "vector", "verbose_abort",
)  # fmt: skip
_LIBCXXABI = (
    "cxa_demangle", "abort_message", "cxa_aux_runtime", "cxa_default_handlers", "cxa_exception",
    "cxa_exception_storage", "cxa_guard", "cxa_handlers", "cxa_personality", "cxa_thread_atexit", "cxa_vector",
    "cxa_virtual", "fallback_malloc", "private_typeinfo", "stdlib_exception", "stdlib_new_delete", "stdlib_stdexcept",
    "stdlib_typeinfo",
)  # fmt: skip
_LIBUNWIND = (
    "libunwind.cpp", "Unwind-sjlj.c", "UnwindLevel1.c", "UnwindLevel1-gcc-ext.c", "gcc_personality_v0.c",
    "UnwindRegistersSave.S", "UnwindRegistersRestore.S",
)  # fmt: skip
#: Sources that say something before they include a header, and change by that what it declares.
_ALONE = {"iostream", "condition_variable_destructor", "error_category", "memory", "mutex_destructor"}
_HEADERS = (
    "algorithm", "any", "atomic", "charconv", "chrono", "codecvt", "condition_variable", "fstream", "functional",
    "future", "iostream", "locale", "map", "memory", "mutex", "optional", "random", "regex", "shared_mutex", "sstream",
    "stdexcept", "string", "system_error", "thread", "typeinfo", "valarray", "variant", "vector",
)  # fmt: skip
_HEADER = "library.h"
_FLAGS = ("-O1", "-fPIC", "-w", "-D_GNU_SOURCE", "-DNDEBUG")
_BUILDING = ("-std=c++20", "-D_LIBCPP_BUILDING_LIBRARY")


def locate_library(toolchain: Toolchain, cache: Path) -> list[Path] | None:
    """Object files of the finished library in ``cache`` (none for a toolchain with its own), or None if not built."""
    if toolchain.library_sources is None:
        return []
    folder = _folder(toolchain, cache)
    return sorted(folder.glob("*.o")) if (folder / "complete").exists() else None


def ensure_library(toolchain: Toolchain, cache: Path) -> list[Path]:
    """The library's object files, compiled first when they are not there."""
    objects = locate_library(toolchain, cache)
    if objects is None:
        make(_folder(toolchain, cache), lambda work: _build(toolchain, work))
        objects = locate_library(toolchain, cache)
    assert objects is not None
    return objects


def _build(toolchain: Toolchain, work: Path) -> None:
    """Compile headers, then sources, into ``work``."""
    what = "the C++ standard library"
    (work / _HEADER).write_text("".join(f"#include <{name}>\n" for name in _HEADERS), encoding="ascii")
    ahead, *commands = _commands(toolchain)
    call(ahead, work, what)
    call_all(commands, work, what)
    for leftover in work.glob(f"{_HEADER}*"):
        leftover.unlink()


def _folder(toolchain: Toolchain, cache: Path) -> Path:
    """Objects do not remember where the sources lie, so environments with the same compiler share them."""
    digest = sha256()
    for command in _commands(toolchain):
        digest.update("\0".join(toolchain.identity(command)).encode() + b"\n")
    return cache / "cxx" / digest.hexdigest()[:24]


def _commands(toolchain: Toolchain) -> list[list[str]]:
    """One compiler call for the headers, then one per source."""
    root = toolchain.library_sources
    assert root is not None
    library, abi, unwind = root / "libcxx/src", root / "libcxxabi/src", root / "libunwind/src"
    building = (*_BUILDING, "-DLIBCXX_BUILDING_LIBCXXABI", f"-I{library}")
    commands = [[*toolchain.compile, *_FLAGS, *building, *PRECOMPILED, _HEADER, "-o", f"{_HEADER}.pch"]]
    for name in _LIBCXX:
        ahead = () if name in _ALONE else ("-include-pch", f"{_HEADER}.pch")
        commands.append(_command(toolchain, library / f"{name}.cpp", *building, *ahead))
    own = (*_BUILDING, "-D_LIBCXXABI_BUILDING_LIBRARY", "-DHAVE___CXA_THREAD_ATEXIT_IMPL", f"-I{library}", f"-I{abi}")
    commands += [_command(toolchain, abi / f"{name}.cpp", *own) for name in _LIBCXXABI]
    native = ("-D_LIBUNWIND_IS_NATIVE_ONLY", f"-I{root / 'libunwind/include'}")
    for name in _LIBUNWIND:
        language = {".cpp": ("-std=c++17", "-fno-rtti", "-fno-exceptions"), ".c": ("-std=c11", "-fexceptions")}
        commands.append(_command(toolchain, unwind / name, *language.get(Path(name).suffix, ()), *native))
    return commands


def _command(toolchain: Toolchain, source: Path, *flags: str) -> list[str]:
    part = next(folder for folder in source.parts if folder in ("libcxx", "libcxxabi", "libunwind"))
    return [*toolchain.compile, *_FLAGS, *flags, "-c", str(source), "-o", f"{part}-{source.stem}.o"]
