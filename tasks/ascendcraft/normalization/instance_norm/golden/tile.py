"""CraftInstanceNorm: (x - mean) / sqrt(variance + eps) over the rows and columns of every sample and channel."""


@host
def plan(x):
    rows = x.shape[0] * x.shape[1]
    n = x.shape[2] * x.shape[3]
    share = max(1, ceil_div(rows, vector_cores()))
    y.shape = x.shape
    launch(cores=max(1, ceil_div(rows, share)), rows=rows, n=n, share=share, tile=min(round_up(n, 64), 4096))


@kernel
def craft_instance_norm(x: Input[float32], y: Output[float32], eps: Attribute[float] = 1.0e-5, *, rows, n, share, tile):
    x_tile = buffer(tile, float32, depth=2)
    again = buffer(tile, float32, depth=2)
    last = buffer(tile, float32, depth=2)
    result = buffer(tile, float32, depth=2)
    mean = buffer(1, float32)
    spread = buffer(1, float32)
    first = core() * share
    for row in range(first, min(first + share, rows)):
        with compute(1) as start_mean:
            mean[:] = 0.0
            spread[:] = 0.0
        for offset in range(0, n, tile):
            length = min(tile, n - offset)
            with copy_in as read:
                load(x_tile, x[row * n + offset], length)
            with compute(length) as add:
                mean[:] = mean + row_sum(x_tile)
        with compute(1) as end_mean:
            mean[:] = mean / float(n)
        for offset in range(0, n, tile):
            length = min(tile, n - offset)
            with copy_in as read_again:
                load(again, x[row * n + offset], length)
            with compute(length) as add_squares:
                spread[:] = spread + row_sum((again - mean) * (again - mean))
        with compute(1) as end_spread:
            spread[:] = 1.0 / sqrt(spread / float(n) + eps)
        for offset in range(0, n, tile):
            length = min(tile, n - offset)
            with copy_in as read_last:
                load(last, x[row * n + offset], length)
            with compute(length) as scale:
                result[:] = (last - mean) * spread
            with copy_out:
                store(y[row * n + offset], result, length)


# npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
