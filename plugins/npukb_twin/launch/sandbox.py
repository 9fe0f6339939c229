"""What a child process may do: the measures of this machine, and how a command is wrapped so that they hold.

A small program of ours (``launcher/launcher.cpp``, built with the runtime) takes power away from itself and becomes the
compiler or another stranger's program. Our own programs, the tiling function's runner and the kernel's host, confine
themselves before they open a stranger's image: the launcher would be one more program to start. Which measures the
machine has is asked once; a launch then takes all of them or fails as a fault of the infrastructure: no sample is
judged with fewer than its run says.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cache
from pathlib import Path

from npukb_twin.launch.forkserver import Copy, ForkServers, Stop
from npukb_twin.launch.namespaces import shared_namespaces
from npukernelbench.errors import ExecutorError

__all__ = ["LAUNCHER", "Measures", "Mode", "Sandbox", "open_sandbox", "probe"]

#: The launcher's file name beside the programs that are built with it.
LAUNCHER = "npukb-sandbox"

#: Where programs find the shared libraries they are linked with, and devices that hold nothing.
_SYSTEM_RUN = ("/lib", "/lib32", "/lib64", "/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/libexec")
# the loader's list of libraries, and where C libraries count processors
_SYSTEM_READ = ("/etc/ld.so.cache", "/dev/zero", "/dev/urandom", "/sys/devices/system/cpu")
_SYSTEM_CHANGE = ("/dev/null",)


class Mode(str, Enum):
    """How much a child process is confined."""

    AUTO = "auto"  # by every measure the machine has
    STRICT = "strict"  # by all measures, or not at all: the run fails where one is missing
    OFF = "off"  # by limits and time-outs only


@dataclass(frozen=True, slots=True)
class Measures:
    """What a machine offers. ``landlock`` is the version, 0 without it."""

    landlock: int = 0
    seccomp: bool = False
    namespaces: bool = False

    def __str__(self) -> str:
        held = [f"landlock {self.landlock}"] if self.landlock else []
        held += [name for name in ("seccomp", "namespaces") if getattr(self, name)]
        return ", ".join(held) or "none"

    @property
    def missing(self) -> tuple[str, ...]:
        """Names of the measures that are not there."""
        return tuple(name for name in ("landlock", "seccomp", "namespaces") if not getattr(self, name))


@dataclass(frozen=True, slots=True)
class Sandbox:
    """The measures that hold for a child. ``launcher`` is None where none of them does."""

    launcher: Path | None = None
    measures: Measures = field(default_factory=Measures)
    readable: tuple[Path, ...] = ()
    runnable: tuple[Path, ...] = ()
    children: bool = False
    inherited: tuple[int, ...] = ()
    """Descriptors of namespaces to join: a program that the directives are for must inherit them."""
    servers: ForkServers | None = field(default=None, compare=False)
    copier: Path | None = None
    """What starts servers where nothing else is wanted of the launcher."""

    def reaching(self, *read: Path, run: Iterable[Path] = (), children: bool = False) -> Sandbox:
        """The same, for a program that needs these files or folders too, or has to start other programs."""
        return replace(
            self,
            readable=(*self.readable, *read),
            runnable=(*self.runnable, *run),
            children=self.children or children,
        )

    def wrap(self, command: Sequence[str], *, work: Path, limits: Mapping[str, int], status: int) -> tuple[str, ...]:
        """``command`` under these measures and limits; the folder ``work`` alone can be changed.

        ``status`` is the descriptor on which the launcher says why the program could not be started.
        """
        if self.launcher is None:
            return tuple(command)
        launcher, *measures = self._words(command)
        # the child dies with the parent that is named, however that ends
        own = ["--status", str(status), "--parent", str(os.getpid()), *self._of_call(work, limits)]
        return (launcher, *own, *measures, "--", *command)

    def start(
        self,
        command: Sequence[str],
        stop: Stop,
        *,
        work: Path,
        environment: Mapping[str, str],
        limits: Mapping[str, int],
        output: int,
    ) -> Copy | None:
        """A copy of ``command`` from ``stop`` on, under these measures and limits; None where there is no server that
        makes it.
        """
        if self.servers is None:
            return None
        words, own = (*self._words(command), "--", *command), (str(work), *self._of_call(work, limits))
        return self.servers.start(words, own, stop, environment, output)

    def lost(self, command: Sequence[str], stop: Stop) -> None:
        """Say that a server ended before its copy of ``command`` did."""
        if self.servers is not None:
            self.servers.lost((*self._words(command), "--", *command), stop)

    def close(self) -> None:
        """End what waits to be copied, unless another sandbox of this process copies it, too."""
        if self.servers is not None:
            self.servers.close()

    def _words(self, command: Sequence[str]) -> list[str]:
        """The launcher, and the measures that are the same for each call of ``command``."""
        words = [str(self.launcher or self.copier)]
        words += ["--namespaces"] if self.measures.namespaces else []
        words += self._paths(Path(command[0])) if self.measures.landlock else []
        words += ["--filter"] if self.measures.seccomp else []
        words += ["--children"] if self.children else []
        return words

    def _of_call(self, work: Path, limits: Mapping[str, int]) -> list[str]:
        words = [word for name, value in limits.items() for word in ("--limit", f"{name}={value}")]
        return [*words, *(("--change", str(work)) if self.measures.landlock else ())]

    def directives(self) -> Iterator[str]:
        """These measures as lines for a program of ours (``runtime/process/main.cpp``, ``host/main.cpp``)."""
        if self.launcher is None:
            return
        if self.measures.namespaces:
            yield " ".join(["namespaces", *map(str, self.inherited)])
        yield f"parent {os.getpid()}"
        yield from ["confine"] if self.measures.landlock else []
        yield from ["filter"] if self.measures.seccomp else []

    def _paths(self, program: Path) -> Iterator[str]:
        for path in (*_SYSTEM_RUN, program, *self.runnable):
            yield from ("--run", str(path))
        for path in (*_SYSTEM_READ, *self.readable):
            yield from ("--read", str(path))
        for path in _SYSTEM_CHANGE:
            yield from ("--change", str(path))


def open_sandbox(mode: Mode, folder: Path) -> Sandbox:
    """The sandbox of ``mode`` with the launcher in ``folder``. ExecutorError where ``strict`` cannot be had."""
    measures = probe(folder / LAUNCHER)
    # they stop where a filter traps a call
    servers = ForkServers() if measures.seccomp else None
    if mode is Mode.OFF:
        return Sandbox(servers=servers, copier=folder / LAUNCHER)
    if mode is Mode.STRICT and measures.missing:
        raise ExecutorError(
            f"this machine offers no {', '.join(measures.missing)}, which sandbox=strict requires",
            remedy="allow it (Linux 5.13 or newer, unprivileged user namespaces), or take --executor_args sandbox=auto",
        )
    # where no filter keeps launches apart, each has namespaces of its own
    shared = shared_namespaces(folder / LAUNCHER) if measures.namespaces and measures.seccomp else ()
    return Sandbox(folder / LAUNCHER, measures, inherited=shared, servers=servers)


@cache
def probe(launcher: Path) -> Measures:
    """What this machine offers, found out by trying. ExecutorError when the launcher itself does not run."""
    try:
        done = subprocess.run([launcher, "--probe"], capture_output=True, text=True, timeout=20, check=True)
    except (OSError, subprocess.SubprocessError) as error:
        raise ExecutorError(f"the sandbox launcher does not run: {error}", remedy="empty the cache folder") from error
    offered = {name: int(value) for name, value in (line.split() for line in done.stdout.splitlines())}
    return Measures(offered["landlock"], bool(offered["filter"]), bool(offered["namespaces"]))
