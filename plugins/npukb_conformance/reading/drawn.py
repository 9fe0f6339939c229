"""Stand-ins for what a generator makes: a tensor has a shape, an element type and a distribution, where they are known.

Sums and products with a number keep uniform and normal distributions; everything else leaves a tensor without one.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from npukb_conformance.reading.evaluate import UNKNOWN, Functions, Unknown
from npukernelbench.nouns import DType, ValueSpec

__all__ = ["Drawn", "ElementTypes", "functions", "names"]

ElementTypes: Mapping[str, DType] = {
    **{dtype.value: dtype for dtype in DType},
    "float": DType.FLOAT32,
    "half": DType.FLOAT16,
    "double": DType.FLOAT64,
    "int": DType.INT32,
    "long": DType.INT64,
    "short": DType.INT16,
    "cfloat": DType.COMPLEX64,
}


@dataclass(frozen=True)
class Drawn:
    """A tensor. ``shape`` and ``dtype`` are None where unknown, ``values`` also where no generator of ours fits."""

    shape: tuple[int, ...] | None
    dtype: DType | None
    values: ValueSpec | None = None

    def __add__(self, other: object) -> Drawn:
        return self._scaled(1.0, other, other)

    __radd__ = __add__

    def __sub__(self, other: object) -> Drawn:
        return self._scaled(1.0, -other if isinstance(other, (int, float)) else other, other)

    def __rsub__(self, other: object) -> Drawn:
        return self._scaled(-1.0, other, other)

    def __mul__(self, other: object) -> Drawn:
        return self._scaled(other, 0.0, other)

    __rmul__ = __mul__

    def __truediv__(self, other: object) -> Drawn:
        return self._scaled(1.0 / other if isinstance(other, (int, float)) else other, 0.0, other)

    def _scaled(self, factor: object, offset: object, other: object) -> Drawn:
        """``self * factor + offset``; without a distribution unless both are numbers."""
        shape = _broadcast(self.shape, other.shape) if isinstance(other, Drawn) else self.shape
        if not isinstance(factor, (int, float)) or not isinstance(offset, (int, float)) or self.values is None:
            return Drawn(shape, self.dtype)
        kind, args = self.values.kind, self.values.args
        low, high = (float(x) for x in (*args.values(), 0, 0)[:2] if isinstance(x, (int, float)))
        if kind == "uniform":
            ends = sorted((low * factor + offset, high * factor + offset))
            return replace(self, values=ValueSpec(kind, {"low": ends[0], "high": ends[1]}))
        if kind == "normal":
            return replace(self, values=ValueSpec(kind, {"mean": low * factor + offset, "std": abs(high * factor)}))
        if kind == "constant":
            return replace(self, values=ValueSpec(kind, {"value": low * factor + offset}))
        return Drawn(shape, self.dtype)


def _broadcast(left: tuple[int, ...] | None, right: tuple[int, ...] | None) -> tuple[int, ...] | None:
    if left is None or right is None:
        return None
    wide, narrow = (left, right) if len(left) >= len(right) else (right, left)
    narrow = (1,) * (len(wide) - len(narrow)) + narrow
    return tuple(b if a == 1 else a for a, b in zip(wide, narrow, strict=True))


def names() -> Mapping[str, object]:
    """``torch.float16`` and its kin."""
    return {
        **{f"torch.{name}": dtype for name, dtype in ElementTypes.items()},
        **{f"np.{name}": dtype for name, dtype in ElementTypes.items()},
        "math.pi": math.pi,
        "np.pi": math.pi,
    }


def functions() -> Functions:
    """What generators call: constructors of tensors, and the conversions between Python's types."""
    return {
        "getattr": lambda _, name: ElementTypes.get(name, UNKNOWN),
        "eval": _literal,
        "ast.literal_eval": _literal,
        **{kind.__name__: kind for kind in (int, float, bool, len, tuple, list, str, range, max, min, sum, abs)},
        # As Python's own zip does, which stops at the shortest.
        "zip": lambda *lists: list(zip(*lists, strict=False)),
        "enumerate": lambda items: list(enumerate(items)),
        "np.prod": math.prod,
        "math.prod": math.prod,
        "torch.rand": _shaped(ValueSpec("uniform", {"low": 0.0, "high": 1.0})),
        "torch.randn": _shaped(ValueSpec("normal", {"mean": 0.0, "std": 1.0})),
        "torch.zeros": _shaped(ValueSpec("constant", {"value": 0})),
        "torch.ones": _shaped(ValueSpec("constant", {"value": 1})),
        "torch.empty": _shaped(None),
        "torch.randint": _randint,
        "torch.tensor": _tensor,
        "torch.abs": lambda item: Drawn(item.shape, item.dtype),
        "torch.sort": lambda item, *_, **__: (Drawn(item.shape, item.dtype), Drawn(item.shape, DType.INT64)),
        "torch.from_numpy": lambda item: item,
        "torch.complex": _complex,
        "np.random.rand": lambda *shape: Drawn(
            tuple(shape), DType.FLOAT64, ValueSpec("uniform", {"low": 0.0, "high": 1.0})
        ),
        "np.random.uniform": lambda low, high, shape: Drawn(
            _shape(shape), DType.FLOAT64, ValueSpec("uniform", {"low": float(low), "high": float(high)})
        ),
        ".uniform_": lambda item, low, high: replace(
            item, values=ValueSpec("uniform", {"low": float(low), "high": float(high)})
        ),
        ".astype": lambda item, dtype: replace(item, dtype=dtype if isinstance(dtype, DType) else None),
        ".to": _to,
        ".contiguous": lambda item: item,
        ".cpu": lambda item: item,
        ".lower": lambda text: text.lower(),
        ".strip": lambda text, *what: text.strip(*what),
        ".shape": lambda item: UNKNOWN if item.shape is None else item.shape,
        ".dtype": lambda item: UNKNOWN if item.dtype is None else item.dtype,
        ".dim": lambda item: len(item.shape),
        ".numel": lambda item: math.prod(item.shape),
        "[]=": lambda item: Drawn(item.shape, item.dtype) if isinstance(item, Drawn) else UNKNOWN,
    }


