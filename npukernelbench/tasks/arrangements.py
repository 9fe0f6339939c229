"""Generators of numbers that stand in a relation to each other: different ones, ascending ones, a fixed count of them.

Each takes a random generator, its parameters and a shape, and returns int64 or float64; ``inputs`` gives the result the
element type. ValueError when the shape cannot hold what is asked for.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from npukernelbench.nouns import AttributeValue

__all__ = ["ARRANGEMENTS"]

_Args = Mapping[str, "AttributeValue"]
_Shape = tuple[int, ...]


def _subset(rng: np.random.Generator, args: _Args, shape: _Shape) -> NDArray[np.int64]:
    """Exactly ``count`` ones at random places, zeros elsewhere."""
    size, count = math.prod(shape), _integer(args, "count")
    if count > size:
        raise ValueError(f"subset: there are {size} places for {count} ones")
    chosen = np.zeros(size, np.int64)
    chosen[rng.permutation(size)[:count]] = 1
    return chosen.reshape(shape)


def _group_ends(rng: np.random.Generator, args: _Args, shape: _Shape) -> NDArray[np.int64]:
    """Ascending ends of groups that cover ``total`` items; groups may be empty, the last one is not."""
    size, total = math.prod(shape), _integer(args, "total")
    if size == 0:
        raise ValueError("group_ends: there is no group")
    # Cuts are below `total`, so that the last group has at least one item.
    ends = np.append(np.sort(rng.integers(0, total, size=size - 1)), total)
    return ends.astype(np.int64).reshape(shape)


def _distinct(rng: np.random.Generator, args: _Args, shape: _Shape) -> NDArray[np.int64]:
    """Different integers from ``low`` up to ``high``, exclusive, in random order."""
    low, high = _integer(args, "low"), _integer(args, "high")
    size = math.prod(shape)
    if size > high - low:
        raise ValueError(f"distinct: there are {high - low} numbers for {size} elements")
    return (low + rng.permutation(high - low)[:size]).astype(np.int64).reshape(shape)


def _distinct_along(rng: np.random.Generator, args: _Args, shape: _Shape) -> NDArray[np.float64]:
    """Multiples of ``step``, from ``low`` up to ``high`` times it, exclusive, different along ``axis``.

    The range is cut into as many parts as the axis has elements; every line has one number out of each, in random
    order.
    """
    low, high, axis = _integer(args, "low"), _integer(args, "high"), _integer(args, "axis")
    if not -len(shape) <= axis < len(shape):
        raise ValueError(f"distinct_along: a tensor of rank {len(shape)} has no axis {axis}")
    axis %= len(shape)
    extent = shape[axis]
    if extent > high - low:
        raise ValueError(f"distinct_along: there are {high - low} numbers for {extent} elements")
    others = (*shape[:axis], *shape[axis + 1 :])
    # An axis without elements has no parts.
    cuts = low + np.arange(extent + 1) * (high - low) // max(extent, 1)
    drawn = rng.permuted(rng.integers(cuts[:-1], cuts[1:], size=(math.prod(others), extent)), axis=1)
    lines = drawn.reshape(*others, extent) * _number(args, "step")
    # Moving an axis gives a view with other strides, but kernels read memory as it lies.
    return np.ascontiguousarray(np.moveaxis(lines, -1, axis))


def _repeated_rows(rng: np.random.Generator, args: _Args, shape: _Shape) -> NDArray[np.int64]:
    """Rows of digits from 0 up to ``base``, exclusive, of which exactly ``count`` are different."""
    base, count = _integer(args, "base"), _integer(args, "count")
    if len(shape) != 2 or not count <= min(shape[0], base ** shape[1]) or (shape[0] and not count):
        raise ValueError(f"repeated_rows: a tensor of shape {list(shape)} cannot have {count} different rows")
    rows, width = shape
    codes = _different_codes(rng, base**width, count)
    repeats = rng.integers(0, count, size=rows - count) if rows > count else np.empty(0, np.int64)
    # Every code occurs once, and the rest of the rows repeat codes: `count` different rows, neither more nor fewer.
    places = rng.permutation(np.concatenate([np.arange(count), repeats]))
    digits = codes[places][:, np.newaxis] // base ** np.arange(width - 1, -1, -1, dtype=np.int64) % base
    return np.asarray(digits, dtype=np.int64).reshape(shape)


def _different_codes(rng: np.random.Generator, limit: int, count: int) -> NDArray[np.int64]:
    """``count`` different integers below ``limit``, which may be far too large to enumerate."""
    # A permutation holds every number below the limit, which is too much memory for large ones. There, numbers that are
    # drawn twice are so rare that drawing again costs little.
    if limit <= 1 << 20:
        return rng.permutation(limit)[:count].astype(np.int64)
    # A dict keeps the order of drawing, which has to be the same on every machine; a set does not.
    drawn: dict[int, None] = {}
    while len(drawn) < count:
        drawn.update(dict.fromkeys(rng.integers(0, limit, size=count - len(drawn)).tolist()))
    return np.array(list(drawn), dtype=np.int64)


def _integer(args: _Args, name: str) -> int:
    return int(_number(args, name))


def _number(args: _Args, name: str) -> float:
    value = args[name]
    if isinstance(value, (int, float)):
        return value
    raise ValueError(f"{name} must be a number, not {value!r}")


#: Generators by the name that task files use.
ARRANGEMENTS: Mapping[str, Callable[[np.random.Generator, _Args, _Shape], NDArray[Any]]] = {
    "subset": _subset,
    "group_ends": _group_ends,
    "distinct": _distinct,
    "distinct_along": _distinct_along,
    "repeated_rows": _repeated_rows,
}
