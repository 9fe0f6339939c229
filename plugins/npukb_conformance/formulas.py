"""What the suite's own references compute where that is not what the operator's documentation says.

Tasks never use these. ``dispatch.yaml`` names them for kernels that were verified against them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from npukernelbench.reference.norm_grad import GroupNorm, group_norm_then_grad

__all__ = ["group_norm_swish_grad"]

_Floats = NDArray[np.float64]


def group_norm_swish_grad(
    dy: _Floats,
    mean: _Floats,
    rstd: _Floats,
    x: _Floats,
    gamma: _Floats,
    beta: _Floats,
    num_groups: int,
    data_format: str,  # noqa: ARG001
    swish_scale: float,
    dgamma_is_require: bool,
    dbeta_is_require: bool,
) -> tuple[_Floats, _Floats, _Floats]:
    """As the reference of the same name, without the factor ``swish_scale`` in the derivative of the sigmoid."""
    from scipy.special import expit

    factor = float(np.float32(swish_scale))

    def slope(z: _Floats) -> _Floats:
        return np.asarray(expit(factor * z) * (1.0 + z * expit(-factor * z)))

    dx, dgamma, dbeta = group_norm_then_grad(slope, dy, GroupNorm(mean, rstd, x, gamma, beta, num_groups))
    return dx, dgamma if dgamma_is_require else np.empty(0), dbeta if dbeta_is_require else np.empty(0)
