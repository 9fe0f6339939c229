"""Element types of the language: their sizes, what they are called in C++, and what the vector unit computes in."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np

__all__ = ["ARITHMETIC", "DTYPES", "FLOATS", "DType", "numpy_dtype"]


class DType(NamedTuple):
    """One element type: bytes, device type, name in operator definitions."""

    itemsize: int
    cpp: str
    ge: str
    is_float: bool


DTYPES = {
    # The vector unit knows no type of its own for booleans: they are bytes of 0 and 1.
    "bool": DType(1, "uint8_t", "ge::DT_BOOL", False),
    "int8": DType(1, "int8_t", "ge::DT_INT8", False),
    "uint8": DType(1, "uint8_t", "ge::DT_UINT8", False),
    "int16": DType(2, "int16_t", "ge::DT_INT16", False),
    "int32": DType(4, "int32_t", "ge::DT_INT32", False),
    "int64": DType(8, "int64_t", "ge::DT_INT64", False),
    # No vector instruction computes in these: they are moved.
    "uint16": DType(2, "uint16_t", "ge::DT_UINT16", False),
    "uint32": DType(4, "uint32_t", "ge::DT_UINT32", False),
    "uint64": DType(8, "uint64_t", "ge::DT_UINT64", False),
    "float16": DType(2, "half", "ge::DT_FLOAT16", True),
    "bfloat16": DType(2, "bfloat16_t", "ge::DT_BF16", True),
    "float32": DType(4, "float", "ge::DT_FLOAT", True),
}
FLOATS = frozenset(name for name, dtype in DTYPES.items() if dtype.is_float)
#: What vector instructions compute in; everything else is cast first.
ARITHMETIC = frozenset({"float16", "float32", "int16", "int32"})


def numpy_dtype(name: str) -> np.dtype:
    """The NumPy type of an element type."""
    # NumPy has no bfloat16 by itself.
    import ml_dtypes
    import numpy as np

    return np.dtype(ml_dtypes.bfloat16) if name == "bfloat16" else np.dtype(name)