def _literal(text: object) -> object:
    return ast.literal_eval(text) if isinstance(text, str) else text


def _shape(given: object) -> tuple[int, ...] | None:
    extents = given if isinstance(given, (list, tuple)) else (given,)
    known = tuple(extent for extent in extents if isinstance(extent, int))
    return known if len(known) == len(extents) else None


def _dtype(given: object, usual: DType) -> DType | None:
    return usual if given is None else given if isinstance(given, DType) else None


def _shaped(values: ValueSpec | None) -> Callable[..., Drawn]:
    """A constructor that takes a shape: one list, or an extent after the other."""

    def make(
        *extents: object,
        dtype: object = None,
        device: object = None,  # noqa: ARG001
        size: object = None,
    ) -> Drawn:
        given = size if size is not None else extents[0] if len(extents) == 1 else list(extents)
        return Drawn(_shape(given), _dtype(dtype, DType.FLOAT32), values)

    return make


def _randint(*given: object, dtype: object = None, device: object = None, **named: object) -> Drawn:  # noqa: ARG001
    places = list(given)
    if "low" in named:
        places = [named["low"], named["high"], *places]
    elif "high" in named and len(places) < 2:
        places = [*places, named["high"]]
    size = named.get("size", places[-1] if isinstance(places[-1], (list, tuple)) else None)
    bounds = [place for place in places if isinstance(place, int)]
    low, high = (0, bounds[0]) if len(bounds) == 1 else bounds if len(bounds) == 2 else (None, None)
    if low is None or high is None:
        return Drawn(_shape(size), _dtype(dtype, DType.INT64))
    return Drawn(_shape(size), _dtype(dtype, DType.INT64), ValueSpec("integers", {"low": low, "high": high}))


def _tensor(values: object, dtype: object = None, device: object = None) -> Drawn | Unknown:  # noqa: ARG001
    if isinstance(values, (bool, int, float)):
        return Drawn((), _dtype(dtype, DType.FLOAT32), ValueSpec("constant", {"value": values}))
    flat = isinstance(values, (list, tuple)) and all(isinstance(number, (bool, int, float)) for number in values)
    if not flat or not isinstance(values, (list, tuple)):
        return UNKNOWN
    return Drawn((len(values),), _dtype(dtype, DType.FLOAT32), ValueSpec("literal", {"values": tuple(values)}))


def _complex(real: Drawn, imaginary: Drawn) -> Drawn:
    wide = DType.COMPLEX128 if real.dtype is DType.FLOAT64 else DType.COMPLEX64
    return Drawn(real.shape, wide, real.values if real.values == imaginary.values else None)


def _to(item: object, *given: object, dtype: object = None, device: object = None) -> object:  # noqa: ARG001
    if not isinstance(item, Drawn):
        return item
    chosen = next((value for value in (*given, dtype) if isinstance(value, DType)), item.dtype)
    return replace(item, dtype=chosen)
