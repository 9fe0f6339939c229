"""The high-level library in NumPy and SciPy: what its functions compute, in float64 on the exact inputs."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from npukernelbench.nouns import DType
from tests.twin.rows import TYPES

FOLDER = Path(__file__).resolve().parents[2] / "plugins/npukb_twin/include/twin"

Array = NDArray[Any]


class Function(NamedTuple):
    """A row of the library's table."""

    kind: str
    name: str
    dtypes: tuple[DType, ...]


def functions() -> list[Function]:
    """The table of element-wise library functions as headers and runtime read it."""
    text = (FOLDER / "library.def").read_text(encoding="utf-8")
    rows = re.findall(r"^NPUKB_LIBRARY_(\w+)\((\w+), ([\w| ]+), \d+, \w+\)$", text, re.M)
    return [Function(kind, name, tuple(TYPES[t.strip()] for t in types.split("|"))) for kind, name, types in rows]


def scratch() -> set[str]:
    """Functions whose scratch has a size."""
    text = (FOLDER / "scratch.def").read_text(encoding="utf-8")
    return set(re.findall(r"^NPUKB_SCRATCH(?:_WHOLE)?\((\w+), \d+, \d+\)$", text, re.M))


def _gelu(x: Array) -> Array:
    return np.asarray(x / (1 + np.exp(-np.sqrt(8 / np.pi) * (x + 0.044715 * x**3))))


def _faster_gelu_v2(x: Array) -> Array:
    inner = -0.1444 * (np.minimum(np.abs(0.7071 * x), 1.769) - 1.769) ** 2 + 0.5
    return np.asarray(x * (np.where(x + 1e-12 < 0, -1, 1) * inner + 0.5))


def _digamma(x: Array) -> Array:
    """SciPy's, but for -0."""
    return np.asarray(np.where(x == 0, np.copysign(np.inf, -x), special.digamma(x)))


UNARY: Mapping[str, Callable[[Array], Array]] = {
    "Acos": np.arccos,
    "Acosh": np.arccosh,
    "Asin": np.arcsin,
    "Asinh": np.arcsinh,
    "Atan": np.arctan,
    "Atanh": np.arctanh,
    "Ceil": np.ceil,
    "Cos": np.cos,
    "Cosh": np.cosh,
    "Digamma": _digamma,
    "Erf": special.erf,
    "Erfc": special.erfc,
    "Exp": np.exp,
    "FasterGelu": lambda x: x / (1 + np.exp(-1.702 * x)),
    "FasterGeluV2": _faster_gelu_v2,
    "Floor": np.floor,
    "Frac": lambda x: x - np.trunc(x),
    "Gelu": _gelu,
    "Lgamma": lambda x: np.where(np.isinf(x), np.inf, special.gammaln(x)),
    "Log": np.log,
    "Log10": np.log10,
    "Log2": np.log2,
    "Round": np.rint,
    "Sigmoid": special.expit,
    "Sign": lambda x: np.where(np.isnan(x), 0, np.sign(x)),
    "Silu": lambda x: x / (1 + np.exp(-x)),
    "Sin": np.sin,
    "Sinh": np.sinh,
    "Tan": np.tan,
    "Tanh": np.tanh,
    "Trunc": np.trunc,
}
BINARY: Mapping[str, Callable[[Array, Array], Array]] = {
    "Fmod": np.fmod,
    "GeGLU": lambda a, b: a * _gelu(b),
    "Power": np.power,
    "ReGlu": lambda a, b: a * np.where((b > 0) | np.isnan(b), b, 0),
}


def rounded(values: Array, dtype: DType) -> Array:
    """float64 results as ``dtype``, rounded once."""
    with np.errstate(all="ignore"):
        return np.asarray(values).astype(dtype.numpy())


def evaluate(name: str, *operands: Array) -> Array:
    """What ``name`` computes, in float64."""
    wide = [x.astype(np.float64) for x in operands]
    with np.errstate(all="ignore"):
        return np.asarray(UNARY[name](*wide) if len(wide) == 1 else BINARY[name](*wide))
