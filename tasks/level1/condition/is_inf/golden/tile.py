"""IsInf: whether each element is infinite."""

T = float16, float32, bfloat16


@host
def plan(x):
    total = x.size
    share = max(256, round_up(ceil_div(total, vector_cores()), 256))
    y.shape = x.shape
    launch(cores=max(1, ceil_div(total, share)), total=total, share=share, tile=4096)


@kernel
def is_inf(x: Input[T], y: Output[bool], *, total, share, tile):
    x_in = buffer(tile, T, depth=2)
    a = buffer(tile, float32)
    y_out = buffer(tile, bool, depth=2)
    begin = core() * share
    count = min(share, total - begin)
    for offset in range(0, count, tile):
        length = min(tile, count - offset)
        with copy_in:
            load(x_in, x[begin + offset], length)
        with compute(length):
            a[:] = float32(x_in)
            y_out[:] = bool(abs(a) > 3.4028234663852886e38)
        with copy_out:
            store(y[begin + offset], y_out, length)


# npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
