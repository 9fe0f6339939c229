"""CraftFrobeniusNorm: x divided by the Euclidean norm of all its elements.

Every core sums the squares of its share; when all have met, every core adds the sums and scales its share.
"""


@host
def plan(x):
    total = x.size
    cores = vector_cores()
    share = round_up(ceil_div(total, cores), 128)
    y.shape = x.shape
    sums.shape = (cores,)
    launch(cores=cores, total=total, share=share, tile=4096, parts=cores)


@kernel
def craft_frobenius_norm(x: Input[float32], y: Output[float32], sums: Workspace[float32], *, total, share, tile, parts):
    x_tile = buffer(tile, float32, depth=2)
    again = buffer(tile, float32, depth=2)
    result = buffer(tile, float32, depth=2)
    own = buffer(1, float32)
    factor = buffer(1, float32)
    all_sums = buffer(parts, float32)
    begin = core() * share
    count = min(share, total - begin)
    with compute(1) as clear:
        own[:] = 0.0
    for offset in range(0, count, tile):
        length = min(tile, count - offset)
        with copy_in as read:
            load(x_tile, x[begin + offset], length)
        with compute(length) as add:
            own[:] = own + row_sum(x_tile * x_tile)
    with copy_out as store_sum:
        store(sums[core()], own, 1)
    sync_all()
    with copy_in as load_sums:
        load(all_sums, sums[0], parts)
    with compute(parts) as add_sums:
        factor[:] = 1.0 / sqrt(row_sum(all_sums))
    for offset in range(0, count, tile):
        length = min(tile, count - offset)
        with copy_in as read_again:
            load(again, x[begin + offset], length)
        with compute(length) as scale:
            result[:] = again * factor
        with copy_out:
            store(y[begin + offset], result, length)


# npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
