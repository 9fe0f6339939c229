"""CraftAdagrad: param - lr * grad / (sqrt(accum + grad^2) + eps)."""


@host
def plan(param):
    total = param.size
    share = max(128, round_up(ceil_div(total, vector_cores()), 128))
    param_out.shape = param.shape
    launch(cores=max(1, ceil_div(total, share)), total=total, share=share, tile=4096)


@kernel
def craft_adagrad(
    param: Input[float32],
    grad: Input[float32],
    accum: Input[float32],
    param_out: Output[float32],
    lr: Attribute[float] = 0.01,
    eps: Attribute[float] = 1.0e-10,
    *,
    total,
    share,
    tile,
):
    param_tile = buffer(tile, float32, depth=2)
    grad_tile = buffer(tile, float32, depth=2)
    accum_tile = buffer(tile, float32, depth=2)
    result = buffer(tile, float32, depth=2)
    begin = core() * share
    count = min(share, total - begin)
    for offset in range(0, count, tile):
        length = min(tile, count - offset)
        with copy_in:
            load(param_tile, param[begin + offset], length)
            load(grad_tile, grad[begin + offset], length)
            load(accum_tile, accum[begin + offset], length)
        with compute(length):
            result[:] = param_tile - grad_tile * lr / (sqrt(grad_tile * grad_tile + accum_tile) + eps)
        with copy_out:
            store(param_out[begin + offset], result, length)


# npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
