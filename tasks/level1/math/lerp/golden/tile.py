"""Lerp: y = start + weight * (end - start)."""

T = float16, float32


@host
def plan(start):
    total = start.size
    share = max(256, round_up(ceil_div(total, vector_cores()), 256))
    y.shape = start.shape
    launch(cores=max(1, ceil_div(total, share)), total=total, share=share, tile=2048)


@kernel
def lerp(start: Input[T], end: Input[T], weight: Input[T], y: Output[T], *, total, share, tile):
    start_in = buffer(tile, T, depth=2)
    a = buffer(tile, float32)
    end_in = buffer(tile, T, depth=2)
    b = buffer(tile, float32)
    weight_in = buffer(tile, T, depth=2)
    c = buffer(tile, float32)
    y_out = buffer(tile, T, depth=2)
    begin = core() * share
    count = min(share, total - begin)
    for offset in range(0, count, tile):
        length = min(tile, count - offset)
        with copy_in:
            load(start_in, start[begin + offset], length)
            load(end_in, end[begin + offset], length)
            load(weight_in, weight[begin + offset], length)
        with compute(length):
            a[:] = float32(start_in)
            b[:] = float32(end_in)
            c[:] = float32(weight_in)
            y_out[:] = T(a + c * (b - a))
        with copy_out:
            store(y[begin + offset], y_out, length)


# npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
