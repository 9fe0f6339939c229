"""Which file of a script is which tensor of an operator: by name, else by order."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from npukb_suites.naming import argument_name
from npukb_suites.recorded.application import Call
from npukb_suites.recorded.calling import bound, named_attributes
from npukb_suites.recorded.described import DESCRIPTION
from npukb_suites.recorded.records import Record
from npukb_suites.recorded.script import Written
from npukb_suites.recorded.toolcases import ToolCase, attributes_said
from npukb_suites.signature import Attribute, Tensor
from npukernelbench.errors import SourceLocation, TaskError
from npukernelbench.nouns import DType
from npukernelbench.tasks.select import fold

if TYPE_CHECKING:
    from npukernelbench.nouns.execution import Array

__all__ = ["Interface", "fitted", "record_of"]

#: What samples put around a tensor's name, and files that are no tensors of the operator.
_AROUND = re.compile(r"^(?:input|output|golden|expected?)_|_(?:gm|golden|data)$")
_NO_TENSOR = frozenset({"workspace", "tiling"})
_PYTHON: Mapping[str, type | tuple[type, ...]] = {
    "int": int,
    "float": (int, float),
    "bool": (bool, int),
    "str": str,
    "list_int": list,
    "list_float": list,
}


@dataclass(frozen=True)
class Interface:
    """What is known of the operator. Without names, those of the files are taken. ``name`` is the operator's."""

    inputs: tuple[Tensor, ...] = ()
    outputs: tuple[Tensor, ...] = ()
    attributes: tuple[Attribute, ...] = ()
    name: str = ""

    def __post_init__(self) -> None:
        for tensor in (*self.inputs, *self.outputs):
            if tensor.listed:
                raise TaskError(
                    f"{tensor.name} is a list of tensors, which recorded data do not have",
                    remedy="write the task with --inputs; lists stand in brackets there",
                )


@dataclass
class _Notes:
    """What was decided without being told."""

    lines: list[str] = field(default_factory=list)

    def say(self, line: str) -> None:
        if line not in self.lines:
            self.lines.append(line)


def record_of(
    name: str,
    folder: Path,
    written: Sequence[Written],
    calls: Sequence[Call],
    interface: Interface,
    stated: Mapping[str, Any],
    cases: Sequence[ToolCase] = (),
) -> tuple[Record, list[str]]:
    """The case that a script wrote, and notes. ``calls`` are those of an application that reads it, ``stated``
    attributes that a description says, ``cases`` tests of the operator that may say more.

    TaskError where files and tensors do not fit together.
    """
    notes = _Notes()
    outputs = [file for file in written if file.is_output]
    if not outputs:
        raise TaskError(
            "the script wrote no right answer: no file in a folder 'output', or with 'golden' in its name",
            location=SourceLocation(folder),
            remedy=f"describe the files in {DESCRIPTION}",
        )
    inputs = [file for file in written if not file.is_output]
    told = bound(calls, interface.name, interface.inputs, interface.attributes, interface.outputs)
    if told is not None and _reads(told.inputs.values(), inputs):
        right = _arrays(_paired(outputs, interface.outputs, folder, notes))
        # The script's answer in the application's shape: kernels see what the application declares.
        shaped = {mine: _shaped(array, told.outputs[mine]) for mine, array in right.items()}
        notes.say(f"inputs and attributes are those of the application's call of {told.call}")
        return Record(name, folder, told.inputs, shaped, {**told.attributes, **stated}), notes.lines
    taken = _arrays(_paired(inputs, interface.inputs, folder, notes))
    right = _arrays(_paired(outputs, interface.outputs, folder, notes))
    reading = [call for call in calls if _reads(call.arguments, inputs)]
    called = {mine: one for mine, one in named_attributes(reading, interface.attributes).items() if mine not in stated}
    for mine, (_, call) in called.items():
        notes.say(f"{mine} is the argument of that name in the application's call of {call}")
    known = {**{mine: value for mine, (value, _) in called.items()}, **stated}
    shapes = [None if array is None else array.shape for array in taken.values()]
    needed = [attribute.name for attribute in interface.attributes if attribute.default is None]
    said = attributes_said(cases, shapes, needed)
    # The variables at the last file, when the script has set most of them.
    attributes = _attributes(interface.attributes, outputs[-1].variables, known, said, notes)
    return Record(name, folder, taken, right, attributes), notes.lines


def _arrays(paired: Mapping[str, Written | None]) -> dict[str, Any]:
    return {mine: None if file is None else file.array for mine, file in paired.items()}


def _reads(values: Iterable[Any], written: Sequence[Written]) -> bool:
    """Whether an application reads the inputs that the script wrote: it may look for them elsewhere."""
    # By their bytes: the application may give them another shape than the script.
    given = {array.tobytes() for array in values if isinstance(array, np.ndarray)}
    return not written or any(file.array.tobytes() in given for file in written)


def _shaped(array: Any, like: Any) -> Any:
    """A right answer in the shape and the kind of number that the application gives its output."""
    if array is None or not isinstance(like, np.ndarray) or array.size != like.size:
        return array
    # NumPy's kind of bfloat16 is V: it is a type that ml_dtypes adds.
    both = array.dtype.kind == "f" and like.dtype.kind in "fV"
    return array.astype(like.dtype if both else array.dtype).reshape(like.shape)


