"""CraftLogSoftmax: x - ln(sum(exp(x))) along an axis.

Neighbours along the axis are a row where the axis is the last one, and a column of a tile where it is not. The largest
element and the sum are found together: where a tile has a larger one, the sum so far is scaled.
"""


@host
def plan(x, dim):
    axis = dim if dim >= 0 else dim + x.rank
    outer = prod(x.shape[0:axis])
    n = x.shape[axis]
    inner = prod(x.shape[axis + 1 :])
    width = 1 if inner == 1 else min(inner, max(32, min(256, round_up(ceil_div(outer * inner, vector_cores()), 8))))
    strips = ceil_div(inner, width)
    items = outer * strips
    share = max(1, ceil_div(items, vector_cores()))
    run = min(round_up(n, 64), 6144) if inner == 1 else 8
    tall = 1 if inner == 1 else min(n, 4096 // round_up(width, 8))
    y.shape = x.shape
    launch(
        cores=max(1, ceil_div(items, share)),
        items=items,
        share=share,
        n=n,
        inner=inner,
        strips=strips,
        width=width,
        run=run,
        tall=tall,
    )


@kernel
def craft_log_softmax(
    x: Input[float32], y: Output[float32], dim: Attribute[int] = 1, *, items, share, n, inner, strips, width, run, tall
):
    x_run = buffer(run, float32, depth=2)
    run_again = buffer(run, float32)
    run_result = buffer(run, float32, depth=2)
    top = buffer(1, float32)
    higher = buffer(1, float32)
    total = buffer(1, float32)
    x_tile = buffer(tall, width, float32, depth=2)
    again = buffer(tall, width, float32)
    result = buffer(tall, width, float32, depth=2)
    tops = buffer(width, float32)
    highers = buffer(width, float32)
    totals = buffer(width, float32)
    first = core() * share
    last = min(first + share, items)
    if inner == 1:
        tile = run
        for row in range(first, last):
            with compute(1) as start_row:
                top[:] = -3.0e38
                total[:] = 0.0
            for offset in range(0, n, tile):
                length = min(tile, n - offset)
                with copy_in as read:
                    load(x_run, x[row * n + offset], length)
                with compute(length) as add:
                    higher[:] = max(top, row_max(x_run))
                    total[:] = total * exp(top - higher) + row_sum(exp(x_run - higher))
                    top[:] = higher
            with compute(1) as end_row:
                total[:] = ln(total)
            for offset in range(0, n, tile):
                length = min(tile, n - offset)
                with copy_in as read_again:
                    load(run_again, x[row * n + offset], length)
                with compute(length) as finish:
                    run_result[:] = run_again - top - total
                with copy_out:
                    store(y[row * n + offset], run_result, length)
    else:
        for item in range(first, last):
            at = item % strips * width
            start = item // strips * n * inner + at
            cols = min(width, inner - at)
            with compute(cols) as start_columns:
                tops[:] = -3.0e38
                totals[:] = 0.0
            for k in range(0, n, tall):
                rows = min(tall, n - k)
                with copy_in as read_columns:
                    load(x_tile, x[start + k * inner], rows, cols, stride=inner)
                with compute(rows, cols) as add_columns:
                    highers[:] = max(tops, col_max(x_tile))
                    totals[:] = totals * exp(tops - highers) + col_sum(exp(x_tile - highers))
                    tops[:] = highers
            with compute(cols) as end_columns:
                totals[:] = ln(totals)
            for k in range(0, n, tall):
                rows = min(tall, n - k)
                with copy_in as read_columns_again:
                    load(again, x[start + k * inner], rows, cols, stride=inner)
                with compute(rows, cols) as finish_columns:
                    result[:] = again - tops - totals
                with copy_out as store_columns:
                    store(y[start + k * inner], result, rows, cols, stride=inner)


# npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
