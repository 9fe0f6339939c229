"""Parsed tasks kept as JSON, so that listing a suite needs neither YAML nor pydantic nor NumPy.

One file per suite folder. An entry holds a task and the state (size, change times) of every file it came from; a
single differing state, or a newer loader, makes it stale. The cache can always be lost: unreadable, corrupt or
unwritable means parsing again, never an error.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property, lru_cache
from pathlib import Path
from typing import Any, TypeAlias, overload
from zlib import crc32

from npukernelbench import nouns

__all__ = ["TaskCache", "cache_file", "task_from_json", "task_to_json"]

_Json: TypeAlias = dict[str, Any]
_State: TypeAlias = "list[int] | None"
#: A task's inputs by name.
_Specs: TypeAlias = "Mapping[str, nouns.InputSpec]"

#: Element types by name: a lookup is cheaper than the enumeration's own.
_DTYPES = {dtype.value: dtype for dtype in nouns.DType}
#: Files modified less than this long ago are not cached: another change could leave the same times behind.
_SETTLED_NS = 1_000_000_000


class TaskCache:
    """The cached tasks of one suite folder. ``directory`` None means no cache at all."""

    def __init__(self, directory: Path | None, root: Path) -> None:
        self._file = cache_file(directory, root) if directory else None
        self._loader = _loader_state() if directory else None
        self._entries = self._read()
        self._fresh: dict[str, _Json] = {}
        self._changed = False

    def get(self, path: Path) -> nouns.Task | None:
        """The task of that file, if nothing it came from has changed."""
        entry = self._entries.get(str(path))
        if entry is None:
            return None
        try:
            if any(_state(name) != state for name, state in entry.written["files"].items()):
                return None
            task = entry.task
        except (AttributeError, KeyError, TypeError, ValueError):
            return None
        # Only what was asked for is saved again: entries of files that are gone drop out.
        self._fresh[str(path)] = entry.written
        return task

    def put(self, path: Path, task: nouns.Task, files: Iterable[Path]) -> None:
        """Remember a task just parsed."""
        # Absent files count, too: their state is None, and one that appears makes the entry stale.
        states = {str(item): _state(item) for item in files}
        newest = max((state[1] for state in states.values() if state), default=0)
        if self._file is not None and time.time_ns() - newest > _SETTLED_NS:
            # Texts inside the file's JSON: opening the cache decodes no task, and a listing decodes no cases.
            written = task_to_json(task)
            cases = written.pop("cases")
            self._fresh[str(path)] = {
                "files": states,
                "task": _text(written),
                "case_count": len(cases),
                "cases": (text := _text(cases)),
                "cases_crc32": crc32(text.encode()),
            }
            self._changed = True

    def save(self) -> None:
        """Write what is fresh, atomically; what cannot be written is not kept."""
        # A file that is gone leaves no other trace than an entry too many.
        if self._file is None or not (self._changed or len(self._fresh) < len(self._entries)):
            return
        # Imported here: a process that finds every task in the cache writes nothing.
        import tempfile

        with contextlib.suppress(OSError):
            self._file.parent.mkdir(parents=True, exist_ok=True)
            # In the same folder: a rename replaces a file at once only within one file system.
            handle, name = tempfile.mkstemp(dir=self._file.parent, suffix=".tmp")
            try:
                with os.fdopen(handle, "w", encoding="utf-8") as stream:
                    json.dump({"loader": self._loader, "tasks": self._fresh}, stream, separators=(",", ":"))
                Path(name).replace(self._file)
            except OSError:
                Path(name).unlink(missing_ok=True)

    def _read(self) -> Mapping[str, _Entry]:
        if self._file is None:
            return {}
        try:
            loader, entries = _entries(self._file.read_bytes())
        # Whatever else is in the file: another program's JSON, or a form that an older version wrote.
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return {}
        return entries if loader == self._loader else {}


class _Entry:
    """What is written of one task, and the task that it says: a text in the file's own JSON, read when it is asked for
    and gone afterwards.
    """

    def __init__(self, written: _Json) -> None:
        self.written = written

    @cached_property
    def task(self) -> nouns.Task:
        written = self.written
        # They are read too late to parse the file again where they are damaged.
        if crc32(written["cases"].encode()) != written["cases_crc32"]:
            raise ValueError("damaged cases")
        return _task(json.loads(written["task"]), lambda specs: _Cases(specs, written["case_count"], written["cases"]))


class _Cases(Sequence[nouns.Case]):
    """A task's cases, read when they are looked at: a listing needs no more than their number. Equal to the tuple of
    them, and pickled as it.
    """

    def __init__(self, specs: _Specs, count: int, text: str) -> None:
        self._specs = specs
        self._count = count
        self._text = text

    @cached_property
    def _read(self) -> tuple[nouns.Case, ...]:
        return _cases_from(self._specs, json.loads(self._text))

    @overload
    def __getitem__(self, index: int) -> nouns.Case: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[nouns.Case, ...]: ...
    def __getitem__(self, index: int | slice) -> nouns.Case | tuple[nouns.Case, ...]:
        return self._read[index]

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[nouns.Case]:
        return iter(self._read)

    def __eq__(self, other: object) -> bool:
        return self._read == (other._read if isinstance(other, _Cases) else other)

    def __repr__(self) -> str:
        return repr(self._read)

    def __reduce__(self) -> tuple[type[tuple[nouns.Case, ...]], tuple[tuple[nouns.Case, ...]]]:
        return tuple, (self._read,)


def _text(value: Any) -> str:
    """A JSON value in the fewest characters."""
    return json.dumps(value, separators=(",", ":"))


@lru_cache(maxsize=4)
def _entries(text: bytes) -> tuple[object, Mapping[str, _Entry]]:
    """The state of the loader that wrote this file, and its entries. A process that loads a suite again, as notebooks
    and tests do, reads the same text: tasks are frozen, so that it can have the same ones.
    """
    data = json.loads(text)
    return data["loader"], {path: _Entry(entry) for path, entry in data["tasks"].items()}


def cache_file(directory: Path, root: Path) -> Path:
    """Where the tasks of the suite folder ``root`` are kept."""
    # A path may hold bytes that are no UTF-8; Python keeps them as lone surrogates.
    name = hashlib.sha256(str(root.resolve()).encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return directory / f"{name}.json"


def _state(path: Path | str) -> _State:
    """What changes when a file does; None when it is not there."""
    try:
        status = os.stat(path)  # noqa: PTH116 - thousands of calls, most of them for names
    except OSError:
        return None
    # The change time, too: tools that copy or unpack set the modification time back, but cannot set this one.
    return [status.st_size, status.st_mtime_ns, status.st_ctime_ns]


def _loader_state() -> list[_State]:
    """The state of the code that turns files into tasks."""
    folder = Path(__file__).parent
    # Modules that only use tasks are left out: a change there would make the cache stale for nothing.
    modules = [
        folder / f"{name}.py"
        for name in ("cache", "extent", "goldens", "hidden_schema", "load", "making", "schema", "values", "yaml")
    ]
    definitions = [folder.parent / "nouns" / f"{name}.py" for name in ("dtypes", "hidden", "task")]
    return [_state(path) for path in (*modules, *definitions)]


def task_to_json(task: nouns.Task) -> _Json:
    """A task as JSON values."""
    return {
        "name": task.name,
        "suite": task.suite,
        "level": task.level,
        "category": task.category,
        "version": task.version,
        "kernel": task.kernel,
        "core": task.core.value,
        "summary": task.summary,
        "description": task.description,
        "formula": task.formula,
        "inputs": [
            [
                i.name,
                [d.value for d in i.dtypes],
                i.presence.value,
                i.description,
                _values_to(i.values),
                {dtype.value: _values_to(values) for dtype, values in i.values_for.items()},
            ]
            for i in task.inputs
        ],
        "outputs": [
            [
                o.name,
                o.dtype.value if o.dtype else None,
                o.dtype_like,
                o.shape_like,
                o.presence.value,
                o.alias_of,
                o.description,
                o.zeroed,
            ]
            for o in task.outputs
        ],
        "attributes": [[a.name, a.type, _attribute_to(a.default), a.description] for a in task.attributes],
        "cases": [_case_to(task, case) for case in task.cases],
        "reference": task.reference,
        "policy": task.tolerance.policy,
        "limits": {dtype.value: [item.atol, item.rtol] for dtype, item in task.tolerance.limits.items()},
        # Sorted, since sets have no order: the content hash of a task is taken of this text.
        "tags": sorted(task.tags),
        "goldens": {g.track.value: [g.maker, g.sha256, str(g.path), *map(str, g.shared)] for g in task.goldens},
        "path": str(task.path),
        "content_hash": task.content_hash,
        "workspace_bytes": task.workspace_bytes,
        "created": task.created,
        "hidden": [_form_to(form) for form in task.hidden],
    }


def task_from_json(data: _Json) -> nouns.Task:
    """The task that :func:`task_to_json` wrote. KeyError, TypeError or ValueError when it is not one."""
    return _task(data, lambda specs: _cases_from(specs, data["cases"]))


def _task(data: _Json, cases_of: Callable[[_Specs], Sequence[nouns.Case]]) -> nouns.Task:
    """The task of everything but its cases, which follow from its inputs."""
    inputs = tuple(map(_spec_from, data["inputs"]))
    specs = {spec.name: spec for spec in inputs}
    return nouns.Task(
        name=data["name"],
        suite=data["suite"],
        level=data["level"],
        category=data["category"],
        version=data["version"],
        kernel=data["kernel"],
        core=nouns.Core(data["core"]),
        summary=data["summary"],
        description=data["description"],
        formula=data["formula"],
        inputs=inputs,
        outputs=tuple(
            nouns.OutputSpec(
                name,
                nouns.DType(dtype) if dtype else None,
                dtype_like,
                shape_like,
                nouns.Presence(presence),
                alias,
                text,
                zeroed,
            )
            for name, dtype, dtype_like, shape_like, presence, alias, text, zeroed in data["outputs"]
        ),
        attributes=tuple(
            nouns.AttributeSpec(name, kind, _attribute_from(default), description)
            for name, kind, default, description in data["attributes"]
        ),
        cases=cases_of(specs),
        reference=data["reference"],
        tolerance=nouns.Tolerance(
            data["policy"],
            {nouns.DType(dtype): nouns.ToleranceLimits(*limits) for dtype, limits in data["limits"].items()},
        ),
        tags=frozenset(data["tags"]),
        goldens=tuple(
            nouns.Golden(nouns.Track(track), Path(path), tuple(map(Path, shared)), maker, sha256)
            for track, (maker, sha256, path, *shared) in data["goldens"].items()
        ),
        path=Path(data["path"]),
        content_hash=data["content_hash"],
        workspace_bytes=data["workspace_bytes"],
        created=data["created"],
        hidden=tuple(map(_form_from, data["hidden"])),
    )


def _spec_from(data: list[Any]) -> nouns.InputSpec:
    name, dtypes, presence, description, values, values_for = data
    return nouns.InputSpec(
        name,
        tuple(map(nouns.DType, dtypes)),
        nouns.Presence(presence),
        description,
        _values_from(values),
        {nouns.DType(dtype): _values_from(item) for dtype, item in values_for.items()},
    )


def _case_to(task: nouns.Task, case: nouns.Case) -> list[Any]:
    return [
        case.id,
        {spec.name: _input_to(spec, case.inputs[spec.name]) for spec in task.inputs},
        {name: _shapes_to(value) for name, value in case.outputs.items()},
        {name: _attribute_to(value) for name, value in case.attributes.items()},
        sorted(case.profiles),
    ]


def _cases_from(specs: _Specs, data: list[Any]) -> tuple[nouns.Case, ...]:
    return tuple(_case_from(specs, case) for case in data)


def _case_from(specs: _Specs, data: list[Any]) -> nouns.Case:
    case_id, inputs, outputs, attributes, profiles = data
    return nouns.Case(
        case_id,
        {name: _input_from(specs[name], value) for name, value in inputs.items()},
        {name: _shapes_from(value) for name, value in outputs.items()},
        {name: _attribute_from(value) for name, value in attributes.items()},
        _profiles(tuple(profiles)),
    )


def _input_to(spec: nouns.InputSpec, value: nouns.CaseInput) -> list[Any] | _Json | None:
    """A tensor as ``[shape, dtype]``, with the values as a third item where they are not those of the interface."""
    if isinstance(value, nouns.TensorCase):
        usual = value.values == spec.values_for.get(value.tensor.dtype, spec.values)
        return [*_shape_to(value.tensor), *([] if usual else [_values_to(value.values)])]
    # An object, since a list stands for a single tensor.
    return None if value is None else {"list": [_input_to(spec, item) for item in value]}


def _input_from(spec: nouns.InputSpec, data: list[Any] | _Json | None) -> nouns.CaseInput:
    if isinstance(data, list):
        dtype = _DTYPES[data[1]]
        values = _values_from(data[2]) if len(data) > 2 else spec.values_for.get(dtype, spec.values)
        return nouns.TensorCase(_shape_from(data), values)
    return None if data is None else tuple(_input_from(spec, item) for item in data["list"])  # type: ignore[misc]


def _shapes_to(value: nouns.TensorShape | tuple[nouns.TensorShape, ...]) -> _Json | list[Any]:
    # An object, since a list stands for a single shape.
    return _shape_to(value) if isinstance(value, nouns.TensorShape) else {"list": [_shape_to(item) for item in value]}


def _shapes_from(data: _Json | list[Any]) -> nouns.TensorShape | tuple[nouns.TensorShape, ...]:
    return tuple(_shape_from(item) for item in data["list"]) if isinstance(data, dict) else _shape_from(data)


def _shape_to(tensor: nouns.TensorShape) -> list[Any]:
    return [list(tensor.shape), tensor.dtype.value]


def _shape_from(data: list[Any]) -> nouns.TensorShape:
    return _tensor(tuple(data[0]), data[1])


@cache
def _tensor(shape: tuple[int, ...], dtype: str) -> nouns.TensorShape:
    """Equal tensors are one object: most cases share theirs with others."""
    return nouns.TensorShape(shape, _DTYPES[dtype])


@cache
def _profiles(names: tuple[str, ...]) -> frozenset[str]:
    return frozenset(names)


def _values_to(values: nouns.ValueSpec) -> list[Any]:
    return [values.kind, {name: _attribute_to(value) for name, value in values.args.items()}]


def _values_from(data: list[Any]) -> nouns.ValueSpec:
    return nouns.ValueSpec(data[0], {name: _attribute_from(value) for name, value in data[1].items()})


def _form_to(form: nouns.HiddenForm) -> _Json:
    return {
        "axes": {name: [axis.low, axis.high, axis.multiple_of] for name, axis in form.axes.items()},
        "shapes": {name: list(shape) for name, shape in form.shapes.items()},
        "outputs": {name: list(shape) for name, shape in form.outputs.items()},
        "dtypes": [{name: dtype.value for name, dtype in item.items()} for item in form.dtypes],
        "attributes": {name: _choices_to(value) for name, value in form.attributes.items()},
        "values": {name: dict(value) for name, value in form.values.items()},
        "value_classes": {
            name: [[item.name, item.limit] for item in items] for name, items in form.value_classes.items()
        },
        "required": list(form.required),
    }


def _form_from(data: _Json) -> nouns.HiddenForm:
    return nouns.HiddenForm(
        axes={name: nouns.HiddenAxis(*axis) for name, axis in data["axes"].items()},
        shapes={name: tuple(shape) for name, shape in data["shapes"].items()},
        outputs={name: tuple(shape) for name, shape in data["outputs"].items()},
        dtypes=tuple({name: nouns.DType(dtype) for name, dtype in item.items()} for item in data["dtypes"]),
        attributes={name: _choices_from(value) for name, value in data["attributes"].items()},
        values=data["values"],
        value_classes={
            name: tuple(nouns.ValueClass(*item) for item in items) for name, items in data["value_classes"].items()
        },
        required=tuple(data["required"]),
    )


def _choices_to(value: nouns.HiddenRange | tuple[Any, ...]) -> Any:
    if isinstance(value, nouns.HiddenRange):
        return {"low": value.low, "high": value.high}
    return [_attribute_to(item) for item in value]


def _choices_from(data: Any) -> Any:
    return nouns.HiddenRange(**data) if isinstance(data, dict) else tuple(_attribute_from(item) for item in data)


def _attribute_to(value: nouns.AttributeValue | None) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _attribute_from(value: Any) -> Any:
    # JSON has no tuples: every list among attribute values was one.
    return tuple(value) if isinstance(value, list) else value
