"""Tile programs of units that are gated by a half of their input: see :mod:`.programs`."""

from __future__ import annotations

from collections.abc import Mapping

from benchmarks.tile.written import FLOATS, Written, written

__all__ = ["GATES"]

_GE_GLU = """
def plan(x, dim):
    axis = dim if dim >= 0 else dim + x.rank
    half = prod(x.shape[axis : x.rank]) // 2
    n = prod(x.shape[0:axis])
    share_halves()
    y.shape = x.shape[0:axis] + (x.shape[axis] // 2,) + x.shape[axis + 1 : x.rank]
    gelu.shape = x.shape[0:axis] + (x.shape[axis] // 2,) + x.shape[axis + 1 : x.rank]
    launch_halves()


@kernel
def ge_glu_v2(x: Input[T], y: Output[T], gelu: Output[T], dim: Attribute[int] = -1, approximate: Attribute[int] = 0,
              activate_left: Attribute[bool] = True, *, n, half, width, cuts, most, units, step):
    gate = buffer(most, width, T, depth=2)
    linear = buffer(most, width, T, depth=2)
    wide = buffer(most, width, float32)
    result = buffer(most, width, T, depth=2)
    activated = buffer(most, width, T, depth=2)
    left = 0 if activate_left else half
    for unit in range(core(), units, step):
        first, c, rows, cols = extents_of_unit(half)
        with copy_in:
            load(gate, x[first * 2 * half + left + c], rows, cols, stride=2 * half)
            load(linear, x[first * 2 * half + half - left + c], rows, cols, stride=2 * half)
        with compute(rows, cols):
            wide[:] = float32(gate)
            wide[:] = (erf(wide * 0.7071067811865476) + 1.0) * wide * 0.5
            activated[:] = T(wide)
            result[:] = T(wide * float32(linear))
        with copy_out:
            store(y[first * half + c], result, rows, cols, stride=half)
            store(gelu[first * half + c], activated, rows, cols, stride=half)
"""

_GE_GLU_GRAD = """
def plan(dy, x, dim):
    axis = dim if dim >= 0 else dim + x.rank
    half = prod(dy.shape[axis : dy.rank])
    n = prod(x.shape[0:axis])
    share_halves()
    dx.shape = x.shape
    launch_halves()


@kernel
def ge_glu_grad_v2(dy: Input[T], x: Input[T], gelu: Input[T], dx: Output[T], dim: Attribute[int] = -1,
                   approximate: Attribute[int] = 1, activate_left: Attribute[bool] = False,
                   *, n, half, width, cuts, most, units, step):
    gradient = buffer(most, width, T, depth=2)
    gate = buffer(most, width, T, depth=2)
    linear = buffer(most, width, T, depth=2)
    activated = buffer(most, width, T, depth=2)
    at_gate = buffer(most, width, T, depth=2)
    at_linear = buffer(most, width, T, depth=2)
    wide = buffer(most, width, float32)
    slope = buffer(most, width, float32)
    wide_gradient = buffer(most, width, float32)
    left = 0 if activate_left else half
    for unit in range(core(), units, step):
        first, c, rows, cols = extents_of_unit(half)
        with copy_in:
            load(gradient, dy[first * half + c], rows, cols, stride=half)
            load(gate, x[first * 2 * half + left + c], rows, cols, stride=2 * half)
            load(linear, x[first * 2 * half + half - left + c], rows, cols, stride=2 * half)
            load(activated, gelu[first * half + c], rows, cols, stride=half)
        with compute(rows, cols):
            wide[:] = float32(gate)
            wide_gradient[:] = float32(gradient)
            at_linear[:] = T(wide_gradient * float32(activated))
            slope[:] = (erf(wide * 0.7071067811865476) + 1.0) * 0.5
            slope[:] = slope + exp(wide * wide * -0.5) * wide * 0.3989422804014327
            at_gate[:] = T(slope * wide_gradient * float32(linear))
        with copy_out:
            store(dx[first * 2 * half + left + c], at_gate, rows, cols, stride=2 * half)
            store(dx[first * 2 * half + half - left + c], at_linear, rows, cols, stride=2 * half)
"""

GATES: Mapping[str, Written] = {
    "GeGluV2": written(_GE_GLU, FLOATS, {"approximate": 0}),
    "GeGluGradV2": written(_GE_GLU_GRAD, FLOATS, {"approximate": 0}),
}
