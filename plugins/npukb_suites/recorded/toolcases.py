"""Attributes that test cases of msOpST say: JSON files with an operator's name, its tensors' shapes and its attributes.

The tool's cases lie beside the script that writes data, and nobody says which of them its data belong to. A case
of the same shapes does; where none has them, an attribute without a default that has one value in all cases of the
operator has it here.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from npukernelbench.tasks.select import fold

__all__ = ["ToolCase", "attributes_said", "read_test_cases"]

#: Larger files are data.
_MOST_BYTES = 1 << 20
#: Stands for values that the tool draws.
_DRAWN = "fuzz"


@dataclass(frozen=True)
class ToolCase:
    """One case: where it stands, the shapes of its inputs, its attributes by their folded names."""

    name: str
    shapes: tuple[tuple[int, ...] | None, ...]
    attributes: Mapping[str, Any]


def read_test_cases(folder: Path, operator: str) -> tuple[ToolCase, ...]:
    """The cases of an operator in the JSON files below ``folder``; files of another form are passed over."""
    cases: list[ToolCase] = []
    for path in sorted(folder.rglob("*.json")):
        if path.is_file() and path.stat().st_size <= _MOST_BYTES:
            cases += _cases(path, operator)
    return tuple(cases)


def attributes_said(
    cases: Sequence[ToolCase], shapes: Sequence[tuple[int, ...] | None], needed: Collection[str]
) -> dict[str, tuple[Any, str]]:
    """Values by folded names, and which case says each: the first with the inputs' ``shapes``, else all that agree, for
    the attributes ``needed``, which have no default.
    """
    same = next((case for case in cases if case.shapes == tuple(shapes)), None)
    if same is not None:
        return {name: (value, f"the msOpST case {same.name}") for name, value in same.attributes.items()}
    told: dict[str, list[Any]] = {}
    for case in cases:
        for name, value in case.attributes.items():
            told.setdefault(name, []).append(value)
    wanted = {name: told[name] for name in map(fold, needed) if name in told}
    agreed = {name: values[0] for name, values in wanted.items() if all(value == values[0] for value in values)}
    return {name: (value, f"all {len(cases)} msOpST cases") for name, value in agreed.items()}


def _cases(path: Path, operator: str) -> Iterator[ToolCase]:
    try:
        held = json.loads(path.read_text(encoding="utf-8"))
    # Any JSON file of the project is looked at, also one that is nested too deep to be read.
    except (ValueError, OSError, RecursionError):
        return
    for case in held if isinstance(held, list) else ():
        if isinstance(case, dict) and fold(str(case.get("op", ""))) == fold(operator) and "input_desc" in case:
            told = [one for one in _entries(case.get("attr")) if _is_value(one.get("value"))]
            yield ToolCase(
                str(case.get("case_name") or path.name),
                tuple(_shape(one.get("shape")) for one in _entries(case["input_desc"])),
                {fold(str(one.get("name", ""))): one["value"] for one in told},
            )


def _entries(value: Any) -> list[Mapping[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _is_value(value: Any) -> bool:
    items = value if isinstance(value, list) else [value]
    return all(isinstance(item, (bool, int, float, str)) and item != _DRAWN for item in items)


def _shape(value: Any) -> tuple[int, ...] | None:
    """The extents; None for an input that is left out, or whose shapes the tool draws."""
    extents = value if isinstance(value, list) else []
    # Not isinstance, which takes a bool for an int.
    return tuple(extents) if extents and all(type(extent) is int for extent in extents) else None