def _paired(
    files: Sequence[Written], tensors: Sequence[Tensor], folder: Path, notes: _Notes
) -> dict[str, Written | None]:
    by_stem = {_stem(file.path): file for file in files}
    known = {fold(tensor.name) for tensor in tensors}
    rest = {stem: file for stem, file in by_stem.items() if fold(stem) in known or stem not in _NO_TENSOR}
    if not tensors:
        taken: set[str] = set()
        return {argument_name(stem, taken): file for stem, file in rest.items()}
    named = {fold(stem): file for stem, file in rest.items()}
    # Files beyond the tensors are left out only where each tensor has one of its name.
    every = all(fold(tensor.name) in named or tensor.optional for tensor in tensors)
    if len(named) == len(rest) and every and (set(named) <= known or len(rest) > len(tensors)):
        for stem, file in named.items():
            if stem not in known:
                notes.say(f"{file.path} is no tensor of the operator")
        return {tensor.name: named.get(fold(tensor.name)) for tensor in tensors}
    needed = [tensor for tensor in tensors if not tensor.optional]
    # As many files as tensors: optional ones are among them. Otherwise these are left out.
    taking = tensors if len(rest) == len(tensors) else needed
    if len(rest) != len(taking):
        listed = ", ".join(file.path for file in rest.values()) or "none"
        raise TaskError(
            f"{len(rest)} files ({listed}) for {', '.join(tensor.name for tensor in tensors)}",
            location=SourceLocation(folder),
            remedy=f"describe the files in {DESCRIPTION}",
        )
    pairs = dict(zip((tensor.name for tensor in taking), rest.values(), strict=True))
    for mine, file in pairs.items():
        if fold(_stem(file.path)) != fold(mine):
            notes.say(f"{file.path} is taken for {mine}, by order")
    return {tensor.name: pairs.get(tensor.name) for tensor in tensors}


def _attributes(
    attributes: Sequence[Attribute],
    variables: Mapping[str, Any],
    stated: Mapping[str, Any],
    said: Mapping[str, tuple[Any, str]],
    notes: _Notes,
) -> dict[str, Any]:
    """Stated values, then those of the script's variables of the same name, then those of test cases, then defaults."""
    # Reversed, so that of several variables with one folded name the innermost function's stays.
    own = {fold(name): value for name, value in reversed(list(variables.items()))}
    result: dict[str, Any] = dict(stated)
    for attribute in attributes:
        value, (other, case) = own.get(fold(attribute.name)), said.get(fold(attribute.name), (None, ""))
        if attribute.name in stated:
            continue
        if value is not None and isinstance(value, _PYTHON[attribute.type]):
            result[attribute.name] = _converted(value, attribute.type)
            notes.say(f"{attribute.name} is the script's variable of that name")
        elif other is not None and isinstance(other, _PYTHON[attribute.type]):
            result[attribute.name] = _converted(other, attribute.type)
            notes.say(f"{attribute.name} is {other} as in {case}")
        elif attribute.default is not None:
            notes.say(f"{attribute.name} has its default, {attribute.default}: no variable of the script has that name")
        else:
            raise TaskError(
                f"nothing says what the attribute {attribute.name} is",
                remedy=f"write 'attributes: {{{attribute.name}: …}}' into {DESCRIPTION} beside the data",
            )
    return result


def fitted(record: Record, interface: Interface) -> Record:
    """The record in the element types of the interface: bytes that were written as another type of the same size, such
    as bool as int8 or bfloat16 as uint16, are taken for what they are, and integers of another size are converted
    where all of them fit, as an interface in front of the operator does. TaskError where no type fits.
    """
    by_name = {tensor.name: tensor for tensor in (*interface.inputs, *interface.outputs)}

    def fit(name: str, array: Array | None) -> Array | None:
        tensor = by_name.get(name)
        dtypes = () if tensor is None else by_name[tensor.like].dtypes if tensor.like else tensor.dtypes
        if array is None or not dtypes or array.dtype.name in dtypes:
            return array
        # Floats say what they are; whole numbers may stand for the bits of another type.
        bits = array.dtype.kind in "biu"
        same = [DType(one) for one in dtypes if bits and DType(one).itemsize == array.dtype.itemsize]
        if not same and array.dtype.kind in "iu":
            wholes = (kind for kind in (DType(one).numpy() for one in dtypes) if kind.kind in "iu")
            converted = (array.astype(kind) for kind in wholes)
            # Numbers that do not fit come back as others.
            found = next((one for one in converted if np.array_equal(one, array)), None)
            if found is not None:
                return found
        if not same:
            message = f"{name} was written as {array.dtype.name}, and the operator has {', '.join(dtypes)}"
            raise TaskError(message, location=SourceLocation(record.folder))
        return array.view(same[0].numpy())

    inputs = {name: fit(name, array) for name, array in record.inputs.items()}
    outputs = {name: fit(name, array) for name, array in record.outputs.items()}
    known = {name: array for name, array in outputs.items() if array is not None}
    return Record(record.name, record.folder, inputs, known, record.attributes)


def _stem(path: str) -> str:
    # Twice, as names have a word in front and behind: input_x_gm.
    return _AROUND.sub("", _AROUND.sub("", Path(path).stem)) or Path(path).stem


def _converted(value: Any, kind: str) -> Any:
    if kind == "list_float":
        return [float(item) for item in value]
    return {"int": int, "float": float, "bool": bool, "str": str, "list_int": list}[kind](value)
