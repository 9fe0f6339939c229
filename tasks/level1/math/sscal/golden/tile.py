"""Sscal: x[i * incx] = alpha * x[i * incx] for 0 <= i < n, in place."""


@host
def plan(x, n, incx):
    share = round_up(max(1, ceil_div(n, vector_cores())), 128)
    x_ref.shape = x.shape
    launch(cores=max(1, ceil_div(n, share)), share=share, tile=4096, tall=512)


@kernel
def sscal(
    x: Input[float32],
    x_ref: Output[float32, x],
    alpha: Attribute[float] = 1.0,
    n: Attribute[int] = 0,
    incx: Attribute[int] = 1,
    *,
    share,
    tile,
    tall,
):
    x_in = buffer(tile, float32, depth=2)
    x_out = buffer(tile, float32, depth=2)
    column_in = buffer(tall, 2, float32)
    column_out = buffer(tall, 2, float32)
    begin = core() * share
    count = min(share, n - begin)
    if incx == 1:
        for offset in range(0, count, tile):
            length = min(tile, count - offset)
            with copy_in as read:
                load(x_in, x[begin + offset], length)
            with compute(length) as scale:
                x_out[:] = x_in * alpha
            with copy_out as write:
                store(x_ref[begin + offset], x_out, length)
    else:
        for offset in range(0, count, tall):
            rows = min(tall, count - offset)
            with copy_in as read_apart:
                load(column_in, x[(begin + offset) * incx], rows, 1, stride=incx)
            with compute(rows, 1) as scale_apart:
                column_out[:] = column_in * alpha
            with copy_out as write_apart:
                store(x_ref[(begin + offset) * incx], column_out, rows, 1, stride=incx)


# npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
