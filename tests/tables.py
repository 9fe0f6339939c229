"""Tables of tests that are data: rows by name, each a mapping of texts."""

from __future__ import annotations

from pathlib import Path

import yaml

__all__ = ["read_table"]


def read_table(path: Path) -> dict[str, dict[str, str]]:
    """The rows of a YAML file."""
    table: dict[str, dict[str, str]] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return table
