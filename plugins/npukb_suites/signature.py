"""Interfaces in one line each, as ``npukb new`` takes them.

Inputs: ``x:float16|float32[..], w:float32[d], m?:bool[n, d]``; ``..`` stands for any axes, ``?`` for an optional input.
Outputs: ``y:like(x)``, ``s:float32[n, 1]``, ``z:like(x)[n, d // 2]``, ``x_ref:inplace(x)``.
Lists of tensors stand in brackets: ``xs:[float16[n, d]]``; what is like one is one. ``count`` is how many there are.
Attributes: ``eps:float=1.0e-5, dims:list_int``.
Axes: ``n=1..4096, d=16..8192/16``, where ``/16`` says multiples of 16.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from npukernelbench.errors import UsageError
from npukernelbench.nouns import DType
from npukernelbench.tasks.extent import names
from npukernelbench.tasks.hidden_extents import COUNT, axes_of

__all__ = [
    "COUNT",
    "REST",
    "Attribute",
    "Axis",
    "Tensor",
    "parse_attributes",
    "parse_axes",
    "parse_inputs",
    "parse_outputs",
]

REST = "..."
_TENSOR = re.compile(
    r"(?P<name>[A-Za-z_]\w*)(?P<optional>\??):(?P<type>[\w|]+(\((?P<like>\w+)\))?)(\[(?P<shape>.*)\])?"
)
_LIST = re.compile(r"(?P<name>[A-Za-z_]\w*)(?P<optional>\??):\s*\[(?P<item>.*)\]")
_ATTRIBUTE = re.compile(r"(?P<name>[A-Za-z_]\w*):(?P<type>\w+)(=(?P<default>.+))?")
_AXIS = re.compile(r"(?P<name>[A-Za-z_]\w*)=(?P<low>\d+)\.\.(?P<high>\d+)(/(?P<multiple>\d+))?")
_TYPES = ("int", "float", "bool", "str", "list_int", "list_float")
_INPUT_EXAMPLE = "write for instance 'x:float16[n, d], w:float16[d]'"
_OUTPUT_EXAMPLE = "write for instance 'y:like(x), s:float32[n, 1]'"


@dataclass(frozen=True)
class Tensor:
    """One input or output. ``like`` is the input that an output follows in type, and without a shape in shape too;
    ``inplace`` says that it is written into that input's memory, ``listed`` that it is a list of such tensors.
    """

    name: str
    dtypes: tuple[str, ...]
    shape: tuple[int | str, ...] | None
    like: str = ""
    optional: bool = False
    inplace: bool = False
    listed: bool = False


@dataclass(frozen=True)
class Attribute:
    """One attribute; ``default`` None says that there is none."""

    name: str
    type: str
    default: object = None


@dataclass(frozen=True)
class Axis:
    """What an extent may be."""

    low: int
    high: int
    multiple_of: int = 1


def parse_inputs(text: str) -> tuple[Tensor, ...]:
    """The inputs. UsageError quotes what is wrong."""
    tensors = tuple(_tensor(part, "--inputs", _INPUT_EXAMPLE) for part in _parts(text))
    for tensor in tensors:
        if tensor.like:
            raise _wrong("--inputs", f"{tensor.name}: an input has element types of its own", _INPUT_EXAMPLE)
    _require_unlike(tensors, "--inputs")
    if not tensors:
        raise _wrong("--inputs", "there is none", _INPUT_EXAMPLE)
    _require_apart(tensors, "--inputs")
    return tensors


def parse_outputs(text: str, inputs: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """The outputs. UsageError quotes what is wrong."""
    known = {entry.name: entry for entry in inputs}
    tensors = tuple(_follow(_tensor(part, "--outputs", _OUTPUT_EXAMPLE), known) for part in _parts(text))
    if not tensors:
        raise _wrong("--outputs", "there is none", _OUTPUT_EXAMPLE)
    for tensor in tensors:
        if tensor.like and tensor.like not in known:
            raise _wrong(
                "--outputs", f"{tensor.name}: there is no input {tensor.like!r}", f"inputs are {', '.join(known)}"
            )
        if tensor.optional or (not tensor.like and tensor.shape is None) or len(tensor.dtypes) > 1:
            raise _wrong(
                "--outputs", f"{tensor.name}: an output has one type and a shape, or like(INPUT)", _OUTPUT_EXAMPLE
            )
        if tensor.inplace and tensor.shape is not None:
            raise _wrong("--outputs", f"{tensor.name}: what is written in place has its input's shape", _OUTPUT_EXAMPLE)
    taken = [tensor.like for tensor in tensors if tensor.inplace]
    for name in taken:
        if taken.count(name) > 1:
            raise _wrong("--outputs", f"two outputs are written into {name}", "write like(INPUT) for one of them")
    for tensor in tensors:
        if tensor.listed and not any(entry.listed for entry in inputs):
            raise _wrong("--outputs", f"{tensor.name}: no input is a list, whose length it could have", _OUTPUT_EXAMPLE)
        if tensor.listed and tensor.like and tensor.shape is None and not known[tensor.like].listed:
            message = f"{tensor.name}: {tensor.like} is one tensor, whose shape a list does not follow"
            raise _wrong("--outputs", message, f"give a shape: [like({tensor.like})[n, d]]")
    _require_apart((*inputs, *tensors), "--outputs")
    _require_unlike((*inputs, *tensors), "--outputs")
    return tensors


def parse_attributes(text: str) -> tuple[Attribute, ...]:
    """The attributes. UsageError quotes what is wrong."""
    example = "write for instance 'eps:float=1.0e-5, reduction:str=mean'"
    attributes = []
    for part in _parts(text):
        match = _ATTRIBUTE.fullmatch(part)
        if match is None or match["type"] not in _TYPES:
            raise _wrong("--attributes", f"{part!r} is no attribute; types are {', '.join(_TYPES)}", example)
        attributes.append(Attribute(match["name"], match["type"], _default(match["type"], match["default"], part)))
    return tuple(attributes)


def parse_axes(text: str) -> Mapping[str, Axis]:
    """The axes. UsageError quotes what is wrong."""
    result = {}
    for part in _parts(text):
        match = _AXIS.fullmatch(part.replace(" ", ""))
        axis = Axis(int(match["low"]), int(match["high"]), int(match["multiple"] or 1)) if match else None
        if match is None or axis is None or not 1 <= axis.low <= axis.high or axis.multiple_of < 1:
            raise _wrong("--axes", f"{part!r} is no axis", "write for instance 'n=1..4096, d=16..8192/16'")
        result[match["name"]] = axis
    return result


def _parts(text: str) -> Iterator[str]:
    """What commas outside of brackets separate."""
    depth, start = 0, 0
    for position, sign in enumerate(text):
        depth += {"[": 1, "(": 1, "]": -1, ")": -1}.get(sign, 0)
        if sign == "," and depth == 0:
            yield text[start:position].strip()
            start = position + 1
    if text[start:].strip():
        yield text[start:].strip()


def _follow(output: Tensor, inputs: Mapping[str, Tensor]) -> Tensor:
    """An output that is like a list is a list."""
    like = inputs.get(output.like)
    return replace(output, listed=True) if like is not None and like.listed else output


def _require_apart(tensors: Sequence[Tensor], option: str) -> None:
    """Extents differ from tensor to tensor of a list: a tensor that is alone cannot have them."""
    listed = {axis: entry.name for entry in tensors if entry.listed for axis in axes_of(entry.shape or ())}
    for entry in tensors:
        shared = [axis for axis in axes_of(entry.shape or ()) if axis in listed and axis != COUNT]
        if shared and not entry.listed:
            axis = ".." if shared[0] == REST else shared[0]
            message = f"{entry.name}: {axis} differs from tensor to tensor of the list {listed[shared[0]]}"
            raise _wrong(option, message, "name another axis, a number, or count for how many tensors there are")


def _tensor(part: str, option: str, example: str) -> Tensor:
    if match := _LIST.fullmatch(part):
        if match["optional"]:
            raise _wrong(option, f"{part!r}: a list is not optional", example)
        item = f"{match['name']}:{match['item']}"
        if not _TENSOR.fullmatch(item):
            raise _wrong(option, f"{part!r} is no tensor", example)
        return replace(_tensor(item, option, example), listed=True)
    match = _TENSOR.fullmatch(part)
    if match is None:
        raise _wrong(option, f"{part!r} is no tensor", example)
    shape = _shape(match["shape"], part, option, example) if match["shape"] is not None else None
    if match["like"]:
        if not match["type"].startswith(("like(", "inplace(")):
            raise _wrong(option, f"{part!r}: write like({match['like']}) or inplace({match['like']})", example)
        return Tensor(match["name"], (), shape, match["like"], inplace=match["type"].startswith("inplace("))
    known = {dtype.value for dtype in DType}
    dtypes = tuple(match["type"].split("|"))
    for dtype in dtypes:
        if dtype not in known:
            raise _wrong(
                option, f"{part!r}: there is no element type {dtype!r}", f"types are {', '.join(sorted(known))}"
            )
    # An input without a shape may have any.
    usual = (REST,) if option == "--inputs" else None
    return Tensor(match["name"], dtypes, usual if shape is None else shape, optional=bool(match["optional"]))


def _shape(text: str, part: str, option: str, example: str) -> tuple[int | str, ...]:
    extents: list[int | str] = []
    for extent in (item.strip() for item in text.split(",") if item.strip()):
        if extent in ("..", REST):
            extents.append(REST)
            continue
        try:
            # Called for its error: an extent is arithmetic over axes.
            names(extent)
        except ValueError as error:
            raise _wrong(option, f"{part!r}: {error}", example) from None
        extents.append(int(extent) if extent.isdigit() else extent)
    if extents.count(REST) > 1:
        raise _wrong(option, f"{part!r}: .. may appear once in a shape", example)
    return tuple(extents)


def _default(kind: str, text: str | None, part: str) -> object:
    # A text needs no quotes here, as it does in JSON.
    if text is None or kind == "str":
        return text
    try:
        value = json.loads(text.strip())
    except ValueError:
        raise _wrong(
            "--attributes", f"{part!r}: {text!r} is not of type {kind}", f"write {kind} as JSON has it"
        ) from None
    # Where a float is meant people write 1; a bool, which is an int to Python, stays what it is.
    return float(value) if kind == "float" and type(value) is int else value


def _require_unlike(tensors: Sequence[Tensor], option: str) -> None:
    names_ = [tensor.name for tensor in tensors]
    for name in names_:
        if names_.count(name) > 1:
            raise _wrong(option, f"the name {name!r} is given twice", "choose another")


def _wrong(option: str, message: str, remedy: str) -> UsageError:
    return UsageError(message, field=option, remedy=remedy)
