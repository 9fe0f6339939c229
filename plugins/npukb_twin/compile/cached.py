"""What every cached build shares: taking turns with other processes, calling a compiler, publishing a folder."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from npukb_twin.compile.toolchain import ZIG_CACHE, Toolchain, clean_environment
from npukb_twin.launch.sandbox import LAUNCHER
from npukernelbench.errors import ToolchainError
from npukernelbench.judge.scratch import Scratch

__all__ = ["build_launcher", "call", "call_all", "launcher_sources", "make", "turn"]

#: What zig makes before it links its first program, startup files and stubs of glibc, takes as long as a large source:
#: builds share it. zig itself lets processes take turns.
_LINKING = "zig"


def make(folder: Path, build: Callable[[Path], None]) -> None:
    """Let ``build`` fill a temporary folder and move it to ``folder``, unless another process was faster.

    A folder counts as there when it holds a file named ``complete``. ToolchainError when it cannot be created.
    """
    shared = folder.parent.parent / _LINKING
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        shared.mkdir(exist_ok=True)
    except OSError as error:
        raise ToolchainError(
            f"cannot create {folder.parent}: {error.strerror}", remedy="set NPUKB_CACHE_DIR"
        ) from error
    # Held for the whole build: the second process waits and then finds it complete.
    with turn(folder.with_suffix(".lock")):
        if (folder / "complete").exists():
            return
        with Scratch("build", folder.parent) as scratch:
            work = scratch / folder.name
            work.mkdir()
            (work / ZIG_CACHE).symlink_to(shared.resolve(), target_is_directory=True)
            build(work)
            # the link leads to a folder that all builds share, and would be part of the finished one
            (work / ZIG_CACHE).unlink()
            (work / "complete").touch()
            # one without ``complete`` counts as absent, but a rename does not replace a folder that has contents
            shutil.rmtree(folder, ignore_errors=True)
            work.rename(folder)


@contextmanager
def turn(lock: Path) -> Iterator[None]:
    """Hold ``lock`` against other processes."""
    with lock.open("w") as handle:
        # The lock falls with the process that holds it, also when that is killed.
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def call_all(commands: Sequence[Sequence[str]], work: Path, what: str) -> None:
    """Run compilers in ``work``, as many at a time as there are CPUs."""
    with ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as pool:
        # Listed, so that the first error of a compiler is raised here.
        list(pool.map(lambda command: call(command, work, what), commands))


def launcher_sources(root: Path) -> list[Path]:
    """What the sandbox's launcher is made of, without the measures that it shares with our other programs."""
    return sorted((root / "launcher").iterdir())


def build_launcher(toolchain: Toolchain, root: Path, work: Path) -> None:
    """Compile the sandbox's launcher into ``work``, out of the sources under ``root``."""
    flags = ("-std=c++17", "-O2", "-Wall", "-Wextra", "-D_GNU_SOURCE", f"-I{root}", f"-I{root / 'runtime'}")
    paths = (*launcher_sources(root), root / "runtime/process/sandbox.cpp")
    sources = {f"{path.stem}.obj": path for path in paths if path.suffix == ".cpp"}
    call_all(
        [[*toolchain.compile, *flags, "-c", str(path), "-o", name] for name, path in sources.items()], work, LAUNCHER
    )
    call([*toolchain.link_host, *sources, "-o", LAUNCHER], work, LAUNCHER)
    for name in sources:
        (work / name).unlink()


def call(command: Sequence[str], work: Path, what: str) -> None:
    """Run a compiler in ``work``. ToolchainError, saying that ``what`` does not build, with the compiler's words."""
    try:
        done = subprocess.run(
            command, cwd=work, env=clean_environment(work), capture_output=True, text=True, timeout=600, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ToolchainError(f"{Path(command[0]).name} cannot be run: {error}") from error
    if done.returncode != 0:
        # Further lines repeat the first fault or follow from it.
        tail = "\n".join(done.stderr.splitlines()[:20])
        raise ToolchainError(
            f"{what} does not build with {Path(command[0]).name}:\n{tail}",
            remedy="npukb doctor shows which compilers are usable",
        )
