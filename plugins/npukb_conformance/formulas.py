"""What the suite's own references compute where that is not what the operator's documentation says.

Tasks never use these. ``dispatch.yaml`` names them for kernels that were verified against them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from npukernelbench.reference.arrays import Floats
from npukernelbench.reference.norm_grad import GroupNorm, group_norm_then_grad

__all__ = ["addcdiv", "addcdiv_list", "group_norm_swish_grad", "sub_list"]

_Rounding = Callable[[Floats], Floats]


def addcdiv(input_data: Floats, x1: Floats, x2: Floats, value: Floats) -> Floats:
    """As the reference of the same name; on float16 every operation rounds, as it does between tensors of that type."""
    return _addcdiv(input_data, x1, x2, value.reshape(()))


def addcdiv_list(x1: Sequence[Floats], x2: Sequence[Floats], x3: Sequence[Floats], scalars: Floats) -> list[Floats]:
    """The same for lists, with a scalar for each tensor."""
    return [_addcdiv(*tensors) for tensors in zip(x1, x2, x3, scalars, strict=True)]


def sub_list(x1: Sequence[Floats], x2: Sequence[Floats], alpha: Floats) -> list[Floats]:
    """As the reference of the same name; on float16 every operation rounds."""
    pairs = ((a, b, _rounding(a, b)) for a, b in zip(x1, x2, strict=True))
    return [rounded(a - rounded(b * alpha.reshape(()))) for a, b, rounded in pairs]


def _addcdiv(x: Floats, numerator: Floats, denominator: Floats, factor: Floats) -> Floats:
    rounded = _rounding(x, numerator, denominator)
    return rounded(x + rounded(rounded(numerator / denominator) * factor))


def _rounding(*tensors: Floats) -> _Rounding:
    """What an operation on these tensors does to its result. They come in double precision, and tell their type by
    their values: float16 has bits that bfloat16 lacks, and lacks most that float32 has.
    """
    half = all(np.array_equal(tensor, _as_half(tensor)) for tensor in tensors)
    brain = all(not np.any(tensor.astype(np.float32).view(np.uint32) & 0xFFFF) for tensor in tensors)
    return _as_half if half and not brain else np.asarray


def _as_half(values: Floats) -> Floats:
    return values.astype(np.float16).astype(np.float64)


def group_norm_swish_grad(
    dy: Floats,
    data_format: str,  # noqa: ARG001
    swish_scale: float,
    dgamma_is_require: bool,
    dbeta_is_require: bool,
    **normalised: Any,
) -> tuple[Floats, Floats, Floats]:
    """As the reference of the same name, without the factor ``swish_scale`` in the derivative of the sigmoid."""
    from scipy.special import expit

    factor = float(np.float32(swish_scale))

    def slope(z: Floats) -> Floats:
        # 1 - sigmoid(x) is sigmoid(-x), which loses no digits for large x.
        return np.asarray(expit(factor * z) * (1.0 + z * expit(-factor * z)))

    dx, dgamma, dbeta = group_norm_then_grad(slope, dy, GroupNorm(**normalised))
    return dx, dgamma if dgamma_is_require else np.empty(0), dbeta if dbeta_is_require else np.empty(0)
