"""The files of a new task, by the way that was asked for."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from npukb_suites.signature import parse_attributes, parse_axes, parse_inputs, parse_outputs
from npukb_suites.sketching import all_axes, input_shapes, sketch_task
from npukb_suites.writing import task_text
from npukernelbench.errors import UsageError

__all__ = ["Made", "Wish", "fresh_task", "write_folder"]

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PLACE = re.compile(r"(?P<home>[^:]+):(?P<name>[A-Za-z_][\w.]*)")
_UNFINISHED = '''"""The right answer of {name}, to be written: see docs/tasks.md, References."""


def reference({arguments}):
    """Real floats come as float64, absent inputs as None; outputs are returned in their order, unrounded."""
    raise NotImplementedError("write the reference of {name}")
'''


@dataclass(frozen=True)
class Wish:
    """What the command line asks for."""

    name: str
    into: Path
    inputs: str = ""
    outputs: str = ""
    attributes: str = ""
    axes: str = ""
    reference: str | None = None
    torch_place: str | None = None
    init: str | None = None
    op_def: Path | None = None
    data: tuple[Path, ...] = ()
    script: str | None = None
    suite: str = "own"
    summary: str = ""


@dataclass(frozen=True)
class Made:
    """Texts by file name; ``unfinished`` says what is left to do."""

    files: Mapping[str, str | bytes]
    notes: tuple[str, ...] = ()
    unfinished: str = ""


def fresh_task(wish: Wish) -> Made:
    """The files. UsageError or TaskError, with field or place, for what cannot be."""
    if not _NAME.fullmatch(wish.name):
        raise UsageError(f"{wish.name!r} is no name", field="NAME", remedy="use letters, digits and _, a letter first")
    given = [("--torch", wish.torch_place), ("--op_def", wish.op_def), ("--reference", wish.reference)]
    named = [option for option, value in given if value]
    if "--torch" in named and len(named) > 1:
        raise UsageError(f"--torch and {named[1]} do not go together", field="--torch", remedy="give one of them")
    if wish.script and not wish.data:
        raise UsageError("--script says how --data came to be", field="--script", remedy="name its folder with --data")
    if wish.data:
        return _of_data(wish, named)
    if wish.torch_place:
        return _of_torch(wish, wish.torch_place)
    return _of_interface(wish)


def write_folder(folder: Path, files: Mapping[str, str | bytes]) -> Iterator[Path]:
    """Write the files into a new or empty folder. UsageError where there is something already."""
    # An empty folder may be there: a user may have made it for this.
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"{folder} is there already", field="--into", remedy="name a folder that is not")
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(text.encode() if isinstance(text, str) else text)
        yield folder / name


def _of_interface(wish: Wish) -> Made:
    """From options, or from an operator definition."""
    notes: tuple[str, ...] = ()
    if wish.op_def is not None:
        from npukb_suites.definitions import read_definition

        if wish.inputs or wish.outputs or wish.attributes:
            raise UsageError("--op_def and --inputs do not go together", field="--op_def", remedy="give one of them")
        operator, inputs, outputs, attributes = read_definition(wish.op_def)
        notes = (f"the interface is that of the definition of {operator}; shapes are guesses: see cases and hidden",)
    else:
        inputs = parse_inputs(wish.inputs)
        outputs = parse_outputs(wish.outputs, inputs)
        attributes = parse_attributes(wish.attributes)
    reference, unfinished = _reference(wish.reference, wish.into), ""
    files: dict[str, str] = {}
    if not reference:
        reference = "reference.py:reference"
        arguments = ", ".join((*(entry.name for entry in inputs), *(attribute.name for attribute in attributes)))
        files["reference.py"] = _UNFINISHED.format(name=wish.name, arguments=arguments)
        # A task without a reference can be looked at but not judged, so that the user is told what is missing.
        unfinished = f"write the right answer into {wish.into / 'reference.py'}, then npukb validate"
    task = sketch_task(
        wish.name,
        inputs,
        outputs,
        attributes,
        parse_axes(wish.axes),
        suite=wish.suite,
        summary=wish.summary or f"{wish.name}.",
        reference=reference,
    )
    return Made({"task.yaml": task_text(task), **files}, notes, unfinished)


def _of_data(wish: Wish, named: Sequence[str]) -> Made:
    """From recorded inputs and outputs."""
    from npukb_suites.definitions import read_definition
    from npukb_suites.recorded.drafting import recorded_task
    from npukb_suites.recorded.matching import Interface
    from npukb_suites.recorded.reading import read_records

    for option in named:
        if option != "--op_def":
            raise UsageError(f"--data and {option} do not go together", field="--data", remedy="give one of them")
    if wish.axes:
        raise UsageError("recorded data have the shapes that they have", field="--axes", remedy="leave it out")
    if wish.op_def is not None:
        _, inputs, outputs, attributes = read_definition(wish.op_def)
    else:
        inputs = parse_inputs(wish.inputs) if wish.inputs else ()
        outputs = parse_outputs(wish.outputs, inputs) if wish.outputs else ()
        attributes = parse_attributes(wish.attributes)
    interface = Interface(inputs, outputs, attributes, wish.name)
    records, notes = read_records(wish.data, wish.script, interface)
    summary = wish.summary or f"{wish.name}."
    files = recorded_task(wish.name, records, interface, suite=wish.suite, summary=summary)
    return Made(files, (*notes, "no hidden cases: the right answer is known for the recorded inputs alone"))


def _reference(place: str | None, folder: Path) -> str:
    """The reference as the task file names it: a file relative to its folder, or a module."""
    if place is None:
        return ""
    match = _PLACE.fullmatch(place)
    if match is None:
        raise UsageError(f"{place!r} names no function", field="--reference", remedy="write file.py:function")
    path = Path(match["home"])
    if not match["home"].endswith(".py") and Path(f"{match['home']}.py").is_file():
        path = Path(f"{match['home']}.py")
    elif not match["home"].endswith(".py"):
        # A module is left as it is: nobody knows whether the task's folder will lie beside it.
        return place
    if not path.is_file():
        raise UsageError(f"there is no file {path}", field="--reference", remedy="write file.py:function")
    # Relative, so that both can be moved together.
    return f"{os.path.relpath(path.resolve(), folder.resolve())}:{match['name']}"


def _of_torch(wish: Wish, place: str) -> Made:
    from npukb_suites.making import torch_task

    match = _PLACE.fullmatch(place)
    if match is None:
        raise UsageError(f"{place!r} names no function or class", field="--torch", remedy="write file.py:name")
    target: dict[str, Any] = {"name": match["name"]}
    if match["home"].endswith(".py"):
        path = Path(match["home"]).resolve()
        if not path.is_file():
            raise UsageError(f"there is no file {path}", field="--torch", remedy="write file.py:name")
        # The file may import what lies beside it.
        target |= {"file": str(path), "path": [str(path.parent)]}
    else:
        # As python -m looks for modules.
        target |= {"module": match["home"], "path": [str(Path.cwd())]}
    made = torch_task(
        wish.name,
        target=target,
        suite=wish.suite,
        summary=wish.summary,
        init=_init(wish.init),
        given=_given(wish, "full"),
        small=_given(wish, "smoke"),
        lists=_lists(wish),
    )
    return Made(made.files, made.notes)


def _lists(wish: Wish) -> dict[str, Any] | None:
    """What a tracer cannot tell of lists: which extents of their tensors vary, and how far."""
    tensors = parse_inputs(wish.inputs) if wish.inputs else ()
    if not any(tensor.listed for tensor in tensors):
        return None
    axes = all_axes(tensors, parse_axes(wish.axes))
    return {
        "axes": {name: [axis.low, axis.high, axis.multiple_of] for name, axis in axes.items()},
        "extents": {tensor.name: list(tensor.shape or ()) for tensor in tensors},
    }


def _init(text: str | None) -> dict[str, Any]:
    try:
        value = json.loads(text or "{}")
    except ValueError as error:
        raise UsageError(f"{text!r} is no JSON: {error}", field="--init", remedy='write {"dim": 1}') from None
    if not isinstance(value, dict):
        raise UsageError(f"{text!r} is no mapping", field="--init", remedy='write {"dim": 1}')
    return value


def _given(wish: Wish, profile: str) -> list[dict[str, Any]]:
    """Inputs that options state, with the extents of a profile; attributes behind them."""
    if not wish.inputs:
        return []
    if wish.outputs:
        raise UsageError("outputs are traced", field="--outputs", remedy="leave them out with --torch")
    tensors = parse_inputs(wish.inputs)
    shapes = input_shapes(tensors, parse_axes(wish.axes), profile)
    given: list[dict[str, Any]] = [
        {
            "name": tensor.name,
            "dtype": tensor.dtypes[0],
            "shapes" if tensor.listed else "shape": shapes[tensor.name],
        }
        for tensor in tensors
    ]
    for attribute in parse_attributes(wish.attributes):
        if attribute.default is None:
            raise UsageError(
                f"{attribute.name} has no value",
                field="--attributes",
                remedy=f"write {attribute.name}:{attribute.type}=VALUE",
            )
        given.append({"name": attribute.name, "value": attribute.default})
    return given
