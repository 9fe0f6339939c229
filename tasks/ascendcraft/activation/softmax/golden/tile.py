"""CraftSoftmax: exp(x) / sum(exp(x)) over the last axis.

A row that fits into the unified buffer is read once. Of a longer one, the largest element and the sum are found
together: where a tile has a larger one, the sum so far is scaled.
"""


@host
def plan(x):
    n = x.shape[x.rank - 1]
    rows = x.size // n
    share = max(1, ceil_div(rows, vector_cores()))
    whole = n <= 11264
    y.shape = x.shape
    launch(
        cores=max(1, ceil_div(rows, share)),
        rows=rows,
        n=n,
        share=share,
        length=round_up(n, 64) if whole else 8,
        tile=8 if whole else 7168,
    )


@kernel
def craft_softmax(x: Input[float32], y: Output[float32], *, rows, n, share, length, tile):
    x_row = buffer(length, float32, depth=2)
    y_row = buffer(length, float32, depth=2)
    x_tile = buffer(tile, float32, depth=2)
    again = buffer(tile, float32)
    result = buffer(tile, float32, depth=2)
    top = buffer(1, float32)
    higher = buffer(1, float32)
    total = buffer(1, float32)
    first = core() * share
    last = min(first + share, rows)
    if n <= length:
        for row in range(first, last):
            with copy_in as read_row:
                load(x_row, x[row * n], n)
            with compute(n) as whole_row:
                top[:] = row_max(x_row)
                y_row[:] = exp(x_row - top)
                total[:] = 1.0 / row_sum(y_row)
                y_row[:] = y_row * total
            with copy_out as store_row:
                store(y[row * n], y_row, n)
    else:
        for row in range(first, last):
            with compute(1) as start_row:
                top[:] = -3.0e38
                total[:] = 0.0
            for offset in range(0, n, tile):
                some = min(tile, n - offset)
                with copy_in as read:
                    load(x_tile, x[row * n + offset], some)
                with compute(some) as add:
                    higher[:] = max(top, row_max(x_tile))
                    total[:] = total * exp(top - higher) + row_sum(exp(x_tile - higher))
                    top[:] = higher
            with compute(1) as end_row:
                total[:] = 1.0 / total
            for offset in range(0, n, tile):
                some = min(tile, n - offset)
                with copy_in as read_again:
                    load(again, x[row * n + offset], some)
                with compute(some) as finish:
                    result[:] = exp(again - top) * total
                with copy_out:
                    store(y[row * n + offset], result, some)


# npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
