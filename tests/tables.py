"""Tables of tests that are data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

__all__ = ["read_table", "read_yaml"]

#: Every worker reads the tables when it collects tests: libyaml, where there is one, takes a tenth of the time.
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def read_yaml(path: Path) -> Any:
    """What a YAML file holds."""
    return yaml.load(path.read_text(encoding="utf-8"), _LOADER)


def read_table(path: Path) -> dict[str, dict[str, str]]:
    """The rows of a YAML file by name, each a mapping of texts."""
    table: dict[str, dict[str, str]] = read_yaml(path)
    return table
