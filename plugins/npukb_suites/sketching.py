"""A task out of a signature: cases over its axes, hidden shapes, limits by type.

A list has ``MEMBERS`` tensors in cases, each with extents of its own, which lists share place by place.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

from npukb_suites.naming import kernel_name
from npukb_suites.signature import COUNT, REST, Attribute, Axis, Tensor
from npukb_suites.tolerance import limits_for
from npukernelbench.errors import UsageError
from npukernelbench.tasks.extent import evaluate, names

__all__ = ["MEMBERS", "all_axes", "input_shapes", "sketch_task"]

#: How many tensors a list has in public cases.
MEMBERS = 4

#: Extents of named axes in the order in which they are met, and of the axes behind ``..``.
# Small extents that no block divides, so that a first look meets tails; large ones as models have them.
_USUAL = {"smoke": (7, 33, 5, 3), "full": (256, 512, 64, 16)}
_ANY = {
    "smoke": ((7, 301), (129,), (3, 5, 7), (1,)),
    "full": ((64, 4096), (1000,), (16, 33, 64), (1024, 128)),
}
_BESIDE_NAMED = {"smoke": ((3,), (), (2, 2), (1,)), "full": ((4,), (2,), (3, 3), ())}
_HIGHEST = {1: 1 << 18, 2: 4096, 3: 1024}
#: What a list, a number or a text without a default is in cases.
_VALUES = {"int": 1, "float": 1.0, "bool": False, "str": "", "list_int": [1], "list_float": [1.0]}


def sketch_task(
    name: str,
    inputs: Sequence[Tensor],
    outputs: Sequence[Tensor],
    attributes: Sequence[Attribute],
    axes: Mapping[str, Axis],
    *,
    suite: str,
    summary: str,
    reference: str,
) -> dict[str, Any]:
    """What ``task.yaml`` holds."""
    known = all_axes((*inputs, *outputs), axes)
    plain = all(entry.shape == (REST,) for entry in inputs) and all(
        output.like and output.shape is None for output in outputs
    )
    task: dict[str, Any] = {
        "name": name,
        "suite": suite,
        "level": 1,
        "category": "Custom",
        "version": 1,
        # The tag has a meaning: hidden cases of element-wise tasks follow from it.
        "tags": ["elementwise"] if plain else [],
        "kernel": kernel_name(name),
        "summary": summary,
        "interface": {
            "inputs": [_input(entry) for entry in inputs],
            "attributes": [_attribute(attribute) for attribute in attributes],
            "outputs": [_output(output) for output in outputs],
        },
        "reference": reference,
        "tolerance": {"limits": _limits(inputs, outputs)},
        "cases": list(_cases(inputs, outputs, attributes, known)),
    }
    # Tasks that are tagged elementwise have hidden cases without this section.
    if not plain:
        task["hidden"] = _hidden(inputs, outputs, attributes, known)
    return task


def input_shapes(inputs: Sequence[Tensor], axes: Mapping[str, Axis], profile: str) -> dict[str, list[Any]]:
    """The shape of every input in the case of a profile, ``full`` or ``smoke``; of a list, those of its tensors."""
    known = all_axes(inputs, axes)
    return {entry.name: _shapes(entry, known, profile) for entry in inputs}


def all_axes(tensors: Sequence[Tensor], axes: Mapping[str, Axis]) -> dict[str, Axis]:
    """The axes that shapes name, those that are stated among them. UsageError for one that no shape has."""
    shapes = [tensor.shape for tensor in tensors if tensor.shape is not None]
    used = {axis: None for shape in shapes for extent in shape if extent != REST for axis in names(extent)}
    # Of lists count says how many tensors there are, which nobody states as an axis.
    if any(tensor.listed for tensor in tensors):
        used.pop(COUNT, None)
    for axis in axes:
        if axis not in used:
            raise UsageError(f"no shape has the axis {axis!r}", field="--axes", remedy=f"axes are {', '.join(used)}")
    highest = _HIGHEST.get(len(used), 256)
    return {axis: axes.get(axis, Axis(1, highest, _divisor(axis, shapes))) for axis in used}


def _numbers(axes: Mapping[str, Axis], profile: str, member: int) -> dict[str, int]:
    """The extents of axes, in the tensors at one place of lists; those of single tensors are those of the first."""
    # Each place of a list begins one further on, so that its tensors differ.
    usual = itertools.islice(itertools.cycle(_USUAL[profile]), member, None)
    own = {axis: _extent(value, about) for (axis, value), about in zip(axes.items(), usual, strict=False)}
    return {**own, COUNT: MEMBERS} if COUNT not in axes else own


def _divisor(axis: str, shapes: Sequence[tuple[int | str, ...]]) -> int:
    """What an axis has to be a multiple of, where extents divide by it without a remainder."""
    # The least that works: a larger multiple would leave out extents that the operator takes.
    for step in (1, 2, 3, 4, 6, 8, 16, 32):
        if all(_fits(extent, axis, step) for shape in shapes for extent in shape if extent != REST):
            return step
    return 1


def _fits(extent: int | str, axis: str, step: int) -> bool:
    if axis not in names(extent):
        return True
    try:
        # Three multiples, as one may divide by chance.
        return all(evaluate(extent, dict.fromkeys(names(extent), step * count)) >= 0 for count in (1, 2, 3))
    except ValueError:
        return False


def _input(tensor: Tensor) -> dict[str, Any]:
    entry: dict[str, Any] = {"name": tensor.name, "dtypes": list(tensor.dtypes)}
    if tensor.optional or tensor.listed:
        entry["presence"] = "dynamic" if tensor.listed else "optional"
    exact = [dtype for dtype in tensor.dtypes if "float" not in dtype and "complex" not in dtype]
    spelled = {dtype: {"bernoulli": 0.5} if dtype == "bool" else {"integers": [0, 100]} for dtype in exact}
    # One generator for all types where one does; else whole numbers and booleans have their own.
    if len(exact) == len(tensor.dtypes) and len(set(map(str, spelled.values()))) == 1:
        entry["values"] = spelled[exact[0]]
    else:
        entry["values"] = {"normal": [0.0, 1.0]}
        if spelled:
            entry["values_for"] = spelled
    return entry


def _attribute(attribute: Attribute) -> dict[str, Any]:
    entry: dict[str, Any] = {"name": attribute.name, "type": attribute.type}
    return entry if attribute.default is None else {**entry, "default": attribute.default}


def _output(tensor: Tensor) -> dict[str, Any]:
    entry: dict[str, Any] = {"name": tensor.name, **({"presence": "dynamic"} if tensor.listed else {})}
    entry |= {"dtype_like": tensor.like} if tensor.like else {"dtype": tensor.dtypes[0]}
    if tensor.like and tensor.shape is None:
        entry["shape_like"] = tensor.like
    return {**entry, "alias_of": tensor.like} if tensor.inplace else entry


def _limits(inputs: Sequence[Tensor], outputs: Sequence[Tensor]) -> dict[str, Any]:
    by_name = {entry.name: entry for entry in inputs}
    dtypes = {dtype for output in outputs for dtype in (by_name[output.like].dtypes if output.like else output.dtypes)}
    result = {}
    for dtype in sorted(dtypes):
        if "float" in dtype or "complex" in dtype:
            atol, rtol = limits_for(dtype)
            result[dtype] = {"atol": atol, "rtol": rtol}
    return result


def _cases(
    inputs: Sequence[Tensor], outputs: Sequence[Tensor], attributes: Sequence[Attribute], axes: Mapping[str, Axis]
) -> Any:
    """A large case for every element type of the first input, and a small one."""
    kinds = [("full", position) for position in range(len(inputs[0].dtypes))] + [("smoke", 0)]
    for profile, position in kinds:
        entry: dict[str, Any] = {
            "id": "smoke" if profile == "smoke" else str(position),
            "inputs": {
                # An input with fewer types than the first one keeps its last.
                tensor.name: _each(tensor, axes, profile, dtype=tensor.dtypes[min(position, len(tensor.dtypes) - 1)])
                for tensor in inputs
            },
        }
        stated = {output.name: _each(output, axes, profile) for output in outputs if output.shape is not None}
        if stated:
            entry["outputs"] = stated
        needed = {attribute.name: _VALUES[attribute.type] for attribute in attributes if attribute.default is None}
        if needed:
            entry["attributes"] = needed
        yield {**entry, "profiles": [profile]}


def _extent(axis: Axis, about: int) -> int:
    """The multiple in the axis that is nearest to ``about``."""
    nearest = max(1, round(about / axis.multiple_of)) * axis.multiple_of
    # Rounded up: the least multiple that is not below the axis.
    lowest = -(-axis.low // axis.multiple_of) * axis.multiple_of
    highest = axis.high // axis.multiple_of * axis.multiple_of
    if highest < lowest:
        message = f"no multiple of {axis.multiple_of} is between {axis.low} and {axis.high}"
        raise UsageError(message, field="--axes", remedy="widen the range")
    return min(max(nearest, lowest), highest)


def _each(tensor: Tensor, axes: Mapping[str, Axis], profile: str, **same: str) -> Any:
    """A tensor of a case, or the list of them."""
    shapes = _shapes(tensor, axes, profile)
    return [{"shape": shape, **same} for shape in shapes] if tensor.listed else {"shape": shapes, **same}


def _shapes(tensor: Tensor, axes: Mapping[str, Axis], profile: str) -> list[Any]:
    """The extents of a tensor, or of each tensor of a list."""
    rest = (_BESIDE_NAMED if axes else _ANY)[profile]
    shapes = [
        _shape(tensor, _numbers(axes, profile, member), rest[member])
        for member in (range(MEMBERS) if tensor.listed else range(1))
    ]
    return shapes if tensor.listed else shapes[0]


def _shape(tensor: Tensor, numbers: Mapping[str, int], rest: tuple[int, ...]) -> list[int]:
    result: list[int] = []
    for extent in tensor.shape or ():
        if extent == REST:
            result += rest
            continue
        try:
            result.append(evaluate(extent, numbers))
        except ValueError as error:
            raise UsageError(
                f"{tensor.name}: {error}", field="--axes", remedy="state axes, such as 'd=16..4096/16'"
            ) from None
    return result


def _hidden(
    inputs: Sequence[Tensor], outputs: Sequence[Tensor], attributes: Sequence[Attribute], axes: Mapping[str, Axis]
) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "axes": {
            name: {"low": axis.low, "high": axis.high, "multiple_of": axis.multiple_of}
            if axis.multiple_of > 1
            else [axis.low, axis.high]
            for name, axis in axes.items()
        },
        "shapes": {tensor.name: list(tensor.shape or ()) for tensor in inputs},
    }
    stated = {output.name: list(output.shape) for output in outputs if output.shape is not None}
    if stated:
        entry["outputs"] = stated
    needed = {attribute.name: [_VALUES[attribute.type]] for attribute in attributes if attribute.default is None}
    return {**entry, "attributes": needed} if needed else entry
