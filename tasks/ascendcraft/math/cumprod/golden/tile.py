"""CraftCumprod: running products along an axis.

A row is scanned in tiles: the elements 1, 2, 4, ... places before are multiplied in turn, and what the tiles before
have come to is carried over. Where the axis is not the last one, tiles lie across it and one follows the other.
"""


@host
def plan(x, dim):
    axis = dim if dim >= 0 else dim + x.rank
    outer = prod(x.shape[0:axis])
    n = x.shape[axis]
    inner = prod(x.shape[axis + 1 :])
    width = 8 if inner == 1 else min(inner, 2048)
    strips = 1 if inner == 1 else ceil_div(inner, width)
    items = outer * strips
    share = max(1, ceil_div(items, vector_cores()))
    run = min(round_up(n, 64), 4096) if inner == 1 else 8
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
    )


@kernel
def craft_cumprod(
    x: Input[float32], y: Output[float32], dim: Attribute[int] = 1, *, items, share, n, inner, strips, width, run
):
    x_run = buffer(run, float32, depth=2)
    sums = buffer(run, float32)
    shifted = buffer(run, float32)
    y_run = buffer(run, float32, depth=2)
    carry = buffer(1, float32)
    x_tile = buffer(width, float32, depth=2)
    y_tile = buffer(width, float32, depth=2)
    carries = buffer(width, float32)
    first = core() * share
    for item in range(first, min(first + share, items)):
        if inner == 1:
            with compute(1) as start_row:
                carry[:] = 1.0
            for offset in range(0, n, run):
                length = min(run, n - offset)
                at = item * n + offset
                with copy_in as read_run:
                    load(x_run, x[at], length)
                with compute(length) as scan_run:
                    sums[:] = x_run
                    distance = 1
                    for step in range(0, 12):
                        if distance < length:
                            shifted[:] = shift(sums, distance, 1.0)
                            sums[:] = sums * shifted
                            distance = distance * 2
                    y_run[:] = sums * carry
                    carry[:] = carry * row_max(gather(sums, iota() * 0 + (length - 1)))
                with copy_out as store_run:
                    store(y[at], y_run, length)
        else:
            column = item % strips * width
            cols = min(width, inner - column)
            with compute(cols) as start_columns:
                carries[:] = 1.0
            for k in range(0, n):
                at = (item // strips * n + k) * inner + column
                with copy_in as read_tile:
                    load(x_tile, x[at], cols)
                with compute(cols) as scan_tile:
                    carries[:] = carries * x_tile
                    y_tile[:] = carries
                with copy_out as store_tile:
                    store(y[at], y_tile, cols)


# npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
