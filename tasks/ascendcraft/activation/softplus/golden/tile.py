"""CraftSoftplus: y = ln(1 + exp(x)), written so that nothing overflows.

That is max(x, 0) + ln(1 + t) with t = exp(-|x|). For small t the logarithm is corrected by t / ((1 + t) - 1).
"""


@host
def plan(x):
    total = x.size
    share = max(128, round_up(ceil_div(total, vector_cores()), 128))
    y.shape = x.shape
    launch(cores=max(1, ceil_div(total, share)), total=total, share=share, tile=4096)


@kernel
def craft_softplus(x: Input[float32], y: Output[float32], *, total, share, tile):
    x_tile = buffer(tile, float32, depth=2)
    result = buffer(tile, float32, depth=2)
    small = buffer(tile, float32)
    sum = buffer(tile, float32)
    begin = core() * share
    count = min(share, total - begin)
    for offset in range(0, count, tile):
        length = min(tile, count - offset)
        with copy_in:
            load(x_tile, x[begin + offset], length)
        with compute(length):
            small[:] = exp(-abs(x_tile))
            sum[:] = small + 1.0
            result[:] = where(sum == 1.0, small, ln(sum) * small / max(sum - 1.0, 1.0e-30)) + max(x_tile, 0.0)
        with copy_out:
            store(y[begin + offset], result, length)


# npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
