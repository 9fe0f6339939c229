"""Tile programs of operators that normalise rows, whole rows at a time: see :mod:`.programs`."""

from __future__ import annotations

from collections.abc import Mapping

from benchmarks.tile.written import FLOATS, SINGLE, Written, program, written

__all__ = ["NORMS"]

_ADD_LAYER_NORM = """
def plan(x1, gamma):
    share_rows(x1, most=(4096 if x1.itemsize == 2 else 2048))
    y.shape = x1.shape
    mean.shape = x1.shape[0 : x1.rank - 1] + (1,)
    rstd.shape = x1.shape[0 : x1.rank - 1] + (1,)
    x.shape = x1.shape
    launch_rows()


@kernel
def NAME(x1: Input[T], x2: Input[T], gamma: Input[T], beta: Input[T], bias: Input[T],
                   y: Output[T], mean: Output[float32], rstd: Output[float32], x: Output[T],
                   epsilon: Attribute[float] = 1.0e-5, additional_output: Attribute[bool] = False,
                   *, n, d, share, most, part):
    first_term = buffer(most, d, T, depth=2)
    second_term = buffer(most, d, T, depth=2)
    weights = buffer(d, T)
    shifts = buffer(d, T)
    biases = buffer(d, T)
    scale = buffer(d, float32)
    shift_by = buffer(d, float32)
    bias_row = buffer(d, float32)
    total, means, factor, result = tiles_of_rows()
    sum_out = buffer(most, d, T, depth=2)
    with copy_in as read_weights:
        load(weights, gamma[0], d)
        load(shifts, beta[0], d)
        load(biases, bias[0], d)
    with compute(1, d) as widen_weights:
        scale[:] = float32(weights)
        shift_by[:] = float32(shifts)
        bias_row[:] = float32(biases)
    for first, rows in own_rows():
        with copy_in:
            load(first_term, x1[first * d], rows, d)
            load(second_term, x2[first * d], rows, d)
        with compute(rows, d) as normalise:
            total[:] = float32(first_term) + float32(second_term) + bias_row
            sum_out[:] = T(total)
            normalise_total()
        with copy_out:
            store(y[first * d], result, rows, d)
            store(x[first * d], sum_out, rows, d)
            store_statistics()
"""


def _add_layer_norm(kernel: str) -> Written:
    """For one bias of all rows, and with the sum as an output."""
    source = program(_ADD_LAYER_NORM, FLOATS).replace("NAME", kernel)
    return Written(source, FLOATS, {"additional_output": True}, ("bias",), {"bias": 4096})


_LAYER_NORM = """
def plan(x, gamma):
    share_rows(x, most=4096)
    y.shape = x.shape
    mean.shape = x.shape[0 : x.rank - 1] + (1,)
    rstd.shape = x.shape[0 : x.rank - 1] + (1,)
    launch_rows()


@kernel
def layer_norm_v4(x: Input[T], normalized_shape: Input[int32], gamma: Input[T], beta: Input[T],
                  y: Output[T], mean: Output[float32], rstd: Output[float32], epsilon: Attribute[float] = 1.0e-5,
                  *, n, d, share, most, part):
    given = buffer(most, d, T, depth=2)
    weights = buffer(d, T)
    shifts = buffer(d, T)
    scale = buffer(d, float32)
    shift_by = buffer(d, float32)
    total, means, factor, result = tiles_of_rows()
    with copy_in as read_weights:
        load(weights, gamma[0], d)
        load(shifts, beta[0], d)
    with compute(1, d) as widen_weights:
        scale[:] = float32(weights)
        shift_by[:] = float32(shifts)
    for first, rows in own_rows():
        with copy_in:
            load(given, x[first * d], rows, d)
        with compute(rows, d) as normalise:
            total[:] = float32(given)
            normalise_total()
        with copy_out:
            store(y[first * d], result, rows, d)
            store_statistics()
"""

_PRE_LAYER_NORM = """
def plan(x, gamma):
    share_rows(x, most=2048)
    res_out.shape = x.shape
    launch_rows()


@kernel
def pre_layer_norm(x: Input[float32], y: Input[float32], gamma: Input[float32], beta: Input[float32],
                   res_out: Output[float32], epsilon: Attribute[float], *, n, d, share, most, part):
    first_term = buffer(most, d, float32, depth=2)
    second_term = buffer(most, d, float32, depth=2)
    scale = buffer(d, float32)
    shift_by = buffer(d, float32)
    total = buffer(most, d, float32)
    result = buffer(most, d, float32, depth=2)
    with copy_in as read_weights:
        load(scale, gamma[0], d)
        load(shift_by, beta[0], d)
    for first, rows in own_rows():
        with copy_in:
            load(first_term, x[first * d], rows, d)
            load(second_term, y[first * d], rows, d)
        with compute(rows, d) as normalise:
            total[:] = first_term + second_term
            total[:] = total - row_sum(total) * part
            result[:] = total * (1.0 / sqrt(row_sum(total * total) * part + epsilon)) * scale + shift_by
        with copy_out:
            store(res_out[first * d], result, rows, d)
"""

