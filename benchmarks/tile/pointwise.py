"""Tile programs of operators that work element by element, in more than one expression: see :mod:`.programs`."""

from __future__ import annotations

from collections.abc import Mapping

from benchmarks.tile.written import FLOATS, PLAIN, SINGLE, Written, program, written

__all__ = ["POINTWISE"]

_SPENCE = """
def plan(x):
    share_elements(x)
    y.shape = x.shape
    launch_elements(tile=2048)


@kernel
def spence(x: Input[T], y: Output[T], *, total, share, tile):
    given = buffer(tile, T, depth=2)
    wide = buffer(tile, float32)
    z = buffer(tile, float32)
    log = buffer(tile, float32)
    t = buffer(tile, float32)
    square = buffer(tile, float32)
    result = buffer(tile, T, depth=2)
    for offset, length in own_elements():
        with copy_in:
            load(given, x[begin + offset], length)
        with compute(length):
            wide[:] = float32(given)
            z[:] = min(1.0 / wide, wide)
            log[:] = ln(z)
            t[:] = -ln(where(z < 0.5, 1.0 - z, z))
            square[:] = t * t
            square[:] = ((square * 4.72411187e-6 - 2.77777778e-4) * square + 2.77777778e-2) * square
            square[:] = (square - t * 0.25 + 1.0) * t
            square[:] = where(z < 0.5, t * log + 1.6449341 - square, square)
            result[:] = T(where(wide > 1.0, log * log * -0.5 - square, square))
        with copy_out:
            store(y[begin + offset], result, length)
"""

_SSCAL = """
def plan(x, n):
    share = round_up(ceil_div(n, vector_cores()), 128)
    x_ref.shape = x.shape
    launch(cores=max(1, ceil_div(n, share)), share=share, tile=min(share, 8192))


@kernel
def sscal(x: Input[float32], x_ref: Output[float32], alpha: Attribute[float] = 1.0, n: Attribute[int] = 0,
          incx: Attribute[int] = 1, *, share, tile):
    given = buffer(tile, float32, depth=2)
    result = buffer(tile, float32, depth=2)
    begin = core() * share
    count = min(share, n - begin)
    for offset in range(0, count, tile):
        length = min(tile, count - offset)
        with copy_in:
            load(given, x[begin + offset], length)
        with compute(length):
            result[:] = given * alpha
        with copy_out:
            store(x_ref[begin + offset], result, length)
"""

_MSE_LOSS_GRAD = """
def plan(predict):
    share_elements(predict)
    y.shape = predict.shape
    launch(cores=max(1, ceil_div(total, share)), total=total, share=share, tile=min(share, 4096),
           factor=2.0 / float(total))


@kernel
def mse_loss_grad_v2(predict: Input[T], label: Input[T], dout: Input[T], y: Output[T], *, total, share, tile, factor):
    given = buffer(tile, T, depth=2)
    wanted = buffer(tile, T, depth=2)
    gradient = buffer(tile, T, depth=2)
    result = buffer(tile, T, depth=2)
    for offset, length in own_elements():
        with copy_in:
            load(given, predict[begin + offset], length)
            load(wanted, label[begin + offset], length)
            load(gradient, dout[begin + offset], length)
        with compute(length):
            result[:] = T((float32(given) - float32(wanted)) * factor * float32(gradient))
        with copy_out:
            store(y[begin + offset], result, length)
"""

_EMA_ADAM = """
def plan(grad, var, m, v, s):
    share_elements(grad)
    var_ref.shape = var.shape
    m_ref.shape = m.shape
    v_ref.shape = v.shape
    s_ref.shape = s.shape
    launch_elements(tile=1536)


@kernel
def apply_fused_ema_adam(grad: Input[T], var: Input[T], m: Input[T], v: Input[T], s: Input[T], step: Input[int64],
                         var_ref: Output[T], m_ref: Output[T], v_ref: Output[T], s_ref: Output[T],
                         lr: Attribute[float] = 1.0e-3, ema_decay: Attribute[float] = 0.9999,
                         beta1: Attribute[float] = 0.9, beta2: Attribute[float] = 0.999,
                         eps: Attribute[float] = 1.0e-8, mode: Attribute[int] = 1,
                         bias_correction: Attribute[bool] = True, weight_decay: Attribute[float] = 0.0,
                         *, total, share, tile):
    t_grad, t_var, t_m, t_v = tiles_of_adam()
    t_s = buffer(tile, T, depth=2)
    gradient = buffer(tile, float32)
    moment = buffer(tile, float32)
    spread = buffer(tile, float32)
    weights = buffer(tile, float32)
    new_var, new_m, new_v = results_of_adam()
    new_s = buffer(tile, T, depth=2)
    power1, power2 = powers_of(beta1, beta2, step[0])
    rate = lr / (1.0 - power1) if bias_correction else lr
    correction = 1.0 / (1.0 - power2) if bias_correction else 1.0
    coupled = weight_decay if mode == 0 else 0.0
    kept = 1.0 if mode == 0 else 1.0 - lr * weight_decay
    for offset, length in own_elements():
        with copy_in:
            load(t_grad, grad[begin + offset], length)
            load_state_of_adam()
            load(t_s, s[begin + offset], length)
        with compute(length):
            weights[:] = float32(t_var)
            gradient[:] = weights * coupled + float32(t_grad)
            moment[:] = float32(t_m) * beta1 + gradient * (1.0 - beta1)
            new_m[:] = T(moment)
            spread[:] = gradient * gradient * (1.0 - beta2) + float32(t_v) * beta2
            new_v[:] = T(spread)
            weights[:] = weights * kept - moment * rate / (sqrt(spread * correction) + eps)
            new_var[:] = T(weights)
            new_s[:] = T(float32(t_s) * ema_decay + weights * (1.0 - ema_decay))
        with copy_out:
            store(var_ref[begin + offset], new_var, length)
            store(m_ref[begin + offset], new_m, length)
            store(v_ref[begin + offset], new_v, length)
            store(s_ref[begin + offset], new_s, length)
"""

