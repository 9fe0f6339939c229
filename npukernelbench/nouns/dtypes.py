"""Data types of operator arguments and their names in each world: YAML, NumPy, Ascend C, GE."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import numpy as np


class _Facts(NamedTuple):
    itemsize: int
    ascend_c: str
    ge: str
    ge_number: int


class DType(str, Enum):
    """An element type. The value is its NumPy (or ml_dtypes) name, which is also its name in task files."""

    FLOAT16 = "float16"
    BFLOAT16 = "bfloat16"
    FLOAT32 = "float32"
    FLOAT64 = "float64"
    INT8 = "int8"
    INT16 = "int16"
    INT32 = "int32"
    INT64 = "int64"
    UINT8 = "uint8"
    UINT16 = "uint16"
    UINT32 = "uint32"
    UINT64 = "uint64"
    BOOL = "bool"
    COMPLEX64 = "complex64"
    COMPLEX128 = "complex128"

    @property
    def itemsize(self) -> int:
        """Bytes per element."""
        return _FACTS[self].itemsize

    @property
    def ascend_c(self) -> str:
        """Type name in Ascend C kernel source, for instance ``half``."""
        return _FACTS[self].ascend_c

    @property
    def ge(self) -> str:
        """Name in operator definitions, for instance ``DT_FLOAT16``."""
        return _FACTS[self].ge

    @property
    def ge_number(self) -> int:
        """The value of that name in the toolkit's interfaces, ``aclDataType`` among them."""
        return _FACTS[self].ge_number

    @property
    def is_float(self) -> bool:
        """Whether values are real floating point (complex is not)."""
        return self in (DType.FLOAT16, DType.BFLOAT16, DType.FLOAT32, DType.FLOAT64)

    @property
    def is_complex(self) -> bool:
        """Whether values are complex."""
        return self in (DType.COMPLEX64, DType.COMPLEX128)

    @property
    def is_exact(self) -> bool:
        """Whether values are integers or booleans, which are compared exactly."""
        return not (self.is_float or self.is_complex)

    def numpy(self) -> np.dtype[Any]:
        """The NumPy dtype; bfloat16 comes from ml_dtypes. NumPy is imported on first use only."""
        import numpy as np

        if self is DType.BFLOAT16:
            # NumPy has no bfloat16 of its own.
            import ml_dtypes

            bfloat16: np.dtype[Any] = np.dtype(ml_dtypes.bfloat16)
            return bfloat16
        dtype: np.dtype[Any] = np.dtype(self.value)
        return dtype


# Names and numbers as the vendor's documentation lists them, which its tools and libraries expect.
_FACTS: dict[DType, _Facts] = {
    DType.FLOAT16: _Facts(2, "half", "DT_FLOAT16", 1),
    DType.BFLOAT16: _Facts(2, "bfloat16_t", "DT_BF16", 27),
    DType.FLOAT32: _Facts(4, "float", "DT_FLOAT", 0),
    DType.FLOAT64: _Facts(8, "double", "DT_DOUBLE", 11),
    DType.INT8: _Facts(1, "int8_t", "DT_INT8", 2),
    DType.INT16: _Facts(2, "int16_t", "DT_INT16", 6),
    DType.INT32: _Facts(4, "int32_t", "DT_INT32", 3),
    DType.INT64: _Facts(8, "int64_t", "DT_INT64", 9),
    DType.UINT8: _Facts(1, "uint8_t", "DT_UINT8", 4),
    DType.UINT16: _Facts(2, "uint16_t", "DT_UINT16", 7),
    DType.UINT32: _Facts(4, "uint32_t", "DT_UINT32", 8),
    DType.UINT64: _Facts(8, "uint64_t", "DT_UINT64", 10),
    DType.BOOL: _Facts(1, "bool", "DT_BOOL", 12),
    DType.COMPLEX64: _Facts(8, "complex64", "DT_COMPLEX64", 16),
    DType.COMPLEX128: _Facts(16, "complex128", "DT_COMPLEX128", 17),
}
