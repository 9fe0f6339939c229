"""Was a float32 output computed in a narrower type? Told as a warning: a tolerance that lets it pass is the task's.

The sign, on a sample of elements: the values are numbers of the narrower type where the reference has others. Large
errors alone are none, since approximations make them too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from npukernelbench.nouns import DType

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from npukernelbench.nouns.execution import Array

__all__ = ["downgrade"]

_SAMPLE = 4096
_LEAST = 64
# A right reference may hold such numbers as well: integers, powers of two, zeros.
_NEARLY_ALL, _HALF_OF_THEM = 0.99, 0.5


class _Narrow(NamedTuple):
    """A narrower type: its name, and how many low bits of a float32 it leaves out."""

    name: str
    lost_bits: int


_NARROW = (_Narrow("bfloat16", 16), _Narrow("float16", 13))


def downgrade(actual: Array, expected: Array, dtype: DType) -> str:
    """What the values of a float32 output tell about the precision they were computed in; empty when nothing."""
    if dtype is not DType.FLOAT32:
        return ""
    import numpy as np

    step = max(1, actual.size // _SAMPLE)
    got = np.asarray(actual, np.float32).reshape(-1)[::step]
    want = np.asarray(expected, np.float64).reshape(-1)[::step]
    # The normal range of float16: beyond it the number of lost bits is another one.
    usual = np.isfinite(got) & np.isfinite(want) & (np.abs(want) >= 2.0**-14) & (np.abs(want) < 65504.0)
    got, want = got[usual], want[usual]
    if got.size < _LEAST:
        return ""
    # bfloat16 first: a value whose 16 low bits are zero fits float16 by this test as well.
    for narrow in _NARROW:
        if _share(got, narrow) >= _NEARLY_ALL and _share(want.astype(np.float32), narrow) < _HALF_OF_THEM:
            return f"nearly all values fit {narrow.name} exactly, those of the reference do not"
    return ""


def _share(values: NDArray[np.float32], narrow: _Narrow) -> float:
    """The share of values whose bits beyond the narrower type's are all zero."""
    import numpy as np

    low = np.uint32((1 << narrow.lost_bits) - 1)
    return float(np.mean((np.ascontiguousarray(values).view(np.uint32) & low) == 0))
