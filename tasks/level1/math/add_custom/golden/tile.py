"""AddCustom: z = x + y, for halfs."""


@host
def plan(x):
    total = x.size
    share = max(256, round_up(ceil_div(total, vector_cores()), 256))
    z.shape = x.shape
    launch(cores=max(1, ceil_div(total, share)), total=total, share=share, tile=8192)


@kernel
def add_custom(x: Input[float16], y: Input[float16], z: Output[float16], *, total, share, tile):
    x_in = buffer(tile, float16, depth=2)
    y_in = buffer(tile, float16, depth=2)
    z_out = buffer(tile, float16, depth=2)
    begin = core() * share
    count = min(share, total - begin)
    for offset in range(0, count, tile):
        length = min(tile, count - offset)
        with copy_in:
            load(x_in, x[begin + offset], length)
            load(y_in, y[begin + offset], length)
        with compute(length):
            z_out[:] = x_in + y_in
        with copy_out:
            store(z[begin + offset], z_out, length)


# npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
