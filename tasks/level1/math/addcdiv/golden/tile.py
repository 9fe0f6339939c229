"""Addcdiv: y = input_data + value * x1 / x2."""

T = float16, float32, bfloat16


@host
def plan(input_data):
    total = input_data.size
    share = max(256, round_up(ceil_div(total, vector_cores()), 256))
    y.shape = input_data.shape
    launch(cores=max(1, ceil_div(total, share)), total=total, share=share, tile=2048)


@kernel
def addcdiv(input_data: Input[T], x1: Input[T], x2: Input[T], value: Input[T], y: Output[T], *, total, share, tile):
    input_data_in = buffer(tile, T, depth=2)
    a = buffer(tile, float32)
    x1_in = buffer(tile, T, depth=2)
    b = buffer(tile, float32)
    x2_in = buffer(tile, T, depth=2)
    c = buffer(tile, float32)
    value_in = buffer(1, T)
    factor = buffer(1, float32)
    y_out = buffer(tile, T, depth=2)
    begin = core() * share
    count = min(share, total - begin)
    with copy_in as load_scalars:
        load(value_in, value[0], 1)
    with compute(1) as widen_scalars:
        factor[:] = float32(value_in)
    for offset in range(0, count, tile):
        length = min(tile, count - offset)
        with copy_in:
            load(input_data_in, input_data[begin + offset], length)
            load(x1_in, x1[begin + offset], length)
            load(x2_in, x2[begin + offset], length)
        with compute(length):
            a[:] = float32(input_data_in)
            b[:] = float32(x1_in)
            c[:] = float32(x2_in)
            y_out[:] = T(a + b / c * factor)
        with copy_out:
            store(y[begin + offset], y_out, length)


# npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
