"""ApplyFusedEmaAdam: one step of Adam, in place, and the moving average of the weights."""

T = float32, float16, bfloat16


@host
def plan(grad, step, beta1, beta2, bias_correction):
    total = grad.size
    share = max(256, round_up(ceil_div(total, vector_cores()), 256))
    count = float(step[0])
    first = 1.0 - power(beta1, count) if bias_correction else 1.0
    second = 1.0 - power(beta2, count) if bias_correction else 1.0
    var_ref.shape = grad.shape
    m_ref.shape = grad.shape
    v_ref.shape = grad.shape
    s_ref.shape = grad.shape
    launch(
        cores=max(1, ceil_div(total, share)),
        total=total,
        share=share,
        tile=1024,
        first=1.0 / first,
        second=1.0 / second,
    )


@kernel
def apply_fused_ema_adam(
    grad: Input[T],
    var: Input[T],
    m: Input[T],
    v: Input[T],
    s: Input[T],
    step: Input[int64],
    var_ref: Output[T, var],
    m_ref: Output[T, m],
    v_ref: Output[T, v],
    s_ref: Output[T, s],
    lr: Attribute[float] = 1.0e-3,
    ema_decay: Attribute[float] = 0.9999,
    beta1: Attribute[float] = 0.9,
    beta2: Attribute[float] = 0.999,
    eps: Attribute[float] = 1.0e-8,
    mode: Attribute[int] = 1,
    bias_correction: Attribute[bool] = True,
    weight_decay: Attribute[float] = 0.0,
    *,
    total,
    share,
    tile,
    first,
    second,
):
    grad_in = buffer(tile, T, depth=2)
    var_in = buffer(tile, T, depth=2)
    m_in = buffer(tile, T, depth=2)
    v_in = buffer(tile, T, depth=2)
    s_in = buffer(tile, T, depth=2)
    g = buffer(tile, float32)
    weights = buffer(tile, float32)
    moments = buffer(tile, float32)
    squares = buffer(tile, float32)
    update = buffer(tile, float32)
    var_out = buffer(tile, T, depth=2)
    m_out = buffer(tile, T, depth=2)
    v_out = buffer(tile, T, depth=2)
    s_out = buffer(tile, T, depth=2)
    begin = core() * share
    count = min(share, total - begin)
    for offset in range(0, count, tile):
        length = min(tile, count - offset)
        at = begin + offset
        with copy_in:
            load(grad_in, grad[at], length)
            load(var_in, var[at], length)
            load(m_in, m[at], length)
            load(v_in, v[at], length)
            load(s_in, s[at], length)
        with compute(length):
            weights[:] = float32(var_in)
            g[:] = float32(grad_in)
            if mode == 0:
                g[:] = g + weights * weight_decay
            moments[:] = float32(m_in) * beta1 + g * (1.0 - beta1)
            squares[:] = float32(v_in) * beta2 + g * g * (1.0 - beta2)
            m_out[:] = T(moments)
            v_out[:] = T(squares)
            update[:] = moments * first / (sqrt(squares * second) + eps)
            if mode != 0:
                update[:] = update + weights * weight_decay
            weights[:] = weights - update * lr
            var_out[:] = T(weights)
            s_out[:] = T(float32(s_in) * ema_decay + weights * (1.0 - ema_decay))
        with copy_out:
            store(var_ref[at], var_out, length)
            store(m_ref[at], m_out, length)
            store(v_ref[at], v_out, length)
            store(s_ref[at], s_out, length)


# npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
