"""Cases that a CPU can afford: an outer axis cut down, everything inside it kept.

Tiling is driven by shapes, so a smaller case may take another path through a kernel; what decides most (row lengths,
ranks, element types, list lengths) stays as it was. Every scaled case is named in the report.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import lcm, prod
from typing import NamedTuple

from npukb_conformance.tensors import all_tensors, input_tensors, with_tensors
from npukernelbench.nouns import Case, TensorShape
from npukernelbench.nouns.machine import DEFAULT_MACHINE

__all__ = ["MOST_ELEMENTS", "Scaled", "elements", "outer_axis", "scale", "shorter", "whole"]

#: A case whose inputs hold more elements than this together is scaled.
MOST_ELEMENTS = 32 << 20
#: A tensor with fewer elements than this share of the limit is never what makes a case large.
_SMALL_SHARE = 32
#: Extents are cut by multiples of these, the first that costs little: what is left over when rows are dealt out to 40
#: cores, or to those of the default machine, stays the same.
_CORES = (lcm(40, DEFAULT_MACHINE.vector_cores), DEFAULT_MACHINE.vector_cores, 8)
#: How much of the extent that would fit may be lost to that.
_LOSS = 0.25


class Scaled(NamedTuple):
    """A case, and the sizes of its largest tensor before and after; equal when nothing was cut."""

    case: Case
    before: tuple[int, ...]
    after: tuple[int, ...]

    @property
    def is_smaller(self) -> bool:
        """Whether anything was cut."""
        return self.before != self.after


def elements(case: Case) -> int:
    """How many elements the inputs hold together."""
    return sum(input_tensor.size for input_tensor in input_tensors(case))


def whole(case: Case) -> Scaled:
    """The case as it stands."""
    largest = max(input_tensors(case), key=lambda tensor: tensor.size, default=None)
    shape = largest.shape if largest else ()
    return Scaled(case, shape, shape)


def scale(case: Case, *, limit: int = MOST_ELEMENTS, along: Sequence[str] = ()) -> Scaled:
    """The case with at most ``limit`` input elements.

    The outer axis of a tensor is the first one longer than 1. The outer axes of all large tensors are cut by one
    factor; a tensor of the same rank that has the same extent there is cut with it, such as a mean per row, and so are
    the tensors in ``along``, whatever their rank. ValueError when an outer axis is too short to get below the limit.
    """
    if elements(case) <= limit:
        return whole(case)
    largest = max(input_tensors(case), key=lambda tensor: tensor.size)
    large = {tensor.shape for tensor in all_tensors(case) if tensor.size > limit // _SMALL_SHARE}
    # Small tensors keep their size, so that the budget is for the large ones alone.
    small = sum(input_tensor.size for input_tensor in input_tensors(case) if input_tensor.shape not in large)
    budget, load = limit - small, elements(case) - small
    # By rank, axis and extent: tensors that agree in these are taken to share the axis.
    outers = {(len(shape), axis := outer_axis(shape), shape[axis]) for shape in large}
    # In whole numbers: a float would round products beyond 2^53.
    cuts = {outer: shorter(outer[2], outer[2] * budget // load) for outer in outers}
    if any(extent < 1 for extent in cuts.values()):
        raise ValueError(f"case {case.id!r} cannot be scaled below {limit} elements along its outer axis")
    extents = {before: after for (_, _, before), after in cuts.items()}

    def cut(name: str, tensor: TensorShape) -> TensorShape:
        return replace(tensor, shape=_cut(tensor.shape, cuts, extents if name in along else {}))

    scaled = with_tensors(case, cut)
    return Scaled(scaled, largest.shape, _cut(largest.shape, cuts, {}))


def shorter(extent: int, most: int) -> int:
    """An extent of at most ``most`` that leaves the same rest over cores as ``extent``, where that is near."""
    for cores in _CORES:
        # The largest extent up to `most` that is congruent to the old one.
        nearest = most - (most - extent) % cores
        if nearest >= max(1, most * (1 - _LOSS)):
            return nearest
    return most


def _cut(shape: tuple[int, ...], cuts: dict[tuple[int, int, int], int], extents: dict[int, int]) -> tuple[int, ...]:
    # Nothing can be cut of a scalar or of a tensor without elements.
    if not shape or not prod(shape):
        return shape
    axis = outer_axis(shape)
    extent = cuts.get((len(shape), axis, shape[axis]), extents.get(shape[axis], shape[axis]))
    return (*shape[:axis], extent, *shape[axis + 1 :])


def outer_axis(shape: tuple[int, ...]) -> int:
    """The first axis longer than 1; the first one where there is none."""
    return next((axis for axis, extent in enumerate(shape) if extent > 1), 0)
