"""Activations followed by quantisation to int8. Quantised results are clipped to the type's range but not rounded."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from npukernelbench.reference.activation import gelu_by_name, swiglu
from npukernelbench.reference.arrays import Floats

__all__ = ["dequant_swiglu_quant", "gelu_quant"]


def gelu_quant(
    x: Floats, input_scale: Floats | None, input_offset: Floats | None, approximate: str, quant_mode: str
) -> tuple[Floats, Floats]:
    """GELU of ``x``, quantised to int8; scale and offset are single values or one per element of the last axis.

    ``static``: ``gelu * input_scale + input_offset``, and an empty ``out_scale``. ``dynamic``: with ``v = gelu *
    input_scale``, ``out_scale = max |v| / 127`` along the last axis, which keeps extent 1, and ``v / out_scale``.
    An absent scale is 1, an absent offset 0. Source: the GeluQuant page of the CANN operator documentation.
    """
    value = gelu_by_name(x, approximate)
    value = value if input_scale is None else value * input_scale
    if quant_mode == "dynamic":
        return _dynamic(value)
    if quant_mode != "static":
        raise ValueError(f"quant_mode must be static or dynamic, not {quant_mode!r}")
    return _clip(value if input_offset is None else value + input_offset), np.empty(0)


def dequant_swiglu_quant(
    x: NDArray[Any],
    weight_scale: Floats | None,
    activation_scale: Floats | None,
    bias: NDArray[Any] | None,
    quant_scale: Floats | None,
    quant_offset: Floats | None,
    group_index: NDArray[np.integer[Any]] | None,
    activate_left: bool,
    quant_mode: str,
) -> tuple[Floats, Floats]:
    """``silu(a) * b`` of the halves of ``(x + bias) * weight_scale * activation_scale``, quantised to int8.

    Consecutive groups of rows, ``group_index[g]`` of them, use row ``g`` of ``weight_scale``, ``quant_scale`` and
    ``quant_offset``; without ``group_index`` all rows use row 0. ``activation_scale`` holds one value per row of ``x``.
    ``a`` is the first half of the last axis if ``activate_left``, else the second. ``static``: ``v / quant_scale +
    quant_offset`` and an empty ``scale``. ``dynamic``: with ``w = v * quant_scale``, ``scale = max |w| / 127`` per row
    and ``w / scale``. What is absent is 1 or 0.
    """
    rows = x.shape[:-1]
    groups = None if group_index is None else np.repeat(np.arange(group_index.size), group_index)
    if groups is not None and groups.size != x.shape[0]:
        raise ValueError(f"group_index sums to {groups.size}, but x has {x.shape[0]} rows")

    def picked(table: Floats) -> Floats:
        wide = table.reshape(-1, table.shape[-1])
        chosen = wide[0] if groups is None else wide[groups]
        # A row of the table for each row of x, the same along its other axes.
        return np.asarray(chosen if groups is None else chosen.reshape(-1, *[1] * (x.ndim - 2), table.shape[-1]))

    # In double precision: x may be int32, whose sum with the bias could overflow there.
    value = x.astype(np.float64) if bias is None else x.astype(np.float64) + bias.astype(np.float64)
    value = value if weight_scale is None else value * picked(weight_scale)
    value = value if activation_scale is None else value * activation_scale.reshape(*rows, 1)
    # Turned by half of its extent, the second half is the one that `swiglu` activates.
    value = swiglu(value if activate_left else np.roll(value, x.shape[-1] // 2, axis=-1), -1)
    if quant_mode == "dynamic":
        y, scale = _dynamic(value if quant_scale is None else value * picked(quant_scale))
        # This operator's scale lacks the reduced axis, which that of `gelu_quant` keeps.
        return y, scale[..., 0]
    if quant_mode != "static":
        raise ValueError(f"quant_mode must be static or dynamic, not {quant_mode!r}")
    value = value if quant_scale is None else value / picked(quant_scale)
    return _clip(value if quant_offset is None else value + picked(quant_offset)), np.empty(0)


def _dynamic(value: Floats) -> tuple[Floats, Floats]:
    """``value / scale`` and ``scale = max |value| / 127`` along the last axis; a row of zeros stays zero.

    A row with NaN has the scale NaN and becomes zeros, as int8 has no NaN.
    """
    # 127 and not 128: a largest magnitude of either sign must fit into int8.
    scale = np.abs(value).max(axis=-1, keepdims=True) / 127.0
    # A row of zeros has scale 0.
    return _clip(np.divide(value, scale, out=np.zeros_like(value), where=scale > 0.0)), scale


def _clip(value: Floats) -> Floats:
    return np.clip(value, -128.0, 127.0)
