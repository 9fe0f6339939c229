"""Profiles of a whole model's run, read as measured baselines: ``npukb baselines import FILE…``.

``msprof`` writes ``op_summary_*.csv``, torch_npu's profiler ``kernel_details.csv``: a row per launch, with the type of
the operator, its shapes and element types. A launch counts for a task's case when all three are its own; everything
else is counted and told. The file that comes of it is that of eager operators: what a model's run spent on an operator
is what a kernel in its place has to be faster than. Read from documentation, not yet run on hardware.
"""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from npukb_npu.eager import entry
from npukb_npu.profiles import machine_name
from npukb_npu.timing import Timing, summarise
from npukernelbench.errors import UsageError
from npukernelbench.nouns import Case, Task, TensorCase

__all__ = ["COLUMNS", "Imported", "Launch", "document", "match", "read_launches"]

#: Names of a column in ``op_summary_*.csv`` and in ``kernel_details.csv``, and in their versions.
COLUMNS: Mapping[str, tuple[str, ...]] = {
    "type": ("op type", "type"),
    "time": ("task duration(us)", "duration(us)"),
    "shapes": ("input shapes",),
    "dtypes": ("input data types",),
}
_MOST_OTHERS = 10
_REMEDY = "export with shapes: record_shapes=True in torch_npu's profiler, or msprof's op_summary"
#: Element types as the profilers write them, beside the names of tasks.
_DTYPES = {"float": "float32", "bf16": "bfloat16", "dt_bf16": "bfloat16", "double": "float64"}


class Launch(NamedTuple):
    """One launch: the operator's type without case and underscores, shapes and types of its inputs, its time."""

    operator: str
    shapes: tuple[tuple[int, ...], ...]
    dtypes: tuple[str, ...]
    time_us: float


class Imported(NamedTuple):
    """Times by task and case, and how many launches of an operator's type are of no case."""

    times: Mapping[str, Mapping[str, Timing]]
    others: Mapping[str, int]


def read_launches(path: Path) -> Iterator[Launch]:
    """Every launch with a time. UsageError for a file that has not the columns."""
    with path.open(encoding="utf-8-sig", errors="replace", newline="") as stream:
        reader = csv.DictReader(stream)
        header = {_plain_header(name): name for name in reader.fieldnames or ()}
        named = {key: next((header[name] for name in names if name in header), None) for key, names in COLUMNS.items()}
        if missing := [COLUMNS[key][0] for key, name in named.items() if name is None]:
            raise UsageError(f"{path} has no column {', '.join(missing)}", field="FILE", remedy=_REMEDY)
        for row in reader:
            launch = _launch({key: str(row.get(name or "") or "") for key, name in named.items()})
            if launch is not None:
                yield launch


def _plain_header(name: str) -> str:
    # a blank may stand before the unit
    return re.sub(r"\s+(?=\()", "", name.strip().lower())


def _launch(cells: Mapping[str, str]) -> Launch | None:
    """A row as a launch; None for one without a time, such as those of communication."""
    try:
        time_us = float(cells["time"].replace(",", "").strip())
    except ValueError:
        return None
    # in this form NaN is left out, too
    if not time_us > 0:
        return None
    # op_summary puts quotes of its own around a list, inside those of CSV; nothing between semicolons is a scalar
    shapes = tuple(_shape(text) for text in cells["shapes"].strip().strip('"').split(";"))
    dtypes = tuple(_dtype(text) for text in cells["dtypes"].strip().strip('"').split(";"))
    return Launch(_plain(cells["type"]), shapes, dtypes, time_us)


def _shape(text: str) -> tuple[int, ...]:
    return tuple(int(extent) for extent in re.findall(r"\d+", text))


def _dtype(text: str) -> str:
    name = text.strip().lower().removeprefix("dt_")
    return _DTYPES.get(name, _DTYPES.get(f"dt_{name}", name))


def _plain(name: str) -> str:
    return re.sub(r"[\W_]", "", name).lower()


def match(launches: Iterable[Launch], tasks: Iterable[Task]) -> Imported:
    """Launches paired with cases; the times of a case are those of all its launches, as of a measurement's samples."""
    cases: dict[tuple[str, tuple[tuple[int, ...], ...], tuple[str, ...]], list[tuple[str, str]]] = {}
    for task in tasks:
        for case in task.cases:
            shapes, dtypes = _tensors(case)
            # a set: where both are one name, two entries would make the case look ambiguous
            for name in {_plain(task.name), _plain(task.kernel)}:
                cases.setdefault((name, shapes, dtypes), []).append((task.name, case.id))
    samples: dict[tuple[str, str], list[float]] = {}
    others: Counter[str] = Counter()
    for launch in launches:
        key = (launch.operator, launch.shapes, launch.dtypes)
        alike = cases.get(key, [])
        if len(alike) != 1:  # cases that differ in attributes only cannot be told apart
            others[launch.operator] += 1
            continue
        samples.setdefault(alike[0], []).append(launch.time_us)
    times: dict[str, dict[str, Timing]] = {}
    for (name, case_id), numbers in sorted(samples.items()):
        times.setdefault(name, {})[case_id] = summarise(numbers)
    return Imported(times, dict(sorted(others.items(), key=lambda item: (-item[1], item[0]))))


def _tensors(case: Case) -> tuple[tuple[tuple[int, ...], ...], tuple[str, ...]]:
    """Shapes and element types of a case's inputs, in order; of a list every member."""
    members = [
        member
        for value in case.inputs.values()
        for member in (value if isinstance(value, tuple) else (value,))
        if isinstance(member, TensorCase)
    ]
    return tuple(member.tensor.shape for member in members), tuple(member.tensor.dtype.value for member in members)


def document(chip: str, imported: Imported, tasks: Mapping[str, Task], sources: Sequence[Path]) -> str:
    """The baseline file of eager operators, which says where its times are from."""
    entries = {name: entry(tasks[name], times) for name, times in imported.times.items()}
    return (
        json.dumps(
            {
                "machine": machine_name(chip),
                "baseline": "eager",
                "source": [path.name for path in sources],
                "tasks": entries,
                "others": dict(imported.others),
            },
            indent=1,
            sort_keys=True,
        )
        + "\n"
    )


def command(files: Sequence[Path], chip: str, out: Path, tasks: Mapping[str, Task]) -> Iterator[str]:
    """``npukb baselines import``: writes ``out``, lines for the user. UsageError where nothing is of a case."""
    launches = [launch for path in files for launch in read_launches(path)]
    imported = match(launches, tasks.values())
    cases = sum(map(len, imported.times.values()))
    yield f"{len(launches)} launches, {len(launches) - sum(imported.others.values())} of {cases} cases"
    for name, count in list(imported.others.items())[:_MOST_OTHERS]:
        yield f"  {count:6d} launches of {name} are of no case, or of several"
    if not imported.times:
        raise UsageError("no launch is of a task's case", field="FILE", remedy="npukb ls tasks shows shapes and types")
    out.write_text(document(chip, imported, tasks, files), encoding="utf-8")
    for name, times in imported.times.items():
        for case, timing in times.items():
            yield f"  {name}:{case}: {timing.median_us:.2f} us of {timing.samples} launches"
    yield f"wrote {out}"
