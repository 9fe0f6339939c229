"""YAML files that others wrote: a suite's, or the description of recorded data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from npukernelbench.errors import SourceLocation, TaskError

__all__ = ["read_yaml"]


def read_yaml(path: Path) -> Any:
    """What the file holds. TaskError, with the line, where it is no YAML."""
    import yaml  # here, because commands list their options without it

    try:
        return yaml.safe_load(path.read_text(encoding="utf-8"))
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        raise TaskError("it is no YAML", location=SourceLocation(path, mark.line + 1 if mark else 1)) from error
