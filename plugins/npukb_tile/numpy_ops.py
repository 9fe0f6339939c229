"""What the operations on tiles mean, in NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from npukb_tile.dtypes import numpy_dtype
from npukb_tile.fault import ProgramError
from npukb_tile.ir import TileOp
from npukb_tile.limits import MOST_SORTED

__all__ = ["apply"]

Array = np.ndarray[Any, np.dtype[Any]]


def _special(name: str) -> Callable[[Any], Any]:
    """A function of SciPy, which is imported when it is called first."""

    def compute(x: Any) -> Any:
        from scipy import special

        return getattr(special, name)(x)

    return compute


_UNARY: dict[str, Callable[[Any], Any]] = {
    "abs": np.abs,
    "exp": np.exp,
    "ln": np.log,
    "sqrt": np.sqrt,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "reciprocal": lambda x: 1 / x,
    "relu": lambda x: np.maximum(x, 0),
    "neg": np.negative,
    "acos": np.arccos,
    "acosh": np.arccosh,
    "asin": np.arcsin,
    "asinh": np.arcsinh,
    "atan": np.arctan,
    "atanh": np.arctanh,
    "ceil": np.ceil,
    "cos": np.cos,
    "cosh": np.cosh,
    "erf": _special("erf"),
    "erfc": _special("erfc"),
    "floor": np.floor,
    "frac": lambda x: x - np.trunc(x),
    "round": np.rint,
    "sign": np.sign,
    "sin": np.sin,
    "sinh": np.sinh,
    "tan": np.tan,
    "tanh": np.tanh,
    "trunc": np.trunc,
    "sigmoid": _special("expit"),
    "log2": np.log2,
    "log10": np.log10,
}
_BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "max": np.maximum,
    "min": np.minimum,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "eq": np.equal,
    "ne": np.not_equal,
    "and": np.logical_and,
    "or": np.logical_or,
}
_REDUCE: dict[str, Callable[..., Any]] = {"sum": np.sum, "max": np.max, "min": np.min, "prod": np.prod}
_ROUND: dict[str, Callable[[Any], Any]] = {
    "rint": np.rint,
    "floor": np.floor,
    "ceil": np.ceil,
    "trunc": np.trunc,
    # Ties away from zero, for which NumPy has no function.
    "round": lambda x: np.copysign(np.floor(np.abs(x) + 0.5), x),
}


def apply(node: TileOp, values: list[Any], dtype: str, rows: int, cols: int) -> Any:
    """The result of one operation, rounded to its element type. ``rows`` and ``cols`` are the extents of the block."""
    op = node.op
    if op == "cast":
        return _cast(values[0], dtype, node.mode)
    if op == "iota":
        return np.arange(cols, dtype=np.int32)[None, :]
    if op == "iota_rows":
        return np.arange(rows, dtype=np.int32)[:, None]
    if op == "argsort":
        return _order(values[0], node.line)
    if op == "gather":
        shift = int(values[2]) if len(values) > 2 else 0
        return _gather(values[0], values[1] + shift, node.line)
    if op == "shift":
        return _shift(values[0], int(values[1]), values[2])
    if op == "not":
        return np.logical_not(values[0])
    if op == "where":
        result = np.where(*values)
    elif op.startswith(("row_", "col_")):
        # The order in which a core adds is its own; sums in double agree with all of them.
        result = _REDUCE[op[4:]](values[0].astype(np.float64), axis=1 if op.startswith("row") else 0, keepdims=True)
    elif len(values) == 1:
        result = _UNARY[op](_wide(values[0]))
    else:
        result = _BINARY[op](*_pair(values[0], values[1]))
    # Rounded after every operation, as the device stores each result in its element type.
    return result if dtype == "mask" else np.asarray(result).astype(numpy_dtype(dtype))


def _wide(value: Any) -> Any:
    """Half types in float32, as NumPy has no functions of its own for all of them."""
    return value.astype(np.float32) if value.dtype.itemsize == 2 and value.dtype.kind != "i" else value


def _pair(left: Any, right: Any) -> tuple[Any, Any]:
    """Both operands in one type: scalars take that of the tile."""
    # A Python number beside an array has rules of its own, which differ between NumPy 1 and 2.
    if isinstance(left, np.ndarray) and not isinstance(right, np.ndarray):
        return left, left.dtype.type(right)
    if isinstance(right, np.ndarray) and not isinstance(left, np.ndarray):
        return right.dtype.type(left), right
    return left, right


def _cast(value: Array, dtype: str, mode: str) -> Any:
    to = numpy_dtype(dtype)
    if value.dtype == np.bool_ or dtype == "bool":
        return (value != 0).astype(to)
    if to.kind in "iu" and value.dtype.kind not in "iu":
        bounds = np.iinfo(to)
        # Casts saturate on the device, and turn NaN into 0; NumPy leaves both undefined.
        rounded = np.nan_to_num(_ROUND[mode or "rint"](value.astype(np.float64)), nan=0.0)
        # Apart, since 2^63 - 1 is no float: cut to the next one, a number would still be too large for int64.
        large = rounded >= float(bounds.max)
        return np.where(large, bounds.max, np.maximum(np.where(large, 0.0, rounded), bounds.min).astype(to)).astype(to)
    return value.astype(to)


def _gather(source: Array, places: Array, line: int) -> Array:
    flat, wanted = source.reshape(-1), places.reshape(-1)
    if wanted.size and (wanted.min() < 0 or wanted.max() >= flat.size):
        raise ProgramError(
            "out_of_bounds",
            f"gather reads places {wanted.min()} to {wanted.max()} of {flat.size}",
            line=line,
            remedy="load what is gathered from with all it needs",
        )
    return flat[wanted][None, :]


def _order(values: Array, line: int) -> Array:
    """Places from the largest element to the smallest; NaN before all, equal ones in their order."""
    if values.size > MOST_SORTED:
        raise ProgramError(
            "limit",
            f"{values.size} elements to sort, at most {MOST_SORTED}",
            line=line,
            remedy="sort parts, and choose among the best of each",
        )
    row = values.reshape(-1)
    # lexsort sorts by its last key first, and is stable: NaN before numbers, then from the largest down.
    return np.lexsort((-np.nan_to_num(row, nan=0.0, posinf=np.inf, neginf=-np.inf), ~np.isnan(row)))[None, :].astype(
        np.int32
    )


def _shift(source: Array, distance: int, fill: Any) -> Array:
    moved = np.full_like(source, fill)
    cols = source.shape[1]
    if 0 <= distance < cols:
        moved[:, distance:] = source[:, : cols - distance]
    elif -cols < distance < 0:
        moved[:, :distance] = source[:, -distance:]
    return moved
