"""Where workspaces begin: one behind the other, in one piece of global memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import reduce

from npukb_tile.dtypes import DTYPES
from npukb_tile.fault import ProgramError
from npukb_tile.ir import Binary, Call, Expr, Kind, Num, OutputShape, Tensor, TensorRole

__all__ = ["place_name", "workspace_bytes", "workspace_places"]

#: Bytes that parts begin at multiples of.
_UNIT = 512


def place_name(tensor: Tensor) -> str:
    """The launch number that says where a workspace begins, in bytes."""
    return f"{tensor.name}At"


def workspace_bytes(tensor: Tensor, shapes: Sequence[OutputShape], types: Mapping[str, tuple[str, ...]]) -> Expr:
    """The bytes of a workspace."""
    itemsizes = {DTYPES[member].itemsize for member in types.get(tensor.dtype, (tensor.dtype,))}
    shape = next(candidate for candidate in shapes if candidate.tensor == tensor.name)
    extents = [part.extent for part in shape.shape if part.extent is not None and part.times is None]
    # The places of later workspaces follow from these bytes, and are numbers that the host function computes.
    if len(extents) != len(shape.shape) or len(itemsizes) > 1:
        raise ProgramError(
            "output_shape",
            f"the bytes of {tensor.name} are not known",
            line=shape.line,
            remedy=f"{tensor.name}.shape = (n, m), and element types of one size",
        )
    size: Expr = Num(itemsizes.pop(), Kind.INT, line=shape.line)
    return reduce(lambda left, right: Binary("*", left, right, Kind.INT, line=shape.line), [*extents, size])


def workspace_places(
    tensors: Iterable[Tensor], shapes: Sequence[OutputShape], types: Mapping[str, tuple[str, ...]]
) -> dict[str, Expr]:
    """By its name the place of every workspace but the first, which begins where the memory does."""
    places: dict[str, Expr] = {}
    behind: Expr | None = None
    for tensor in tensors:
        if tensor.role is not TensorRole.WORKSPACE:
            continue
        if behind is not None:
            places[place_name(tensor)] = behind
        unit = Num(_UNIT, Kind.INT, line=tensor.line)
        size = Call("round_up", (workspace_bytes(tensor, shapes, types), unit), Kind.INT, line=tensor.line)
        behind = size if behind is None else Binary("+", behind, size, Kind.INT, line=tensor.line)
    return places
