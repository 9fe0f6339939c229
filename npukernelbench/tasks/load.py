"""From a task file to a :class:`~npukernelbench.nouns.Task`: resolve every case against the interface.

This is the slow way, through YAML and pydantic; ``registry`` takes the short one through ``cache`` when nothing
changed.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple, cast

from npukernelbench import nouns
from npukernelbench.errors import TaskError
from npukernelbench.reference.files import file_of
from npukernelbench.tasks.cache import task_to_json
from npukernelbench.tasks.goldens import DERIVED, OPERATOR_FOLDERS, golden_digest, golden_paths
from npukernelbench.tasks.hidden_schema import hidden_forms
from npukernelbench.tasks.schema import CaseModel, OutputModel, TaskModel, TensorModel, parse_model
from npukernelbench.tasks.values import FRACTIONAL, parse_values
from npukernelbench.tasks.yaml import Document, Keys, read_document

__all__ = ["LoadedTask", "load_task", "read_waivers"]

#: Names that mean something else in a kernel's parameter list.
RESERVED = frozenset({"workspace", "tiling"})


class LoadedTask(NamedTuple):
    """A task, and every file whose content (or absence) decided it."""

    task: nouns.Task
    files: tuple[Path, ...]


def load_task(path: Path) -> LoadedTask:
    """Load one ``task.yaml``. TaskError with file:line:column and field for anything wrong in it."""
    document = read_document(path)
    model = parse_model(document)
    return _Loader(document, model).load()


def read_waivers(path: Path) -> Mapping[str, Mapping[str, str]]:
    """Accepted findings with their reasons, by case id; those of the whole task are under the empty id."""
    model = parse_model(read_document(path))
    return {"": model.waivers, **{case.id: case.waivers for case in model.cases}}


class _Loader:
    """Turns one validated document into a task; every complaint points back into the document."""

    def __init__(self, document: Document, model: TaskModel) -> None:
        self._document = document
        self._model = model

    def load(self) -> LoadedTask:
        model = self._model
        inputs = self._inputs()
        goldens, probed = self._goldens()
        task = nouns.Task(
            name=model.name,
            suite=model.suite,
            level=model.level,
            category=model.category,
            version=model.version,
            kernel=model.kernel,
            core=model.core,
            summary=model.summary.strip(),
            description=model.description.strip(),
            formula=model.formula.strip(),
            inputs=inputs,
            outputs=self._outputs(inputs),
            attributes=self._attributes(),
            cases=(),
            reference=model.reference,
            tolerance=nouns.Tolerance(
                model.tolerance.policy,
                {dtype: nouns.ToleranceLimits(item.atol, item.rtol) for dtype, item in model.tolerance.limits.items()},
            ),
            tags=frozenset(model.tags),
            goldens=goldens,
            path=self._document.path,
            content_hash="",
            workspace_bytes=model.workspace_bytes,
            created=model.created,
        )
        hidden = hidden_forms(model.hidden, task, self) if model.hidden else ()
        task = replace(task, cases=self._cases(task), hidden=hidden)
        own = self._reference_file()
        digest = hashlib.sha256(own.read_bytes()).hexdigest() if own else ""
        files = (*self._document.files, *probed, *([own] if own else []))
        return LoadedTask(replace(task, content_hash=_content_hash(task, digest)), files)

    def _reference_file(self) -> Path | None:
        """The file beside the task that its reference is in; None where it is in a package."""
        path = file_of(self._model.reference, self._document.path.parent)
        if path is not None and not path.is_file():
            name = self._model.reference.rpartition(":")[0]
            remedy = "name a file relative to the task's folder"
            raise self.fail(f"there is no file {name}", "reference", remedy=remedy)
        return path

    def fail(self, message: str, *keys: str | int, remedy: str | None = None) -> TaskError:
        """The complaint to raise about the field ``keys``."""
        place: Keys = keys
        field = ".".join(str(key) for key in keys)
        return TaskError(message, location=self._document.locate(place), field=field, remedy=remedy)

    def _inputs(self) -> tuple[nouns.InputSpec, ...]:
        seen: set[str] = set(RESERVED)
        specs = []
        for position, item in enumerate(self._model.interface.inputs):
            keys = ("interface", "inputs", position)
            if item.name in seen:
                raise self.fail(f"the name {item.name!r} is taken or reserved", *keys, "name")
            seen.add(item.name)
            for dtype in item.values_for:
                if dtype not in item.dtypes:
                    raise self.fail(f"{dtype.value} is not among dtypes", *keys, "values_for", dtype.value)
            values = parse_values(item.values) if item.values else nouns.ValueSpec("normal", {"mean": 0.0, "std": 1.0})
            values_for = {dtype: parse_values(raw) for dtype, raw in item.values_for.items()}
            specs.append(
                nouns.InputSpec(item.name, tuple(item.dtypes), item.presence, item.description, values, values_for)
            )
        return tuple(specs)

    def _outputs(self, inputs: tuple[nouns.InputSpec, ...]) -> tuple[nouns.OutputSpec, ...]:
        names = {item.name for item in inputs}
        # Inputs and outputs are parameters of one kernel function.
        seen = set(names) | RESERVED
        specs = []
        for position, item in enumerate(self._model.interface.outputs):
            keys = ("interface", "outputs", position)
            if item.name in seen:
                raise self.fail(f"the name {item.name!r} is taken or reserved", *keys, "name")
            seen.add(item.name)
            if (item.dtype is None) == (item.dtype_like is None):
                raise self.fail("give exactly one of dtype and dtype_like", *keys)
            self._check_references(item, names, keys)
            specs.append(
                nouns.OutputSpec(
                    name=item.name,
                    dtype=item.dtype,
                    dtype_like=item.dtype_like,
                    shape_like=item.shape_like,
                    presence=item.presence,
                    alias_of=item.alias_of,
                    description=item.description,
                    zeroed=item.zeroed,
                )
            )
        return tuple(specs)

    def _check_references(self, item: OutputModel, names: set[str], keys: Keys) -> None:
        if item.presence is nouns.Presence.OPTIONAL:
            raise self.fail("an output is required or dynamic", *keys, "presence")
        for field in ("dtype_like", "shape_like", "alias_of"):
            value = getattr(item, field)
            if value is not None and value not in names:
                raise self.fail(f"there is no input {value!r}", *keys, field, remedy=f"inputs are {_join(names)}")

    def _attributes(self) -> tuple[nouns.AttributeSpec, ...]:
        seen: set[str] = set()
        specs = []
        for position, item in enumerate(self._model.interface.attributes):
            keys = ("interface", "attributes", position)
            if item.name in seen:
                raise self.fail(f"the attribute {item.name!r} is given twice", *keys, "name")
            seen.add(item.name)
            default = None if item.default is None else self.attribute(item.type, item.default, *keys, "default")
            specs.append(nouns.AttributeSpec(item.name, item.type, default, item.description))
        return tuple(specs)

    def attribute(self, kind: str, value: object, *keys: str | int) -> nouns.AttributeValue:
        """A value of an attribute's type; integers count as floats."""
        if isinstance(value, list) and kind.startswith("list_"):
            items = [self.attribute(kind.removeprefix("list_"), item, *keys) for item in value]
            return cast("tuple[float, ...]", tuple(items))
        if kind == "bool" and isinstance(value, bool):
            return value
        if kind == "str" and isinstance(value, str):
            return value
        # A bool is an int in Python, but `true` is no number in a task file.
        if kind == "int" and isinstance(value, int) and not isinstance(value, bool):
            return value
        if kind == "float" and isinstance(value, (int, float)) and not isinstance(value, bool):
            return float(value)
        raise self.fail(f"{value!r} is not of type {kind}", *keys)

    def _goldens(self) -> tuple[tuple[nouns.Golden, ...], tuple[Path, ...]]:
        """Golden kernels: those named, or ``golden/static.cpp`` and ``golden/dynamic`` where they lie. Also every path
        looked at.
        """
        folder = self._document.path.parent
        named = self._model.goldens
        if named is None:
            usual = (
                nouns.Golden(nouns.Track.STATIC, folder / "golden" / "static.cpp"),
                nouns.Golden(nouns.Track.DYNAMIC, folder / "golden" / "dynamic"),
            )
            existing = tuple(golden for golden in usual if golden.path.exists())
            # Absent ones are looked at, too: the cached task is stale as soon as one appears.
            return existing, tuple(path for golden in usual for path in golden_paths(golden))
        goldens = tuple(
            self._made(track, names)
            if isinstance(names, dict)
            else self._golden(track, [names] if isinstance(names, str) else names)
            for track, names in named.items()
        )
        return goldens, tuple(path for golden in goldens for path in golden_paths(golden))

    def _made(self, track: nouns.Track, given: Mapping[str, str]) -> nouns.Golden:
        """The golden kernel that ``given``, ``{MAKER: FILE, sha256: DIGEST}``, says how to make."""
        keys, folder = ("goldens", track.value), self._document.path.parent
        makers = [name for name in given if name != "sha256"]
        if len(makers) != 1:
            raise self.fail("name one maker, and what it makes the kernel of", *keys)
        [maker], digest = makers, given.get("sha256", "")
        if digest and not re.fullmatch(r"[0-9a-f]{64}", digest):
            raise self.fail("a sha256 has 64 hexadecimal digits", *keys, "sha256")
        if maker == DERIVED:
            if track is not nouns.Track.STATIC or given[maker] != nouns.Track.DYNAMIC.value:
                raise self.fail("only the static kernel is derived, and from the dynamic one", *keys, maker)
            if nouns.Track.DYNAMIC not in (self._model.goldens or {}):
                raise self.fail("there is no dynamic golden kernel to derive from", *keys, maker)
            return nouns.Golden(track, self._document.path, maker=maker)
        if track is nouns.Track.STATIC:
            raise self.fail("a static kernel is a file, or derived", *keys, maker)
        if Path(given[maker]).is_absolute():
            raise self.fail("name the file relative to the task's folder", *keys, maker)
        path = folder / given[maker]
        if not os.path.isfile(path):  # noqa: PTH113 - takes any name
            raise self.fail(f"there is no file {given[maker]}", *keys, maker)
        return nouns.Golden(track, path, maker=maker, sha256=digest)

    def _golden(self, track: nouns.Track, names: list[str]) -> nouns.Golden:
        """The golden kernel in the first of ``names``; the others are folders that it shares with other tasks."""
        folder = self._document.path.parent
        for name in names:
            if Path(name).is_absolute():
                raise self.fail("name the file relative to the task's folder", "goldens", track.value)
            self._check_golden(track, folder / name, name)
        if track is nouns.Track.STATIC and len(names) > 1:
            raise self.fail("a golden kernel of the static track is one file", "goldens", track.value)
        return nouns.Golden(track, folder / names[0], tuple(folder / name for name in names[1:]))

    def _check_golden(self, track: nouns.Track, path: Path, name: str) -> None:
        if track is nouns.Track.STATIC and not os.path.isfile(path):  # noqa: PTH113 - takes any name
            raise self.fail(f"there is no file {name}", "goldens", track.value)
        if track is nouns.Track.LAUNCH and not os.path.isdir(path):  # noqa: PTH112
            raise self.fail(f"there is no folder {name}", "goldens", track.value)
        if track is nouns.Track.DYNAMIC:
            for folder in OPERATOR_FOLDERS:
                if not os.path.isdir(path / folder):  # noqa: PTH112
                    raise self.fail(f"there is no folder {name}/{folder}", "goldens", track.value)

    def _cases(self, task: nouns.Task) -> tuple[nouns.Case, ...]:
        cases: dict[str, nouns.Case] = {}
        for position, model in enumerate(self._model.cases):
            if model.id in cases:
                raise self.fail(f"the case id {model.id!r} is given twice", "cases", position, "id")
            cases[model.id] = _CaseResolver(self, task, model, ("cases", position)).resolve()
        return tuple(cases.values())


