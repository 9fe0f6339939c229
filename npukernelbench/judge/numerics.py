"""Measuring how far an output is from the reference: one pass over both, in pieces that stay in the cache.

Errors are differences to the float64 (or complex128) reference, never to a rounded one. The first tier of every piece
is one subtraction and one maximum: where that maximum is finite, no NaN or infinity is on either side, and where it is
within the absolute limit, no element can be outside. Only pieces that fail this look at their elements one by one.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from npukernelbench.nouns import DType, ToleranceLimits

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from npukernelbench.nouns.execution import Array

__all__ = ["DEFAULT_LIMITS", "FLOATS", "Allowance", "ErrorStats", "FloatFormat", "measure", "refused"]

# Elements of a piece: 256 KiB in double precision.
_CHUNK = 1 << 15
_EXPONENT_BITS = 0x7FF0000000000000


class FloatFormat(NamedTuple):
    """What the policies need to know of an element type.

    ``digits``: bits after the leading one. ``tiny``: smallest normal number. ``small``: added to ``|expected|`` in
    relative errors. ``threshold``: limit of the mean relative error in the ``cann`` policy.
    """

    digits: int
    tiny: float
    small: float
    threshold: float


_SINGLE = FloatFormat(23, 2.0**-126, 1e-7, 2.0**-13)
_DOUBLE = FloatFormat(52, 2.0**-1022, 1e-15, 2.0**-40)

# docs/metrics.md says where thresholds and `small` come from.
FLOATS: dict[DType, FloatFormat] = {
    DType.FLOAT16: FloatFormat(10, 2.0**-14, 2.0**-14, 2.0**-10),
    DType.BFLOAT16: FloatFormat(7, 2.0**-126, 1e-7, 2.0**-7),
    DType.FLOAT32: _SINGLE,
    DType.FLOAT64: _DOUBLE,
    DType.COMPLEX64: _SINGLE,
    DType.COMPLEX128: _DOUBLE,
}

#: Limits of ``pcl`` where the task states none: twice what rounding a right result once may cost, 1e-5 for float32.
DEFAULT_LIMITS: dict[DType, ToleranceLimits] = {
    DType.FLOAT16: ToleranceLimits(2.0**-10, 2.0**-10),
    DType.BFLOAT16: ToleranceLimits(2.0**-8, 2.0**-8),
    DType.FLOAT32: ToleranceLimits(1e-5, 1e-5),
    DType.FLOAT64: ToleranceLimits(1e-12, 1e-12),
    DType.COMPLEX64: ToleranceLimits(1e-5, 1e-5),
    DType.COMPLEX128: ToleranceLimits(1e-12, 1e-12),
}


class Allowance(NamedTuple):
    """The error one element may have: ``max(atol, rtol·(|expected| + small), units·ulp(expected))``."""

    atol: float = 0.0
    rtol: float = 0.0
    small: float = 0.0
    units: float = 0.0

    def limit(self, scale: NDArray[np.float64], step: NDArray[np.float64]) -> NDArray[np.float64]:
        """Allowed error per element; ``scale`` is |expected|, ``step`` the distance of neighbouring numbers there."""
        import numpy as np

        allowed = (scale + self.small) * self.rtol if self.small else scale * self.rtol
        if self.units:
            np.maximum(allowed, step * self.units, out=allowed)
        return np.maximum(allowed, self.atol, out=allowed)


@dataclass(slots=True)
class ErrorStats:
    """What one pass found. Errors are over elements that are finite on both sides; all values are finite.

    ``non_finite`` counts elements where one side has a NaN or infinity that the other has not. ``outside`` holds one
    count of finite elements per allowance asked for.
    """

    outside: list[int]
    size: int = 0
    non_finite: int = 0
    max_abs: float = 0.0
    max_rel: float = 0.0
    sum_rel: float = 0.0
    max_ulp: float = 0.0

    @property
    def mean_rel(self) -> float:
        """Mean relative error; 0 for an empty tensor."""
        return min(self.sum_rel / self.size, sys.float_info.max) if self.size else 0.0


def measure(actual: Array, expected: Array, dtype: DType, allowances: tuple[Allowance, ...]) -> ErrorStats:
    """Errors of ``actual`` (element type ``dtype``) against ``expected`` (float64 or complex128, same shape)."""
    import numpy as np

    stats = ErrorStats([0] * len(allowances))
    got, want = actual.reshape(-1), _reference(expected, dtype)
    with np.errstate(all="ignore"):
        for start in range(0, got.size, _CHUNK):
            piece = slice(start, start + _CHUNK)
            _measure_piece(stats, got[piece], want[piece], dtype, allowances)
    return stats


def refused(actual: Array, expected: Array, dtype: DType, allowance: Allowance) -> NDArray[np.bool_]:
    """Which elements are outside ``allowance`` or disagree about being finite; flat. For explanations."""
    import numpy as np

    got, want = actual.reshape(-1), _reference(expected, dtype)
    wrong = np.zeros(got.size, np.bool_)
    with np.errstate(all="ignore"):
        for start in range(0, got.size, _CHUNK):
            piece = slice(start, start + _CHUNK)
            mine, theirs = _widen(got[piece], dtype), want[piece]
            error, scale = np.abs(mine - theirs), np.abs(theirs)
            both, disagree = _finiteness(mine, theirs, dtype)
            wrong[piece] = disagree | (both & (error > allowance.limit(scale, _step(scale, FLOATS[dtype]))))
    return wrong


def _reference(expected: Array, dtype: DType) -> NDArray[np.float64]:
    """``expected`` flat and in double precision. Complex values keep their type: the arithmetic below serves both."""
    import numpy as np

    wide = np.complex128 if dtype.is_complex else np.float64
    return np.ascontiguousarray(expected, dtype=wide).reshape(-1)


def _widen(values: Array, dtype: DType) -> NDArray[np.float64]:
    import numpy as np

    return values.astype(np.complex128 if dtype.is_complex else np.float64)


def _measure_piece(
    stats: ErrorStats, actual: Array, want: NDArray[np.float64], dtype: DType, allowances: tuple[Allowance, ...]
) -> None:
    import numpy as np

    got = _widen(actual, dtype)
    stats.size += got.size
    error = np.abs(got - want)
    if not np.isfinite(error.max()):
        both, disagree = _finiteness(got, want, dtype)
        stats.non_finite += int(np.count_nonzero(disagree))
        error, want = error[both], want[both]
        if not error.size:
            return
    _accumulate(stats, error, want, FLOATS[dtype], allowances)


def _accumulate(
    stats: ErrorStats,
    error: NDArray[np.float64],
    want: NDArray[np.float64],
    form: FloatFormat,
    allowances: tuple[Allowance, ...],
) -> None:
    """Add finite elements to ``stats``."""
    import numpy as np

    worst = float(error.max())
    if worst == 0.0:
        return
    scale = np.abs(want)
    step = _step(scale, form)
    for i, allowance in enumerate(allowances):
        if worst > allowance.atol:
            stats.outside[i] += int(np.count_nonzero(error > allowance.limit(scale, step)))
    # In place, so that the piece stays in the cache; `error` goes last, since both quotients are made of it.
    np.divide(error, step, out=step)
    # Only now: the allowances above are of the unchanged scale.
    scale += form.small
    np.divide(error, scale, out=error)
    stats.max_abs = _largest(stats.max_abs, worst)
    stats.max_ulp = _largest(stats.max_ulp, float(step.max()))
    stats.max_rel = _largest(stats.max_rel, float(error.max()))
    stats.sum_rel += float(error.sum())


def _largest(before: float, now: float) -> float:
    # A quotient may overflow, and JSON has no infinity.
    return min(max(before, now), sys.float_info.max)


def _step(scale: NDArray[np.float64], form: FloatFormat) -> NDArray[np.float64]:
    """Distance between neighbouring numbers of the format at ``scale``: its power of two, times 2^-digits."""
    import numpy as np

    # Without sign and mantissa a double is the power of two at or below it.
    power = (scale.view(np.int64) & _EXPONENT_BITS).view(np.float64)
    # Below the smallest normal number the distance stays the same.
    np.maximum(power, form.tiny, out=power)
    power *= 2.0**-form.digits
    return power


def _finiteness(
    got: NDArray[np.float64], want: NDArray[np.float64], dtype: DType
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Elements finite on both sides, and elements that disagree.

    Agreement is NaN with NaN, infinity with the same infinity, and infinity where the reference is finite but beyond
    the largest number of the type.
    """
    import numpy as np

    both = np.isfinite(got) & np.isfinite(want)
    rounded = want.astype(dtype.numpy()).astype(want.dtype)
    agree = both | (got == want) | (got == rounded) | (np.isnan(got) & np.isnan(want))
    return both, ~agree
