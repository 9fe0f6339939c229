"""Files that others wrote, such as a suite's, or the description of recorded data: their text, or YAML."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from npukernelbench.errors import SourceLocation, TaskError

__all__ = ["read_text", "read_yaml"]


def read_text(path: Path) -> str:
    """What the file holds. TaskError, with the line, where it is not UTF-8."""
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise TaskError("it is not UTF-8 text", location=SourceLocation(path, line)) from error


def read_yaml(path: Path) -> Any:
    """What the file holds. TaskError, with the line, where it is no YAML in UTF-8."""
    import yaml  # here, because commands list their options without it

    text = read_text(path)
    try:
        return yaml.safe_load(text)
    # A ValueError is a date that does not exist, such as 2001-02-30.
    except (yaml.YAMLError, ValueError) as error:
        mark = getattr(error, "problem_mark", None)
        raise TaskError("it is no YAML", location=SourceLocation(path, mark.line + 1 if mark else 1)) from error