class _CaseResolver:
    """Resolves one case: values drawn how, attributes with defaults, outputs with shape and type."""

    def __init__(self, loader: _Loader, task: nouns.Task, model: CaseModel, keys: tuple[str, int]) -> None:
        self._loader = loader
        self._task = task
        self._model = model
        self._keys = keys

    def resolve(self) -> nouns.Case:
        self._refuse_unknown("inputs", self._model.inputs, {item.name for item in self._task.inputs})
        self._refuse_unknown("outputs", self._model.outputs, {item.name for item in self._task.outputs})
        self._refuse_unknown("attributes", self._model.attributes, {item.name for item in self._task.attributes})
        inputs = {spec.name: self._input(spec) for spec in self._task.inputs}
        return nouns.Case(
            id=self._model.id,
            inputs=inputs,
            outputs={spec.name: self._output(spec, inputs) for spec in self._task.outputs},
            attributes={spec.name: self._attribute(spec) for spec in self._task.attributes},
            profiles=frozenset(self._model.profiles),
        )

    def _fail(self, message: str, *keys: str | int, remedy: str | None = None) -> TaskError:
        return self._loader.fail(message, *self._keys, *keys, remedy=remedy)

    def _refuse_unknown(self, section: str, given: Mapping[str, object], known: set[str]) -> None:
        for name in given:
            if name not in known:
                remedy = f"the interface has {_join(known)}" if known else f"the interface has no {section}"
                raise self._fail(f"the interface has no {name!r} among its {section}", section, name, remedy=remedy)

    def _input(self, spec: nouns.InputSpec) -> nouns.CaseInput:
        given = self._model.inputs.get(spec.name)
        if given is None:
            if spec.presence is not nouns.Presence.OPTIONAL:
                raise self._fail(f"the input {spec.name!r} is missing", "inputs", remedy="give its shape and dtype")
            return None
        if isinstance(given, list):
            if spec.presence is not nouns.Presence.DYNAMIC:
                raise self._fail("only an input with presence dynamic is a list", "inputs", spec.name)
            return tuple(self._tensor(spec, item, spec.name, index) for index, item in enumerate(given))
        if spec.presence is nouns.Presence.DYNAMIC:
            raise self._fail("a dynamic input is a list of tensors", "inputs", spec.name)
        return self._tensor(spec, given, spec.name)

    def _tensor(self, spec: nouns.InputSpec, model: TensorModel, *keys: str | int) -> nouns.TensorCase:
        if model.dtype not in spec.dtypes:
            allowed = _join(dtype.value for dtype in spec.dtypes)
            raise self._fail(
                f"{model.dtype.value} is not allowed here", "inputs", *keys, "dtype", remedy=f"use {allowed}"
            )
        values = parse_values(model.values) if model.values else spec.values_for.get(model.dtype, spec.values)
        tensor = nouns.TensorShape(tuple(model.shape), model.dtype)
        problem = _values_problem(values, tensor)
        if problem:
            raise self._fail(problem, "inputs", *keys, "values")
        return nouns.TensorCase(tensor, values)

    def _attribute(self, spec: nouns.AttributeSpec) -> nouns.AttributeValue:
        if spec.name in self._model.attributes:
            value = self._model.attributes[spec.name]
            return self._loader.attribute(spec.type, value, *self._keys, "attributes", spec.name)
        if spec.default is None:
            raise self._fail(f"the attribute {spec.name!r} has neither a value nor a default", "attributes")
        return spec.default

    def _output(
        self, spec: nouns.OutputSpec, inputs: Mapping[str, nouns.CaseInput]
    ) -> nouns.TensorShape | tuple[nouns.TensorShape, ...]:
        given = self._model.outputs.get(spec.name)
        if isinstance(given, list) != (spec.presence is nouns.Presence.DYNAMIC) and given is not None:
            raise self._fail("a dynamic output, and no other, is a list of shapes", "outputs", spec.name)
        if isinstance(given, list):
            return tuple(
                nouns.TensorShape(tuple(item.shape), item.dtype or self._dtype(spec, inputs, index))
                for index, item in enumerate(given)
            )
        if given is not None:
            return nouns.TensorShape(tuple(given.shape), given.dtype or self._dtype(spec, inputs, 0))
        if spec.shape_like is None:
            raise self._fail(
                f"the shape of output {spec.name!r} is missing", "outputs", remedy="give it, or shape_like"
            )
        like = self._tensors(spec.shape_like, inputs, lists=spec.presence is nouns.Presence.DYNAMIC)
        if spec.presence is nouns.Presence.DYNAMIC:
            return tuple(nouns.TensorShape(t.shape, self._dtype(spec, inputs, i)) for i, t in enumerate(like))
        return nouns.TensorShape(like[0].shape, self._dtype(spec, inputs, 0))

    def _dtype(self, spec: nouns.OutputSpec, inputs: Mapping[str, nouns.CaseInput], index: int) -> nouns.DType:
        if spec.dtype is not None:
            return spec.dtype
        like = self._tensors(str(spec.dtype_like), inputs)
        # A list of outputs may follow a single tensor, or a shorter list.
        return like[min(index, len(like) - 1)].dtype

    def _tensors(
        self, name: str, inputs: Mapping[str, nouns.CaseInput], *, lists: bool = False
    ) -> tuple[nouns.TensorShape, ...]:
        """The tensors of an input that an output follows; none only if the output is a list itself."""
        value = inputs[name]
        if value is None or (value == () and not lists):
            raise self._fail(f"an output follows the input {name!r}, which this case leaves out", "inputs")
        return (value.tensor,) if isinstance(value, nouns.TensorCase) else tuple(item.tensor for item in value)