_CAST = """
def plan(x):
    total = x.size
    share = round_up(ceil_div(total, vector_cores()), 256)
    y.shape = x.shape
    launch_elements(tile=8192)


@kernel
def cast_math(x: Input[T], y: Output[float32], dst_type: Attribute[int], *, total, share, tile):
    given = buffer(tile, T, depth=2)
    result = buffer(tile, float32, depth=2)
    for offset, length in own_elements():
        with copy_in:
            load(given, x[begin + offset], length)
        with compute(length):
            result[:] = float32(given)
        with copy_out:
            store(y[begin + offset], result, length)
"""

_ADAM_W = """
def plan(var, m, v, max_grad_norm):
    share_elements(var)
    var_out.shape = var.shape
    m_out.shape = m.shape
    v_out.shape = v.shape
    max_grad_norm_out.shape = max_grad_norm.shape
    launch(cores=max(1, ceil_div(total, share)), total=total, share=share,
           tile=min(share, 2816 if var.itemsize == 2 else 1536))


@kernel
def apply_adam_wv2(var: Input[T], m: Input[T], v: Input[T], grad: Input[T], step: Input[int64],
                   max_grad_norm: Input[T], var_out: Output[T], m_out: Output[T], v_out: Output[T],
                   max_grad_norm_out: Output[T], lr: Attribute[float] = 0.1, beta1: Attribute[float] = 0.1,
                   beta2: Attribute[float] = 0.1, weight_decay: Attribute[float] = 0.1, eps: Attribute[float] = 0.1,
                   amsgrad: Attribute[bool] = False, maximize: Attribute[bool] = False, *, total, share, tile):
    t_grad, t_var, t_m, t_v = tiles_of_adam()
    t_most = buffer(tile, T, depth=2)
    gradient = buffer(tile, float32)
    moment = buffer(tile, float32)
    spread = buffer(tile, float32)
    new_var, new_m, new_v = results_of_adam()
    new_most = buffer(tile, T, depth=2)
    power1, power2 = powers_of(beta1, beta2, step[0] + 1)
    rate = lr / (1.0 - power1)
    correction = 1.0 / (1.0 - power2)
    kept = 1.0 - lr * weight_decay
    taken = beta1 - 1.0 if maximize else 1.0 - beta1
    for offset, length in own_elements():
        with copy_in:
            load_state_of_adam()
            load(t_grad, grad[begin + offset], length)
            load(t_most, max_grad_norm[begin + offset], length)
        with compute(length):
            gradient[:] = float32(t_grad)
            moment[:] = float32(t_m) * beta1 + gradient * taken
            new_m[:] = T(moment)
            spread[:] = gradient * gradient * (1.0 - beta2) + float32(t_v) * beta2
            new_v[:] = T(spread)
            spread[:] = max(spread, float32(t_most))
            new_most[:] = T(spread)
            new_var[:] = T(float32(t_var) * kept - moment * rate / (sqrt(spread * correction) + eps))
        with copy_out:
            store(var_out[begin + offset], new_var, length)
            store(m_out[begin + offset], new_m, length)
            store(v_out[begin + offset], new_v, length)
            store(max_grad_norm_out[begin + offset], new_most, length)
"""

POINTWISE: Mapping[str, Written] = {
    "Spence": written(_SPENCE, PLAIN),
    "Sscal": Written(program(_SSCAL), SINGLE, {"incx": 1}),
    "MseLossGradV2": written(_MSE_LOSS_GRAD, FLOATS, {"reduction": "mean"}),
    "ApplyFusedEmaAdam": written(_EMA_ADAM, FLOATS),
    "ApplyAdamWV2": written(_ADAM_W, FLOATS, {"amsgrad": True}, ("max_grad_norm",)),
    "CastMath": written(_CAST, ("float16", "bfloat16"), {"dst_type": 0}),
}
