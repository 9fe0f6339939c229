"""Starting an agent behind walls, and ending it: what it is shown of this machine, and nothing else."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from npukernelbench.errors import BackendError

__all__ = ["Places", "Unwalled", "Walled", "program_reach", "start"]

HOME, WORK = Path("/agent/home"), Path("/agent/work")
_WALLS = Path(__file__).with_name("walls.py")
_LINKS = ("bin", "sbin", "lib", "lib32", "lib64")
_SYSTEM = (
    "/usr",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/ssl",
    "/etc/pki",
    "/etc/ca-certificates",
    "/etc/alternatives",
    "/etc/localtime",
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
)
_FILES = {
    "/etc/passwd": f"agent:x:1000:1000:agent:{HOME}:/bin/sh\n",
    "/etc/group": "agent:x:1000:\n",
    "/etc/hosts": "127.0.0.1 localhost agent\n",
}
_LIMITS = {"CORE": 0, "FSIZE": 1 << 30, "NPROC": 4096}
_ANSWER_S = 30.0
_REMEDY = (
    "agents need Linux with Landlock and unprivileged user namespaces; allow both, or take "
    "--model_args sandbox=off where nothing on this machine is worth hiding"
)


class Places(NamedTuple):
    """Folders of one agent, on this machine: the workspace, its home, its /tmp, and an empty one for the root."""

    work: Path
    home: Path
    temporary: Path
    root: Path

    @classmethod
    def below(cls, folder: Path) -> Places:
        """New ones."""
        places = cls(*(folder / name for name in cls._fields))
        for place in places:
            place.mkdir()
        return places


class Walled(NamedTuple):
    """Walls that stand: doors to answer, ports under which the agent reaches them, and how it is started."""

    process: subprocess.Popen[bytes]
    control: socket.socket
    doors: tuple[socket.socket, ...]
    ports: tuple[int, ...]
    home: Path = HOME
    work: Path = WORK

    def run(self, command: Sequence[str], environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
        """Start the agent; the process ends with its exit code."""
        self.control.sendall(json.dumps({"command": list(command), "environment": dict(environment)}).encode() + b"\n")
        return self.process

    def end(self) -> None:
        """Kill the agent and whatever it started, and wait until nothing of it runs; safe at any time."""
        _kill(self.process)
        # The other end is held until the last process in there is gone: what is read now stays as it is.
        with suppress(OSError):
            self.control.settimeout(_ANSWER_S)
            self.control.recv(1)
        for end in (self.control, *self.doors):
            end.close()


class Unwalled:
    """The same without walls: the agent sees what its user sees."""

    def __init__(self, places: Places, doors: int, output: int) -> None:
        self.doors = tuple(socket.create_server(("127.0.0.1", 0)) for _ in range(doors))
        self.ports: tuple[int, ...] = tuple(door.getsockname()[1] for door in self.doors)
        self.home, self.work, self._output = places.home, places.work, output
        self._process: subprocess.Popen[bytes] | None = None

    def run(self, command: Sequence[str], environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
        """Start the agent."""
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=self._output,
            stderr=self._output,
            env=dict(environment),
            cwd=self.work,
            start_new_session=True,
        )
        return self._process

    def end(self) -> None:
        """Kill the agent's process group. Who left it goes on."""
        if self._process is not None:
            _kill(self._process)
        for door in self.doors:
            door.close()