def _values_problem(values: nouns.ValueSpec, tensor: nouns.TensorShape) -> str:
    """What is wrong with drawing ``values`` for ``tensor``, as far as one can tell without drawing; empty if
    nothing."""
    if tensor.dtype.is_exact and values.kind in FRACTIONAL:
        return f"{values.kind} draws fractions, which {tensor.dtype.value} cannot hold; use integers, choice or literal"
    if values.kind == "literal":
        count = len(values.args["values"])  # type: ignore[arg-type]
        if count != tensor.size:
            return f"literal gives {count} values for {tensor.size} elements"
    return ""


def _content_hash(task: nouns.Task, reference: str) -> str:
    """SHA-256 over the resolved definition, the golden files and the file of the reference, whose digest is given where
    it has one; the same wherever the files lie.

    Golden kernels of the launch track have no part in it: nothing that is asked, judged or measured is made of them.
    """
    definition = task_to_json(task)
    # A move to another folder, or a date, changes no score.
    for place in ("path", "content_hash", "created"):
        del definition[place]
    counted = (golden for golden in task.goldens if golden.track is not nouns.Track.LAUNCH)
    definition["goldens"] = {golden.track.value: golden_digest(golden) for golden in counted}
    # Left out where there is none, so that tasks whose reference is in a package have the hash of their definition.
    if reference:
        definition["reference_sha256"] = reference
    text = json.dumps(definition, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _join(names: object) -> str:
    return ", ".join(sorted(str(name) for name in names))  # type: ignore[attr-defined]
