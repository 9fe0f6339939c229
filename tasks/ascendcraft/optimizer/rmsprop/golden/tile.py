"""CraftRmsprop: param - lr * grad / (sqrt(alpha * v + (1 - alpha) * grad^2) + eps)."""


@host
def plan(param):
    total = param.size
    share = max(128, round_up(ceil_div(total, vector_cores()), 128))
    param_out.shape = param.shape
    launch(cores=max(1, ceil_div(total, share)), total=total, share=share, tile=3072)


@kernel
def craft_rmsprop(
    param: Input[float32],
    grad: Input[float32],
    v: Input[float32],
    param_out: Output[float32],
    lr: Attribute[float] = 0.001,
    alpha: Attribute[float] = 0.99,
    eps: Attribute[float] = 1.0e-8,
    *,
    total,
    share,
    tile,
):
    param_tile = buffer(tile, float32, depth=2)
    grad_tile = buffer(tile, float32, depth=2)
    v_tile = buffer(tile, float32, depth=2)
    result = buffer(tile, float32, depth=2)
    begin = core() * share
    count = min(share, total - begin)
    for offset in range(0, count, tile):
        length = min(tile, count - offset)
        with copy_in:
            load(param_tile, param[begin + offset], length)
            load(grad_tile, grad[begin + offset], length)
            load(v_tile, v[begin + offset], length)
        with compute(length):
            result[:] = param_tile - grad_tile * lr / (
                sqrt(grad_tile * grad_tile * (1.0 - alpha) + v_tile * alpha) + eps
            )
        with copy_out:
            store(param_out[begin + offset], result, length)


# npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