def _kill(process: subprocess.Popen[bytes]) -> None:
    with suppress(OSError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def start(places: Places, doors: int, reach: Sequence[Path], output: int) -> Walled:
    """Build the walls around an agent. BackendError where this machine has none to offer."""
    ours, theirs = socket.socketpair()
    spec = {
        "uid": os.getuid(),
        "gid": os.getgid(),
        "doors": doors,
        "root": str(places.root),
        "folder": str(WORK),
        **_shown(places, reach),
        "files": _FILES,
        "limits": _LIMITS,
        # Shells write to /dev/null all the time, and Landlock refuses what is not named.
        "change": [str(WORK), str(HOME), "/tmp", "/dev/null"],
    }
    process = subprocess.Popen(
        # Isolated and without an environment: nothing that the caller has set decides what is imported in there.
        [sys.executable, "-I", str(_WALLS), str(theirs.fileno())],
        pass_fds=[theirs.fileno()],
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=output,
        env={},
        cwd="/",
        start_new_session=True,
    )
    # With a copy left open here, the end of the walls' program would never be seen.
    theirs.close()
    ours.settimeout(_ANSWER_S)
    try:
        ours.sendall(json.dumps(spec).encode() + b"\n")
        message, descriptors, *_ = socket.recv_fds(ours, 1 << 16, doors)
        answer = json.loads(message) if message else {"error": "the walls' program ended"}
    except (OSError, ValueError) as error:
        message, descriptors, answer = b"", [], {"error": str(error)}
    sockets = tuple(socket.socket(fileno=descriptor) for descriptor in descriptors)
    ports = tuple(answer.get("ports", ()))
    walled = Walled(process, ours, sockets, ports)
    if "error" in answer or len(sockets) != doors:
        walled.end()
        raise BackendError(
            f"no walls around an agent on this machine: {answer.get('error', 'no doors')}",
            field="model_args.sandbox",
            remedy=_REMEDY,
        )
    ours.settimeout(None)
    return walled


def _shown(places: Places, reach: Sequence[Path]) -> dict[str, Any]:
    """What the agent sees: system folders, its program, an interpreter for the workspace's scripts, its own folders."""
    links = {f"/{name}": str(Path(f"/{name}").readlink()) for name in _LINKS if Path(f"/{name}").is_symlink()}
    folders = [f"/{name}" for name in _LINKS if f"/{name}" not in links]
    paths = [*_SYSTEM, *folders, *(str(path) for path in (*_python(Path(sys.executable).resolve()), *reach))]
    show = {path: path for path in paths if Path(path).exists()}
    show |= {str(WORK): str(places.work), str(HOME): str(places.home), "/tmp": str(places.temporary)}
    # An environment that is shown may have the harness and its tasks installed in it.
    cover = [path for path in _ours() if any(Path(path).is_relative_to(shown) for shown in show)]
    return {"links": links, "show": show, "cover": cover}


@cache
def _ours() -> tuple[str, ...]:
    """Where the harness and its plugins lie: kernels, references and cases are there."""
    modules = {"npukernelbench", "kernelgen_lm"}
    # Plugins of others bring tasks and references as well.
    modules |= {entry.value.partition(":")[0].partition(".")[0] for entry in entry_points(group="npukernelbench")}
    specs = (find_spec(module) for module in sorted(modules))
    return tuple(str(Path(spec.origin).resolve().parent) for spec in specs if spec is not None and spec.origin)


def program_reach(program: str) -> tuple[Path, tuple[Path, ...]]:
    """The program's real path, and what it needs to be shown to run. BackendError when there is none."""
    located = shutil.which(program)
    if located is None:
        raise BackendError(f"there is no program {program!r}", field="model_args.program")
    path = Path(located).resolve()
    return path, tuple(_needs(path))


def _needs(path: Path) -> Iterator[Path]:
    # The outermost: packages find each other through the folder that holds them all.
    modules = next((parent for parent in reversed(path.parents) if parent.name == "node_modules"), None)
    yield modules or path
    with path.open("rb") as file:
        first = file.readline(512)
    if not first.startswith(b"#!"):
        return
    words = first[2:].decode("utf-8", "replace").split()
    name = words[-1] if words and Path(words[0]).name == "env" else words[0] if words else ""
    interpreter = shutil.which(name)
    if interpreter is not None:
        yield from _python(Path(interpreter)) if "python" in Path(name).name else (Path(interpreter).resolve(),)


def _python(interpreter: Path) -> Iterator[Path]:
    """An environment and the installation behind it."""
    folder = interpreter.parent.parent
    if (folder / "pyvenv.cfg").is_file():
        yield folder
    real = interpreter.resolve()
    # What is below /usr is shown already.
    if not real.is_relative_to("/usr"):
        yield real.parent.parent
