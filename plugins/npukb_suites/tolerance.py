"""Limits for a task that nobody has set limits for: by element type, operations and the longest sum.

A kernel may round after every operation, in single precision unless the type is wider, and once into the type of the
output. Sums of n terms lose some sqrt(n) roundings. Near zero, where terms cancel, an error counts against the size of
the whole output. Where torch's own arithmetic in the type is known to miss by more, it gets as much and a half.
"""

from __future__ import annotations

from math import sqrt

__all__ = ["limits_for"]

_ROUNDING = {"float16": 2.0**-11, "bfloat16": 2.0**-8, "float32": 2.0**-24, "float64": 2.0**-53}
_WORKING = {"float64": 2.0**-53, "complex128": 2.0**-53}
#: Roundings of one operation: library functions are less exact than additions.
_PER_OPERATION = 8


def limits_for(
    dtype: str, *, operations: int = 4, reduced: int = 1, size: float = 1.0, error: float = 0.0
) -> tuple[float, float]:
    """Absolute and relative limit for outputs of ``dtype``, whose typical magnitude is ``size``; ``error`` is what
    torch's arithmetic needs of a relative limit."""
    own = _ROUNDING.get(dtype, 2.0**-24)
    work = _WORKING.get(dtype, 2.0**-24)
    # Roundings of a long sum are of either sign, so that they grow by the square root of their number.
    relative = max(own + work * (_PER_OPERATION * max(operations, 1) + sqrt(reduced)), 1.5 * error)
    # Outputs that are all zeros have no size.
    return _two_digits(relative * (size or 1.0)), _two_digits(relative)


def _two_digits(value: float) -> float:
    """Rounded up to two digits."""
    from math import ceil, floor, log10

    # The place of the second digit: limits are rounded up, never to less than what is needed.
    step = 10.0 ** (floor(log10(value)) - 1)
    return float(f"{ceil(value / step) * step:.1e}")
