"""The program that an agent is started by: it builds the walls, opens the two doors, and becomes the agent's parent.

``python -I walls.py FD``: FD is a socket on which one line of JSON says what to do (:class:`Spec` as a dictionary).
In namespaces of its own there is a root folder with nothing but what the spec names, no network but a loopback, and no
other process. Listening sockets on that loopback are handed back over FD: the harness answers them from outside, so
nothing in here has to relay. The agent then runs under Landlock, without privileges; when it ends, so does everything
that it started. Standard library only: what is imported here happens before each agent.
"""

from __future__ import annotations

import ctypes
import fcntl
import json
import os
import resource
import socket
import struct
import sys
from pathlib import Path
from typing import Any, NoReturn

__all__ = ["main"]

_USER = 1000  # inside: some agents refuse to work as root, and a plain user has no capabilities after exec
_NEW = 0x10000000 | 0x00020000 | 0x20000000 | 0x40000000 | 0x08000000 | 0x04000000  # user, mounts, pid, net, ipc, uts
_BIND, _RECURSIVE, _PRIVATE, _READ_ONLY = 0x1000, 0x4000, 0x40000, 1
_NOSUID_NODEV_NOEXEC = 2 | 4 | 8
_NOSUID_NOEXEC = 2 | 8
_DETACH = 2
_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}
_PDEATHSIG, _NO_NEW_PRIVS = 1, 38
_KILL = 9
_SIOCSIFFLAGS, _UP = 0x8914, 1 | 64
_CREATE, _ADD, _RESTRICT = 444, 445, 446
_READING, _CHANGING, _REFER, _TRUNCATE = 0b1101, 0x1FF2, 1 << 13, 1 << 14  # of Landlock; see landlock(7)
_ON_FILES = 0b111 | _TRUNCATE
_FAILED = 70
_TERMINALS = "/dev/pts"

_LIBC = ctypes.CDLL(None, use_errno=True)


def main(descriptor: int) -> NoReturn:
    """Do what the line on ``descriptor`` says. Failures are told there, as ``{"error": …}``."""
    control = socket.socket(fileno=descriptor)
    with control.makefile("rb") as lines:
        spec = json.loads(lines.readline())
    try:
        _prctl(_PDEATHSIG, _KILL)
        _leave(spec["uid"], spec["gid"])
        # A new network namespace begins with its loopback down.
        _raise_loopback()
        doors = [_listening() for _ in range(spec["doors"])]
        # unshare puts only children into the new pid namespace. The first is its process 1: when it ends, the kernel
        # kills all others.
        child = os.fork()
    except OSError as error:
        _refuse(control, error)
    if child:
        _, status = os.waitpid(child, 0)
        os._exit(os.waitstatus_to_exitcode(status) & 0xFF)
    try:
        # A fork does not inherit it.
        _prctl(_PDEATHSIG, _KILL)
        _build(Path(spec["root"]), spec)
        ports = [door.getsockname()[1] for door in doors]
        socket.send_fds(control, [json.dumps({"ports": ports}).encode() + b"\n"], [door.fileno() for door in doors])
        # The first reader's buffer cannot hold this line: the harness writes it after it has got the doors.
        with control.makefile("rb") as lines:
            start = json.loads(lines.readline())
    except (OSError, ValueError) as error:
        _refuse(control, error)
    # The harness has copies; the agent must not be able to answer its own doors.
    for door in doors:
        door.close()
    os._exit(_parent(control, spec, start))


def _refuse(control: socket.socket, error: Exception) -> NoReturn:
    control.sendall(json.dumps({"error": str(error)}).encode() + b"\n")
    os._exit(_FAILED)


def _parent(control: socket.socket, spec: dict[str, Any], start: dict[str, Any]) -> int:
    """Start the agent and reap until it has ended; the exit status is its own."""
    agent = os.fork()
    if agent == 0:
        try:
            # The agent must not speak to the harness in the name of the walls.
            control.close()
            _limit(spec["limits"])
            _restrict(spec["change"])
            os.chdir(spec["folder"])
            os.execve(start["command"][0], start["command"], start["environment"])
        except OSError as error:
            sys.stderr.write(f"the agent cannot be started: {error}\n")
        # A fork that failed must not go on as the parent.
        os._exit(_FAILED)
    while True:
        pid, status = os.wait()
        if pid == agent:
            return os.waitstatus_to_exitcode(status) & 0xFF


def _leave(uid: int, gid: int) -> None:
    _call(_LIBC.unshare(ctypes.c_int(_NEW)), "unshare")
    # The kernel wants this before an unprivileged process may write gid_map.
    Path("/proc/self/setgroups").write_text("deny", encoding="ascii")
    Path("/proc/self/uid_map").write_text(f"{_USER} {uid} 1", encoding="ascii")
    Path("/proc/self/gid_map").write_text(f"{_USER} {gid} 1", encoding="ascii")
    socket.sethostname("agent")


def _raise_loopback() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, _SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", _UP))


def _listening() -> socket.socket:
    door = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    door.bind(("127.0.0.1", 0))
    door.listen(64)
    return door


