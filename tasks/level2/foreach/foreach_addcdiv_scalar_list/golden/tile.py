"""ForeachAddcdivScalarList: y[k] = x1[k] + scalars[k] * x2[k] / x3[k] for every tensor k of three lists."""

T = float16, float32, bfloat16
S = float16, float32, bfloat16


@host
def plan(x1):
    y.shape = x1.shape
    launch(cores=vector_cores(), lanes=vector_cores(), tile=2048)


@kernel
def foreach_addcdiv_scalar_list(
    x1: Inputs[T],
    x2: Inputs[T],
    x3: Inputs[T],
    scalars: Input[S],
    y: Outputs[T],
    *,
    lanes,
    tile,
):
    x1_in = buffer(tile, T, depth=2)
    a = buffer(tile, float32)
    x2_in = buffer(tile, T, depth=2)
    b = buffer(tile, float32)
    x3_in = buffer(tile, T, depth=2)
    c = buffer(tile, float32)
    scalars_in = buffer(1, S)
    factor = buffer(1, float32)
    y_out = buffer(tile, T, depth=2)
    for k in range(len(x1)):
        total = x1[k].size
        share = max(256, round_up(ceil_div(total, lanes), 256))
        begin = core() * share
        count = min(share, total - begin)
        with copy_in as load_factor:
            load(scalars_in, scalars[k], 1)
        with compute(1) as widen_factor:
            factor[:] = float32(scalars_in)
        for offset in range(0, count, tile):
            length = min(tile, count - offset)
            with copy_in:
                load(x1_in, x1[k][begin + offset], length)
                load(x2_in, x2[k][begin + offset], length)
                load(x3_in, x3[k][begin + offset], length)
            with compute(length):
                a[:] = float32(x1_in)
                b[:] = float32(x2_in)
                c[:] = float32(x3_in)
                y_out[:] = T(a + b / c * factor)
            with copy_out:
                store(y[k][begin + offset], y_out, length)


# npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
