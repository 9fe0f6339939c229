"""ForeachLerpScalar: y[k] = x1[k] + weight * (x2[k] - x1[k]) for every tensor k of two lists."""

T = float16, float32, bfloat16


@host
def plan(x1):
    y.shape = x1.shape
    launch(cores=vector_cores(), lanes=vector_cores(), tile=2048)


@kernel
def foreach_lerp_scalar(x1: Inputs[T], x2: Inputs[T], weight: Input[float32], y: Outputs[T], *, lanes, tile):
    x1_in = buffer(tile, T, depth=2)
    a = buffer(tile, float32)
    x2_in = buffer(tile, T, depth=2)
    b = buffer(tile, float32)
    y_out = buffer(tile, T, depth=2)
    for k in range(len(x1)):
        total = x1[k].size
        share = max(256, round_up(ceil_div(total, lanes), 256))
        begin = core() * share
        count = min(share, total - begin)
        factor = weight[0]
        for offset in range(0, count, tile):
            length = min(tile, count - offset)
            with copy_in:
                load(x1_in, x1[k][begin + offset], length)
                load(x2_in, x2[k][begin + offset], length)
            with compute(length):
                a[:] = float32(x1_in)
                b[:] = float32(x2_in)
                y_out[:] = T(a + (b - a) * factor)
            with copy_out:
                store(y[k][begin + offset], y_out, length)


# npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
