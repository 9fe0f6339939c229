"""A program that takes power away from itself and becomes another: ``python -I confine.py OPTIONS -- COMMAND``.

Landlock by system call: files outside the given paths cannot be opened, nothing outside ``--change`` can be written,
TCP is closed; device nodes keep their ioctls, which the driver needs. Not yet run on hardware: what the driver opens
beyond its documented nodes is not known, so a device that cannot be opened is tried once with ``sandbox=off``.
"""

from __future__ import annotations

import ctypes
import os
import resource
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

__all__ = ["FAILED", "Reach", "landlock_version", "main", "wrap"]

#: Exit code when the command could not be started: that of Python's own errors would look like the command's.
FAILED = 3

# by number: the C library has no functions for Landlock; the numbers are those of every architecture
_CREATE, _ADD, _RESTRICT = 444, 445, 446
_PATH_BENEATH = 1
_NO_NEW_PRIVS = 38
_EXECUTE, _WRITE, _READ, _READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_CHANGES = 0x1FF0  # remove and make files and folders of every kind
_REFER, _TRUNCATE, _IOCTL = 1 << 13, 1 << 14, 1 << 15
_ON_FILES = _EXECUTE | _WRITE | _READ | _TRUNCATE | _IOCTL
_SYSTEM = ("/lib", "/lib32", "/lib64", "/usr", "/bin", "/sbin", "/opt", "/etc", "/proc", "/sys")
_HARMLESS_DEVICES = ("/dev/null", "/dev/zero", "/dev/urandom", "/dev/random")
_OPEN_FILES = 4096


class Reach(NamedTuple):
    """What a program may open: files to read and run, folders to change, device nodes."""

    read: tuple[Path, ...] = ()
    change: tuple[Path, ...] = ()
    devices: tuple[Path, ...] = ()


def wrap(command: Sequence[str], reach: Reach, *, file_bytes: int, cpu_s: int) -> tuple[str, ...]:
    """``command`` under Landlock and limits; under limits only where the kernel has no Landlock."""
    options = [f"--file-bytes={file_bytes}", f"--cpu-s={cpu_s}"]
    for kind, paths in (("read", reach.read), ("change", reach.change), ("device", reach.devices)):
        options += [f"--{kind}={path}" for path in paths]
    # by its path and isolated: a module of this name in the working folder, which an answer may write, must not run
    return (sys.executable, "-I", str(Path(__file__).resolve()), *options, "--", *command)


def landlock_version() -> int:
    """The kernel's version of Landlock, 0 without it."""
    libc = ctypes.CDLL(None, use_errno=True)
    # with no attributes and flag 1 the call makes nothing and returns the version
    return max(int(libc.syscall(_CREATE, None, ctypes.c_size_t(0), ctypes.c_uint32(1))), 0)


class _Ruleset(ctypes.Structure):
    _fields_ = (("files", ctypes.c_uint64), ("net", ctypes.c_uint64), ("scoped", ctypes.c_uint64))


class _PathBeneath(ctypes.Structure):
    # the kernel declares this structure as packed
    _pack_ = 1
    # Python 3.14 warns of a packed structure that does not name its layout
    _layout_ = "ms"
    _fields_ = (("allowed", ctypes.c_uint64), ("parent", ctypes.c_int32))


def _restrict(reach: Reach) -> None:
    version = landlock_version()
    if version == 0:
        return
    libc = ctypes.CDLL(None, use_errno=True)
    handled = _EXECUTE | _WRITE | _READ | _READ_DIR | _CHANGES
    handled |= (_REFER if version >= 2 else 0) | (_TRUNCATE if version >= 3 else 0) | (_IOCTL if version >= 5 else 0)
    # 3: to bind and to connect TCP sockets, which no rule below allows again
    attributes = _Ruleset(handled, 3 if version >= 4 else 0, 0)
    # fields came with versions: a kernel is told of those that it knows
    size = ctypes.c_size_t(16 if version >= 4 else 8)
    ruleset = int(libc.syscall(_CREATE, ctypes.byref(attributes), size, ctypes.c_uint32(0)))
    if ruleset < 0:
        raise OSError(ctypes.get_errno(), "landlock_create_ruleset")
    for path, rights in _rules(reach):
        _allow(libc, ruleset, path, rights & handled)
    # Landlock asks this of a process without privileges before it may restrict itself
    if libc.prctl(_NO_NEW_PRIVS, 1, 0, 0, 0) or libc.syscall(_RESTRICT, ruleset, ctypes.c_uint32(0)):
        raise OSError(ctypes.get_errno(), "landlock_restrict_self")
    os.close(ruleset)


def _rules(reach: Reach) -> Iterator[tuple[Path, int]]:
    see = _EXECUTE | _READ | _READ_DIR
    # in a virtual environment the standard library lies below the base prefix
    for path in (*map(Path, _SYSTEM), Path(sys.prefix), Path(sys.base_prefix), *reach.read):
        yield path, see
    for path in reach.change:
        yield path, see | _WRITE | _CHANGES | _REFER | _TRUNCATE
    for path in (*map(Path, _HARMLESS_DEVICES), *reach.devices):
        yield path, _READ | _WRITE | _IOCTL | _TRUNCATE


def _allow(libc: ctypes.CDLL, ruleset: int, path: Path, rights: int) -> None:
    try:
        handle = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except FileNotFoundError:
        # not every system has all of these folders; what is missing needs no rule
        return
    try:
        # the kernel refuses a rule that gives a file what only folders can have
        allowed = rights if path.is_dir() else rights & _ON_FILES
        rule = _PathBeneath(allowed, handle)
        if libc.syscall(_ADD, ruleset, _PATH_BENEATH, ctypes.byref(rule), ctypes.c_uint32(0)):
            raise OSError(ctypes.get_errno(), f"landlock_add_rule: {path}")
    finally:
        os.close(handle)


def main(arguments: Sequence[str]) -> None:
    """Apply the options before ``--`` and become the command after it."""
    split = list(arguments).index("--")
    values: dict[str, list[str]] = {}
    for option in arguments[:split]:
        name, _, value = option.removeprefix("--").partition("=")
        values.setdefault(name, []).append(value)
    limits = (
        (resource.RLIMIT_FSIZE, int(values["file-bytes"][0])),
        (resource.RLIMIT_CPU, int(values["cpu-s"][0])),
        # crashes of candidates are ordinary, and nobody reads their core files
        (resource.RLIMIT_CORE, 0),
    )
    for limit, most in limits:
        resource.setrlimit(limit, (most, most))
    # a soft limit above the hard one would be refused
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    files = _OPEN_FILES if hard == resource.RLIM_INFINITY else min(_OPEN_FILES, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (files, hard))
    paths = {kind: tuple(map(Path, values.get(kind, ()))) for kind in ("read", "change", "device")}
    _restrict(Reach(paths["read"], paths["change"], paths["device"]))
    command = list(arguments[split + 1 :])
    os.execvp(command[0], command)


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except (OSError, ValueError) as error:
        sys.stderr.write(f"npukb: no walls around the program: {error}\n")
        sys.exit(FAILED)
