"""Where the task files of this distribution lie."""

from __future__ import annotations

from pathlib import Path

from npukernelbench.errors import TaskError

__all__ = ["packaged_suite"]


def packaged_suite() -> Path:
    """The folder of our own tasks: inside the package when installed from a wheel, beside it in a source checkout."""
    package = Path(__file__).resolve().parent.parent
    for folder in (package / "_tasks", package.parent / "tasks"):
        if (folder / "suite.yaml").is_file():
            return folder
    raise TaskError(
        "the task files of this distribution are missing",
        remedy=f"reinstall npukernelbench; looked in {package / '_tasks'} and {package.parent / 'tasks'}",
    )
