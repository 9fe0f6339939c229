"""CraftMeanReductionOverADimension: the mean along an axis.

Neighbours along the axis are a row where the axis is the last one, and a column of a tile where it is not.
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
    run = min(round_up(n, 64), 8192) if inner == 1 else 8
    tall = 1 if inner == 1 else min(n, 8192 // round_up(width, 8))
    y.shape = x.shape[0:axis] + x.shape[axis + 1 :]
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
def craft_mean_reduction_over_a_dimension(
    x: Input[float32], y: Output[float32], dim: Attribute[int] = 1, *, items, share, n, inner, strips, width, run, tall
):
    x_run = buffer(run, float32, depth=2)
    one = buffer(1, float32)
    x_tile = buffer(tall, width, float32, depth=2)
    found = buffer(width, float32)
    first = core() * share
    for item in range(first, min(first + share, items)):
        if inner == 1:
            with compute(1) as start_row:
                one[:] = 0.0
            for offset in range(0, n, run):
                length = min(run, n - offset)
                with copy_in as read_row:
                    load(x_run, x[item * n + offset], length)
                with compute(length) as reduce_row:
                    one[:] = one + row_sum(x_run)
            with compute(1) as finish_row:
                one[:] = one / float(n)
            with copy_out as store_row:
                store(y[item], one, 1)
        else:
            at = item % strips * width
            cols = min(width, inner - at)
            with compute(cols) as start_columns:
                found[:] = 0.0
            for k in range(0, n, tall):
                rows = min(tall, n - k)
                with copy_in as read_columns:
                    load(x_tile, x[(item // strips * n + k) * inner + at], rows, cols, stride=inner)
                with compute(rows, cols) as reduce_columns:
                    found[:] = found + col_sum(x_tile)
            with compute(cols) as finish_columns:
                found[:] = found / float(n)
            with copy_out as store_columns:
                store(y[item // strips * inner + at], found, cols)


# npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