_RMS_NORM_GRAD = """
def plan(dy, gamma):
    share_rows_and_columns(dy, most=2048)
    dx.shape = dy.shape
    dgamma.shape = gamma.shape
    sums.shape = (used * d,)
    launch_rows_and_columns()


@kernel
def rms_norm_grad(dy: Input[T], x: Input[T], rstd: Input[float32], gamma: Input[float32], dx: Output[T],
                  dgamma: Output[float32], sums: Workspace[float32], *, n, d, share, used, most, cut, part):
    gradient = buffer(most, d, T, depth=2)
    given = buffer(most, d, T, depth=2)
    factor = buffer(most, 1, float32, depth=2)
    scale = buffer(d, float32)
    wide = buffer(most, d, float32)
    hat = buffer(most, d, float32)
    own = buffer(d, float32)
    result = buffer(most, d, T, depth=2)
    parts = buffer(used, cut, float32)
    whole = buffer(cut, float32)
    begin, end = rows_of_core()
    if begin < end:
        with copy_in as read_scale:
            load(scale, gamma[0], d)
        with compute(1, d) as clear:
            own[:] = 0.0
        for first, rows in tiles_between(begin, end):
            with copy_in:
                load(gradient, dy[first * d], rows, d)
                load(given, x[first * d], rows, d)
                load(factor, rstd[first], rows)
            with compute(rows, d) as differentiate:
                hat[:] = float32(given) * factor
                wide[:] = float32(gradient)
                own[:] = own + col_sum(wide * hat)
                wide[:] = wide * scale
                result[:] = T((wide - hat * (row_sum(wide * hat) * part)) * factor)
            with copy_out:
                store(dx[first * d], result, rows, d)
        with copy_out as store_sums:
            store(sums[core() * d], own, d)
    sync_all()
    c = core() * cut
    if c < d:
        cols = min(cut, d - c)
        with copy_in as read_sums:
            load(parts, sums[c], used, cols, stride=d)
        with compute(used, cols) as combine:
            whole[:] = col_sum(parts)
        with copy_out as store_whole:
            store(dgamma[c], whole, cols)
"""

_DEEP_NORM_GRAD = """
def plan(dy, gamma):
    share_rows_and_columns(dy, most=2048)
    dx.shape = dy.shape
    dgx.shape = dy.shape
    dbeta.shape = gamma.shape
    dgamma.shape = gamma.shape
    sums.shape = (2 * used * d,)
    launch_rows_and_columns()


@kernel
def deep_norm_grad(dy: Input[T], x: Input[T], gx: Input[T], gamma: Input[T], mean: Input[float32], rstd: Input[float32],
                   dx: Output[T], dgx: Output[T], dbeta: Output[float32], dgamma: Output[float32],
                   sums: Workspace[float32], alpha: Attribute[float] = 0.3, *, n, d, share, used, most, cut, part):
    gradient = buffer(most, d, T, depth=2)
    residual = buffer(most, d, T, depth=2)
    branch = buffer(most, d, T, depth=2)
    means = buffer(most, 1, float32, depth=2)
    factor = buffer(most, 1, float32, depth=2)
    weights = buffer(d, T)
    scale = buffer(d, float32)
    wide = buffer(most, d, float32)
    hat = buffer(most, d, float32)
    own_beta = buffer(d, float32)
    own_gamma = buffer(d, float32)
    result = buffer(most, d, T, depth=2)
    scaled = buffer(most, d, T, depth=2)
    parts = buffer(used, cut, float32, depth=2)
    whole = buffer(cut, float32, depth=2)
    begin, end = rows_of_core()
    if begin < end:
        with copy_in as read_scale:
            load(weights, gamma[0], d)
        with compute(1, d) as clear:
            scale[:] = float32(weights)
            own_beta[:] = 0.0
            own_gamma[:] = 0.0
        for first, rows in tiles_between(begin, end):
            with copy_in:
                load(gradient, dy[first * d], rows, d)
                load(residual, x[first * d], rows, d)
                load(branch, gx[first * d], rows, d)
                load(means, mean[first], rows)
                load(factor, rstd[first], rows)
            with compute(rows, d) as differentiate:
                hat[:] = (float32(residual) * alpha + float32(branch) - means) * factor
                wide[:] = float32(gradient)
                own_beta[:] = own_beta + col_sum(wide)
                own_gamma[:] = own_gamma + col_sum(wide * hat)
                wide[:] = wide * scale
                hat[:] = hat * (row_sum(wide * hat) * part) + row_sum(wide) * part
                wide[:] = (wide - hat) * factor
                result[:] = T(wide)
                scaled[:] = T(wide * alpha)
            with copy_out:
                store(dgx[first * d], result, rows, d)
                store(dx[first * d], scaled, rows, d)
        with copy_out as store_sums:
            store(sums[core() * d], own_beta, d)
            store(sums[(used + core()) * d], own_gamma, d)
    sync_all()
    c = core() * cut
    if c < d:
        cols = min(cut, d - c)
        for kind in range(2):
            with copy_in as read_sums:
                load(parts, sums[kind * used * d + c], used, cols, stride=d)
            with compute(used, cols) as combine:
                whole[:] = col_sum(parts)
            if kind == 0:
                with copy_out as store_beta:
                    store(dbeta[c], whole, cols)
            else:
                with copy_out as store_gamma:
                    store(dgamma[c], whole, cols)
"""

NORMS: Mapping[str, Written] = {
    "AddLayerNorm": _add_layer_norm("add_layer_norm"),
    "InplaceAddLayerNorm": _add_layer_norm("inplace_add_layer_norm"),
    "LayerNormV4": written(_LAYER_NORM, FLOATS, given=("gamma", "beta")),
    "PreLayerNorm": Written(program(_PRE_LAYER_NORM), SINGLE),
    "RmsNormGrad": written(_RMS_NORM_GRAD, FLOATS),
    "DeepNormGrad": written(_DEEP_NORM_GRAD, FLOATS, sizes={"gamma": 2048}),
}
