"""CraftAdam: one step of Adam with bias correction; the corrections are computed once, on the host."""


@host
def plan(param, beta1, beta2, lr, eps, step):
    total = param.size
    share = max(128, round_up(ceil_div(total, vector_cores()), 128))
    correction1 = 1.0 / (1.0 - power(beta1, float(step)))
    correction2 = 1.0 / (1.0 - power(beta2, float(step)))
    param_out.shape = param.shape
    launch(
        cores=max(1, ceil_div(total, share)),
        total=total,
        share=share,
        tile=3072,
        correction1=correction1,
        correction2=correction2,
    )


@kernel
def craft_adam(
    param: Input[float32],
    grad: Input[float32],
    m: Input[float32],
    v: Input[float32],
    param_out: Output[float32],
    beta1: Attribute[float] = 0.9,
    beta2: Attribute[float] = 0.999,
    lr: Attribute[float] = 0.001,
    eps: Attribute[float] = 1.0e-8,
    step: Attribute[int] = 1,
    *,
    total,
    share,
    tile,
    correction1,
    correction2,
):
    param_tile = buffer(tile, float32, depth=2)
    grad_tile = buffer(tile, float32, depth=2)
    m_tile = buffer(tile, float32, depth=2)
    v_tile = buffer(tile, float32, depth=2)
    result = buffer(tile, float32, depth=2)
    denominator = buffer(tile, float32)
    begin = core() * share
    count = min(share, total - begin)
    for offset in range(0, count, tile):
        length = min(tile, count - offset)
        with copy_in:
            load(param_tile, param[begin + offset], length)
            load(grad_tile, grad[begin + offset], length)
            load(m_tile, m[begin + offset], length)
            load(v_tile, v[begin + offset], length)
        with compute(length):
            denominator[:] = sqrt((grad_tile * grad_tile * (1.0 - beta2) + v_tile * beta2) * correction2) + eps
            result[:] = param_tile - (grad_tile * (1.0 - beta1) + m_tile * beta1) * (correction1 * lr) / denominator
        with copy_out:
            store(param_out[begin + offset], result, length)


# npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
