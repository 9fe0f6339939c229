"""CraftSoftmax: exp(x) / sum(exp(x)) over the last axis.

The largest element and the sum of a row are found together: where a tile has a larger one, the sum so far is scaled.
"""


@host
def plan(x):
    n = x.shape[x.rank - 1]
    rows = x.size // n
    share = max(1, ceil_div(rows, vector_cores()))
    y.shape = x.shape
    launch(cores=max(1, ceil_div(rows, share)), rows=rows, n=n, share=share, tile=min(round_up(n, 64), 7168))


@kernel
def craft_softmax(x: Input[float32], y: Output[float32], *, rows, n, share, tile):
    x_tile = buffer(tile, float32, depth=2)
    again = buffer(tile, float32)
    result = buffer(tile, float32, depth=2)
    top = buffer(1, float32)
    higher = buffer(1, float32)
    total = buffer(1, float32)
    first = core() * share
    last = min(first + share, rows)
    for row in range(first, last):
        with compute(1) as start_row:
            top[:] = -3.0e38
            total[:] = 0.0
        for offset in range(0, n, tile):
            length = min(tile, n - offset)
            with copy_in as read:
                load(x_tile, x[row * n + offset], length)
            with compute(length) as add:
                higher[:] = max(top, row_max(x_tile))
                total[:] = total * exp(top - higher) + row_sum(exp(x_tile - higher))
                top[:] = higher
        with compute(1) as end_row:
            total[:] = 1.0 / total
        for offset in range(0, n, tile):
            length = min(tile, n - offset)
            with copy_in as read_again:
                load(again, x[row * n + offset], length)
            with compute(length) as finish:
                result[:] = exp(again - top) * total
            with copy_out:
                store(y[row * n + offset], result, length)


# npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
