"""ForeachLog10: y[k] = log10(x[k]) for every tensor k of a list."""

T = float16, float32, bfloat16


@host
def plan(x):
    y.shape = x.shape
    launch(cores=vector_cores(), lanes=vector_cores(), tile=2048)


@kernel
def foreach_log10(x: Inputs[T], y: Outputs[T], *, lanes, tile):
    x_in = buffer(tile, T, depth=2)
    a = buffer(tile, float32)
    y_out = buffer(tile, T, depth=2)
    for k in range(len(x)):
        total = x[k].size
        share = max(256, round_up(ceil_div(total, lanes), 256))
        begin = core() * share
        count = min(share, total - begin)
        for offset in range(0, count, tile):
            length = min(tile, count - offset)
            with copy_in:
                load(x_in, x[k][begin + offset], length)
            with compute(length):
                a[:] = float32(x_in)
                y_out[:] = T(log10(a))
            with copy_out:
                store(y[k][begin + offset], y_out, length)


# npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
