"""Suites of Python files with ``Model``, ``get_inputs`` and ``get_init_inputs``: KernelBench, MultiKernelBench, and
folders of one's own. A file is a task; its folder says the level.
"""

from __future__ import annotations

import ast
import hashlib
import re
from collections.abc import Iterator
from pathlib import Path

from npukb_suites.making import BUDGETS, torch_task
from npukb_suites.naming import task_name
from npukb_suites.torch_client import torch_host
from npukernelbench.errors import SourceLocation, TaskError, UsageError
from npukernelbench.tasks.importing import Entry, Folder

__all__ = ["KernelBench", "MultiKernelBench", "TorchFolder"]

_LEVEL = re.compile(r"level(\d+)")
# Folders of checkouts that hold no tasks; a suite's own helpers may define a Model, too.
_SKIPPED = frozenset({"__pycache__", ".git", "results", "runs", "tests", "test", "scripts", "src"})


class KernelBench:
    """``level1/1_Name.py`` and so on, below the checkout or below a folder ``KernelBench`` in it."""

    title = "KernelBench"

    def entries(self, root: Path) -> Iterator[Entry]:
        """Every file of every level that there is."""
        if not root.is_dir():
            raise UsageError(f"there is no folder {root}", field="PATH")
        for path in self.files(root):
            level, name = self.level(path), path.stem
            parts = (self.title, *([str(level)] if level else [path.parent.name]), name)
            yield Entry(task_name(*parts), path, _digest(path))

    def files(self, root: Path) -> list[Path]:
        """The files in their order."""
        paths = [path for path in root.rglob("*.py") if _LEVEL.fullmatch(path.parent.name)]
        # By number: as texts, 10_A comes before 9_B.
        return sorted(paths, key=lambda path: (self.level(path), _number(path), path.stem))

    def level(self, path: Path) -> int:
        """The level of a file; 0 where folders say none."""
        match = _LEVEL.fullmatch(path.parent.name)
        return int(match[1]) if match else 0

    def folder(self, suite: str, entry: Entry) -> Folder:
        """The task of one file."""
        _require_model(entry.place)
        target = {"file": str(entry.place), "name": "Model"}
        return torch_task(entry.name, target=target, suite=suite, level=self.level(entry.place) or 1)

    def close(self) -> None:
        """Nothing to give back: torch's process ends with this one."""


class MultiKernelBench(KernelBench):
    """``reference/CATEGORY/name.py``: the categories of the suite in place of levels."""

    title = "MultiKernelBench"

    def files(self, root: Path) -> list[Path]:
        """The files below ``reference``, by category."""
        home = root / "reference" if (root / "reference").is_dir() else root
        paths = [path for path in home.rglob("*.py") if path.parent != home]
        # Relative, because the checkout itself may lie in a folder of such a name.
        paths = [path for path in paths if not _SKIPPED & set(path.relative_to(home).parts)]
        return sorted(paths, key=lambda path: (path.parent.name, path.stem))

    def level(self, path: Path) -> int:  # noqa: ARG002
        """There are none."""
        return 0


class TorchFolder(KernelBench):
    """Any folder: every file that defines ``Model`` and ``get_inputs``."""

    title = "Torch"

    def files(self, root: Path) -> list[Path]:
        """The files that have both, in the order of their paths."""
        # The other files of such a folder may be anything.
        return [path for path in sorted(root.rglob("*.py")) if {"Model", "get_inputs"} <= _defined(path, quiet=True)]


def _require_model(path: Path) -> None:
    defined = _defined(path)
    for name in ("Model", "get_inputs"):
        if name not in defined:
            raise TaskError(f"the file defines no {name}", location=SourceLocation(path, 1))


def _defined(path: Path, *, quiet: bool = False) -> set[str]:
    """Names of a file's classes and functions. TaskError with the line where it is no Python, unless ``quiet``."""
    try:
        # Comments may be in another encoding; what counts here are names.
        tree = ast.parse(path.read_text(encoding="utf-8", errors="replace"), filename=str(path))
    except SyntaxError as error:
        if quiet:
            return set()
        raise TaskError(f"it is no Python: {error.msg}", location=SourceLocation(path, error.lineno or 1)) from error
    return {node.name for node in tree.body if isinstance(node, (ast.ClassDef, ast.FunctionDef))}


def _digest(path: Path) -> str:
    """Of everything that decides the task beside our own code: the file, torch, what cases may cost."""
    # Another version of torch may trace another task out of the same file.
    decided = (path.read_bytes(), torch_host().version().encode(), repr(sorted(BUDGETS.items())).encode())
    return hashlib.sha256(b"\0".join(decided)).hexdigest()


def _number(path: Path) -> int:
    match = re.match(r"\d+", path.stem)
    return int(match[0]) if match else 0
