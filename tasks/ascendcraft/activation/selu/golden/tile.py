"""CraftSelu: y = scale * x where x > 0, else scale * alpha * (exp(x) - 1)."""


@host
def plan(x):
    total = x.size
    share = max(128, round_up(ceil_div(total, vector_cores()), 128))
    y.shape = x.shape
    launch(cores=max(1, ceil_div(total, share)), total=total, share=share, tile=8192)


@kernel
def craft_selu(x: Input[float32], y: Output[float32], *, total, share, tile):
    x_tile = buffer(tile, float32, depth=2)
    result = buffer(tile, float32, depth=2)
    begin = core() * share
    count = min(share, total - begin)
    for offset in range(0, count, tile):
        length = min(tile, count - offset)
        with copy_in:
            load(x_tile, x[begin + offset], length)
        with compute(length):
            result[:] = (exp(min(x_tile, 0.0)) - 1.0) * 1.7580993408473766 + max(x_tile, 0.0) * 1.0507009873554805
        with copy_out:
            store(y[begin + offset], result, length)


# npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
