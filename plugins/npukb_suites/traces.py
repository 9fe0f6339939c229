"""Trace sets in the layout of flashinfer-bench: ``definitions/TYPE/NAME.json`` with the reference as text, and
``workloads/TYPE/NAME.jsonl`` with the extents that real models use.

A definition's fixed axes are written into the shapes; the others take the extents of its first workload whose inputs
are random numbers or scalars. Inputs that lie in files belong to one model's run, and are not imported.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Iterator, Mapping
from io import StringIO
from pathlib import Path
from typing import Any

from npukb_suites.documents import read_text
from npukb_suites.making import torch_task
from npukb_suites.naming import task_name
from npukb_suites.torch_client import torch_host
from npukernelbench.errors import SourceLocation, TaskError, UsageError
from npukernelbench.tasks.importing import Entry, Folder

__all__ = ["TraceSet"]

_TYPES = frozenset({"float16", "bfloat16", "float32"})
#: The most of a variable axis in the smoke case.
_SMALL = 5


class TraceSet:
    """Every definition is a task."""

    def entries(self, root: Path) -> Iterator[Entry]:
        """The definitions, by type and name."""
        home = root / "definitions"
        if not home.is_dir():
            raise UsageError(
                f"there is no folder {home}", field="PATH", remedy="name the folder with definitions in it"
            )
        for path in sorted(home.rglob("*.json")):
            workload = _workloads(path)
            contents = [file.read_bytes() for file in (path, workload) if file.is_file()]
            decided = b"\0".join((*contents, torch_host().version().encode()))
            yield Entry(task_name("Trace", path.stem), path, hashlib.sha256(decided).hexdigest())

    def folder(self, suite: str, entry: Entry) -> Folder:
        """The task of one definition. TaskError with the reason where it cannot be one."""
        definition = _read(entry.place, read_text(entry.place))
        for key in ("name", "axes", "inputs", "outputs", "reference"):
            if not definition.get(key):
                raise TaskError("the key is missing", location=SourceLocation(entry.place), field=key)
        extents = _extents(entry.place, definition)
        small = {**extents, **{name: min(_SMALL, extents[name]) for name in _variable(definition)}}
        with tempfile.TemporaryDirectory(prefix="npukb-trace-") as folder:
            model = Path(folder) / f"{entry.place.stem}.py"
            model.write_text(str(definition["reference"]), encoding="utf-8")
            return torch_task(
                entry.name,
                target={"file": str(model), "name": "run"},
                suite=suite,
                summary=str(definition.get("description") or definition["name"]),
                given=_inputs(entry.place, definition, extents),
                small=_inputs(entry.place, definition, small),
            )

    def close(self) -> None:
        """Nothing to give back."""


def _workloads(definition: Path) -> Path:
    parts = ["workloads" if part == "definitions" else part for part in definition.parts]
    return Path(*parts).with_suffix(".jsonl")


def _variable(definition: Mapping[str, Any]) -> list[str]:
    return [name for name, axis in definition["axes"].items() if axis.get("type") != "const"]


def _extents(path: Path, definition: Mapping[str, Any]) -> dict[str, int]:
    """The extent of every axis. TaskError where no workload says those that vary."""
    fixed = {name: int(axis["value"]) for name, axis in definition["axes"].items() if axis.get("type") == "const"}
    variable = _variable(definition)
    if not variable:
        return fixed
    workloads = _workloads(path)
    lines = [*StringIO(read_text(workloads))] if workloads.is_file() else []
    for number, line in enumerate(lines, 1):
        record = _read(workloads, line, number)
        workload = record.get("workload", record)
        inputs = workload.get("inputs", {}).values()
        if all(entry.get("type") in ("random", "scalar") for entry in inputs):
            return {**fixed, **{name: int(workload["axes"][name]) for name in variable}}
    what = "all of its workloads have inputs in files" if lines else f"there are no workloads in {workloads}"
    raise TaskError(f"{what}; {', '.join(variable)} vary", location=SourceLocation(path))


def _inputs(path: Path, definition: Mapping[str, Any], extents: Mapping[str, int]) -> list[dict[str, Any]]:
    """The inputs as torch's side takes them."""
    result: list[dict[str, Any]] = []
    for name, entry in definition["inputs"].items():
        dtype = str(entry.get("dtype"))
        if dtype not in _TYPES:
            message = (
                f"{name} is {dtype}; only {', '.join(sorted(_TYPES))} are drawn, as indices have ranges of their own"
            )
            raise TaskError(message, location=SourceLocation(path), field=f"inputs.{name}.dtype")
        if entry.get("shape") is None:
            result.append({"name": name, "value": 1.0})
        else:
            result.append({"name": name, "dtype": dtype, "shape": [extents[axis] for axis in entry["shape"]]})
    return result


def _read(path: Path, text: str, line: int = 1) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except ValueError as error:
        raise TaskError(f"it is no JSON: {error}", location=SourceLocation(path, line)) from error
    if not isinstance(value, dict):
        raise TaskError("it is no mapping", location=SourceLocation(path, line))
    return value
