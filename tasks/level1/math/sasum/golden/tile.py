"""Sasum: the sum of |x[i * incx]| for 0 <= i < n.

Every core sums its share; when all have met, the first one adds the sums.
"""

T = float32, float16


@host
def plan(x, n, incx):
    share = round_up(ceil_div(n, vector_cores()), 128)
    result.shape = ()
    sums.shape = (vector_cores(),)
    launch(cores=vector_cores(), share=share, tile=min(share, 4096), tall=min(share, 512), parts=vector_cores())


@kernel
def sasum(
    x: Input[T],
    result: Output[T],
    sums: Workspace[float32],
    n: Attribute[int] = 0,
    incx: Attribute[int] = 1,
    *,
    share,
    tile,
    tall,
    parts,
):
    x_in = buffer(tile, T, depth=2)
    column_in = buffer(tall, 2, T)
    own = buffer(1, float32)
    own_apart = buffer(2, float32)
    all_sums = buffer(parts, float32)
    result_out = buffer(1, T)
    begin = core() * share
    count = min(share, n - begin)
    with compute(1) as clear:
        own[:] = 0.0
    if incx == 1:
        for offset in range(0, count, tile):
            length = min(tile, count - offset)
            with copy_in as read:
                load(x_in, x[begin + offset], length)
            with compute(length) as add:
                own[:] = own + row_sum(abs(float32(x_in)))
    else:
        with compute(1, 1) as clear_apart:
            own_apart[:] = 0.0
        for offset in range(0, count, tall):
            rows = min(tall, count - offset)
            with copy_in as read_apart:
                load(column_in, x[(begin + offset) * incx], rows, 1, stride=incx)
            with compute(rows, 1) as add_apart:
                own_apart[:] = own_apart + col_sum(abs(float32(column_in)))
        with compute(1) as join:
            own[:] = row_sum(own_apart)
    with copy_out as store_sum:
        store(sums[core()], own, 1)
    sync_all()
    if core() == 0:
        with copy_in as load_sums:
            load(all_sums, sums[0], parts)
        with compute(parts) as finish:
            result_out[:] = T(row_sum(all_sums))
        with copy_out as store_result:
            store(result[0], result_out, 1)


# npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
