"""A fixture that fails when tests leave processes or the twin's temporary folders behind."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

__all__ = ["children", "nothing_leaks"]

_PATIENCE_S = 10.0
#: How the names of the twin's programs, and of compilers, begin.
_PROGRAMS = ("npukb", "zig", "clang", "g++", "cc1plus", "ld.lld")


@pytest.fixture(scope="session", autouse=True)
def nothing_leaks() -> Iterator[None]:
    """Around the whole session: set up before every executor, torn down after them all. The twin's folders lie in one
    of our own meanwhile; at the end it is empty, and no new child lives.
    """
    from npukb_twin import executor
    from npukernelbench.rewards import texts

    before, usual = children(), executor._fast_folder
    folder = tempfile.mkdtemp(prefix="npukb-leaks-", dir=usual())
    executor._fast_folder = lambda: folder
    try:
        yield
        for scorer in texts._OPEN.values():
            scorer.close()  # those of trainers last as long as their process
        deadline = time.monotonic() + _PATIENCE_S
        while _ours(children() - before) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert not (left := _ours(children() - before)), f"processes were left behind: {left}"
        assert not (stayed := list(Path(folder).iterdir())), f"temporary folders were left behind: {stayed}"
    finally:
        executor._fast_folder = usual
        shutil.rmtree(folder, ignore_errors=True)


def children() -> frozenset[int]:
    """Processes that this one started, and that have not ended."""
    found: set[int] = set()
    for thread in Path("/proc/self/task").iterdir():
        try:
            found.update(map(int, (thread / "children").read_text().split()))
        except OSError:
            continue  # the thread has ended
    return frozenset(pid for pid in found if _lives(pid) and pid != os.getpid())


def _ours(pids: frozenset[int]) -> list[str]:
    """Names of those that run a kernel, a tiling function or a compiler; other tests of a session have servers."""
    names = {pid: _name(pid) for pid in pids}
    return sorted(name for name in names.values() if name.startswith(_PROGRAMS))


def _name(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


def _lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False