def _build(root: Path, spec: dict[str, Any]) -> None:
    """A root folder that holds what the spec shows, and is all that there is."""
    # pivot_root refuses to work among shared mounts.
    _mount(None, "/", None, _RECURSIVE | _PRIVATE)
    _mount("tmpfs", root, "tmpfs", 2 | 4, "mode=755,size=16m")
    for path, target in spec["links"].items():
        _inside(root, path).parent.mkdir(parents=True, exist_ok=True)
        _inside(root, path).symlink_to(target)
    # Outer folders first: a bind mount hides what was mounted below it before.
    for inside, outside in sorted(spec["show"].items()):
        _bind(Path(outside), _inside(root, inside))
    # After the binds, which would show again what is covered.
    for path in spec["cover"]:
        _cover(_inside(root, path))
    for name, text in spec["files"].items():
        _inside(root, name).parent.mkdir(parents=True, exist_ok=True)
        _inside(root, name).write_text(text, encoding="utf-8")
    proc = root / "proc"
    proc.mkdir(exist_ok=True)
    # Some containers forbid a fresh one. The one from outside would show the processes there, so there is none then.
    _LIBC.mount(b"proc", os.fsencode(proc), b"proc", ctypes.c_ulong(_NOSUID_NODEV_NOEXEC), None)
    _terminals(root)
    os.chdir(root)
    number = _PIVOT_ROOT.get(os.uname().machine)
    if number is None:
        raise OSError(f"no agents on {os.uname().machine}")
    # With the same folder twice the old root lies on top of the new one, and needs no folder of its own in it.
    _call(_LIBC.syscall(ctypes.c_long(number), b".", b"."), "pivot_root")
    _call(_LIBC.umount2(b".", ctypes.c_int(_DETACH)), "umount2")
    os.chdir("/")


def _terminals(root: Path) -> None:
    """Pseudo-terminals of its own: some agents run every command in one. Where they are forbidden there are none."""
    folder = root / "dev" / "pts"
    folder.mkdir(parents=True, exist_ok=True)
    options = b"newinstance,ptmxmode=0666,mode=620"
    if _LIBC.mount(b"devpts", os.fsencode(folder), b"devpts", ctypes.c_ulong(_NOSUID_NOEXEC), options) == 0:
        (root / "dev" / "ptmx").symlink_to("pts/ptmx")


def _inside(root: Path, path: str) -> Path:
    return root / path.lstrip("/")


def _bind(source: Path, target: Path) -> None:
    if source.is_dir():
        target.mkdir(parents=True, exist_ok=True)
    else:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.touch(exist_ok=True)
    _mount(str(source), target, None, _BIND | _RECURSIVE)


def _cover(path: Path) -> None:
    if path.is_dir():
        _mount("tmpfs", path, "tmpfs", _READ_ONLY, "mode=000,size=4k")
    elif path.exists():
        _mount("/dev/null", path, None, _BIND)


def _mount(source: str | None, target: Path | str, kind: str | None, flags: int, options: str | None = None) -> None:
    texts = [None if text is None else os.fsencode(text) for text in (source, target, kind)]
    data = None if options is None else options.encode()
    _call(_LIBC.mount(*texts, ctypes.c_ulong(flags), data), f"mount {target}")


def _limit(limits: dict[str, int]) -> None:
    for name, value in limits.items():
        kind = getattr(resource, f"RLIMIT_{name}")
        hard = resource.getrlimit(kind)[1]
        # A hard limit can only be lowered.
        most = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(kind, (most, most))


class _Ruleset(ctypes.Structure):
    _fields_ = (("files", ctypes.c_uint64),)


class _PathBeneath(ctypes.Structure):
    # The kernel's structure is packed: 12 bytes, not 16.
    _pack_ = 1
    _layout_ = "ms"
    _fields_ = (("allowed", ctypes.c_uint64), ("parent", ctypes.c_int32))


def _restrict(change: list[str]) -> None:
    """Everything can be read and run, ``change`` alone written: what is shown lies in folders of the machine."""
    version = int(_LIBC.syscall(_CREATE, None, ctypes.c_size_t(0), ctypes.c_uint32(1)))
    if version < 1:
        raise OSError("the kernel has no Landlock")
    # A kernel refuses rights that it does not know: moving between folders came with version 2, truncating with 3.
    handled = _READING | _CHANGING | (_REFER if version >= 2 else 0) | (_TRUNCATE if version >= 3 else 0)
    attributes = _Ruleset(handled)
    ruleset = _LIBC.syscall(_CREATE, ctypes.byref(attributes), ctypes.c_size_t(8), ctypes.c_uint32(0))
    _call(ruleset, "landlock_create_ruleset")
    terminals = [_TERMINALS] if Path(_TERMINALS, "ptmx").exists() else []
    for path, rights in [("/", _READING), *((path, handled) for path in (*change, *terminals))]:
        folder = os.open(path, os.O_PATH | os.O_CLOEXEC)
        # Rights that make sense for folders only are an error on a plain file.
        rule = _PathBeneath(rights if Path(path).is_dir() else rights & handled & _ON_FILES, folder)
        _call(_LIBC.syscall(_ADD, ruleset, 1, ctypes.byref(rule), ctypes.c_uint32(0)), f"landlock: {path}")
        os.close(folder)
    # The kernel demands it before a process without privileges may restrict itself.
    _prctl(_NO_NEW_PRIVS, 1)
    _call(_LIBC.syscall(_RESTRICT, ruleset, ctypes.c_uint32(0)), "landlock_restrict_self")
    os.close(ruleset)


def _prctl(option: int, value: int) -> None:
    _call(_LIBC.prctl(option, ctypes.c_ulong(value), 0, 0, 0), "prctl")


def _call(result: int, what: str) -> None:
    if result < 0:
        raise OSError(ctypes.get_errno(), f"{what}: {os.strerror(ctypes.get_errno())}")


if __name__ == "__main__":
    main(int(sys.argv[1]))
