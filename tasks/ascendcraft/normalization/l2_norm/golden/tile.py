"""CraftL2Norm: rows divided by their Euclidean norm."""


@host
def plan(x):
    rows = x.shape[0]
    n = x.shape[1]
    share = max(1, ceil_div(rows, vector_cores()))
    y.shape = x.shape
    launch(cores=max(1, ceil_div(rows, share)), rows=rows, n=n, share=share, tile=min(round_up(n, 64), 6144))


@kernel
def craft_l2_norm(x: Input[float32], y: Output[float32], *, rows, n, share, tile):
    x_tile = buffer(tile, float32, depth=2)
    again = buffer(tile, float32, depth=2)
    result = buffer(tile, float32, depth=2)
    factor = buffer(1, float32)
    first = core() * share
    for row in range(first, min(first + share, rows)):
        with compute(1) as start_row:
            factor[:] = 0.0
        for offset in range(0, n, tile):
            length = min(tile, n - offset)
            with copy_in as read:
                load(x_tile, x[row * n + offset], length)
            with compute(length) as add:
                factor[:] = factor + row_sum(x_tile * x_tile)
        with compute(1) as end_row:
            factor[:] = 1.0 / sqrt(factor)
        for offset in range(0, n, tile):
            length = min(tile, n - offset)
            with copy_in as read_again:
                load(again, x[row * n + offset], length)
            with compute(length) as scale:
                result[:] = again * factor
            with copy_out:
                store(y[row * n + offset], result, length)


# npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
