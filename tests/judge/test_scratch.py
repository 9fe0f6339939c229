"""Temporary folders end with their process; what a killed one leaves is removed by the next, and nobody else's is."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from npukernelbench.errors import ExecutorError
from npukernelbench.judge.held import Held
from npukernelbench.judge.scratch import Scratch, discard, sweep

#: Makes a folder with a file in it, starts what a kernel is (a process that works in the folder, with an environment
#: that names it, in a session of its own), says where, and waits.
OWNER = """
import subprocess, sys
from pathlib import Path
from npukernelbench.judge.scratch import Scratch
scratch = Scratch("test", Path(sys.argv[1]))
work = scratch.path / "run"
work.mkdir()
child = subprocess.Popen(
    ["sleep", "600"], cwd=work, env={"HOME": str(work)}, start_new_session=True, stdout=subprocess.DEVNULL
)
print(scratch.path, child.pid, flush=True)
sys.stdin.read()
"""

Start = Callable[[], "tuple[subprocess.Popen[str], Path, int]"]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts owners; ends whatever they leave."""
    begun: list[tuple[subprocess.Popen[str], int]] = []

    def begin() -> tuple[subprocess.Popen[str], Path, int]:
        owner = subprocess.Popen(
            [sys.executable, "-c", OWNER, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert owner.stdout is not None
        folder, child = owner.stdout.readline().split()
        begun.append((owner, int(child)))
        return owner, Path(folder), int(child)

    yield begin
    for owner, child in begun:
        owner.kill()
        owner.communicate()
        try:
            os.kill(child, signal.SIGKILL)
        except ProcessLookupError:
            continue


def test_what_a_killed_process_leaves_is_removed_and_what_a_living_one_owns_is_not(
    tmp_path: Path, start: Start
) -> None:
    dead, left, orphan = start()
    ended = os.pidfd_open(orphan)
    _, living, child = start()
    assert sweep(tmp_path) == []
    dead.kill()
    dead.wait()
    assert left.is_dir()
    assert sweep(tmp_path) == [left]
    assert select.select([ended], [], [], 60)[0], "the orphan lives"
    os.close(ended)
    os.kill(child, 0)
    assert sorted(path.name for path in tmp_path.iterdir()) == [living.name, f"{living.name}.lock"]


def test_a_new_folder_sweeps_its_place_once_per_process(tmp_path: Path) -> None:
    left = tmp_path / "npukb-twin-0123"
    left.mkdir()
    (left / "kernel.so").write_bytes(b"x")
    (tmp_path / "npukb-twin-0123.lock").touch()  # held by nobody
    (tmp_path / "npukb-notes").mkdir()  # no lock: not one of these folders
    with Scratch("test", tmp_path) as folder:
        assert sorted(path.name for path in tmp_path.iterdir()) == [
            "npukb-notes",
            folder.name,
            f"{folder.name}.lock",
        ]
    assert [path.name for path in tmp_path.iterdir()] == ["npukb-notes"]


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    place, other = tmp_path / "place", tmp_path / "other"
    place.mkdir()
    other.mkdir()
    (other / "precious").touch()
    (place / "npukb-x.lock").touch()
    (place / "npukb-x").symlink_to(other)
    (place / "npukb-y.lock").symlink_to(other / "precious")
    sweep(place)
    assert (other / "precious").exists()


def test_a_folder_without_rights_is_removed(tmp_path: Path) -> None:
    closed = tmp_path / "folder" / "closed"
    closed.mkdir(parents=True)
    (closed / "file").touch()
    closed.chmod(0)
    assert discard(tmp_path / "folder")
    assert not (tmp_path / "folder").exists()
    assert discard(tmp_path / "never was")


def test_a_fork_does_not_remove_what_its_parent_owns(tmp_path: Path) -> None:
    code = (
        "import os, sys; from pathlib import Path; from npukernelbench.judge.scratch import Scratch\n"
        "scratch = Scratch('test', Path(sys.argv[1]))\n"
        "child = os.fork()\n"
        "if child == 0: sys.exit()\n"
        "os.waitpid(child, 0); print(scratch.path.is_dir())\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=True)
    assert done.stdout == "True\n"
    assert not list(tmp_path.iterdir())


def test_what_equal_candidates_share_is_kept_until_the_last_is_judged() -> None:
    held: Held[str, int] = Held()
    held.keep("a", 1)
    held.keep("a", 2)
    assert held.release("a") is None
    assert held.get("a") == 2
    assert held.release("a") == 2
    assert held.release("a") is None
    assert len(held) == 0
    with pytest.raises(ExecutorError, match="released already"):
        held.get("a")
