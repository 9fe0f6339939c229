"""Tile programs of units that are gated by a half of their input: see :mod:`.programs`."""

from __future__ import annotations

from collections.abc import Mapping

from benchmarks.tile.written import FLOATS, Written

__all__ = ["GATES"]

_GE_GLU = """
T = float16, float32, bfloat16


@host
def plan(x, dim):
    axis = dim if dim >= 0 else dim + x.rank
    half = prod(x.shape[axis : x.rank]) // 2
    n = prod(x.shape[0:axis])
    pieces = max(1, ceil_div(vector_cores(), n))
    width = min(half, min(2048, max(512, round_up(ceil_div(half, pieces), 256))))
    cuts = ceil_div(half, width)
    share = max(1, ceil_div(n, vector_cores()))
    most = min(share, max(1, 2048 // round_up(width, 16))) if cuts == 1 else 1
    most = ceil_div(share, ceil_div(share, most)) if cuts == 1 else 1
    units = ceil_div(n, most) * cuts
    cores = max(1, min(units, vector_cores()))
    y.shape = x.shape[0:axis] + (x.shape[axis] // 2,) + x.shape[axis + 1 : x.rank]
    gelu.shape = x.shape[0:axis] + (x.shape[axis] // 2,) + x.shape[axis + 1 : x.rank]
    launch(cores=cores, n=n, half=half, width=width, cuts=cuts, most=most, units=units, step=cores)


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
        first = unit // cuts * most
        c = unit % cuts * width
        rows = min(most, n - first)
        cols = min(width, half - c)
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
T = float16, float32, bfloat16


@host
def plan(dy, x, dim):
    axis = dim if dim >= 0 else dim + x.rank
    half = prod(dy.shape[axis : dy.rank])
    n = prod(x.shape[0:axis])
    pieces = max(1, ceil_div(vector_cores(), n))
    width = min(half, min(2048, max(512, round_up(ceil_div(half, pieces), 256))))
    cuts = ceil_div(half, width)
    share = max(1, ceil_div(n, vector_cores()))
    most = min(share, max(1, 2048 // round_up(width, 16))) if cuts == 1 else 1
    most = ceil_div(share, ceil_div(share, most)) if cuts == 1 else 1
    units = ceil_div(n, most) * cuts
    cores = max(1, min(units, vector_cores()))
    dx.shape = x.shape
    launch(cores=cores, n=n, half=half, width=width, cuts=cuts, most=most, units=units, step=cores)


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
        first = unit // cuts * most
        c = unit % cuts * width
        rows = min(most, n - first)
        cols = min(width, half - c)
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
    "GeGluV2": Written(_GE_GLU.lstrip(), FLOATS, {"approximate": 0}),
    "GeGluGradV2": Written(_GE_GLU_GRAD.lstrip(), FLOATS, {"approximate": 0}),
}
