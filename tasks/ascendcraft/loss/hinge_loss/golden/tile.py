"""CraftHingeLoss: the mean of max(0, 1 - predictions * targets), with one target per column.

Every core sums over its rows; when all have met, the first one adds the sums.
"""


@host
def plan(predictions):
    n = predictions.shape[0]
    d = predictions.shape[1]
    cores = vector_cores()
    y.shape = ()
    sums.shape = (cores,)
    launch(
        cores=cores,
        n=n,
        d=d,
        share=ceil_div(n, cores),
        tile=min(round_up(d, 64), 4096),
        parts=cores,
        scale=1.0 / float(predictions.size),
    )


@kernel
def craft_hinge_loss(
    predictions: Input[float32],
    targets: Input[float32],
    y: Output[float32],
    sums: Workspace[float32],
    *,
    n,
    d,
    share,
    tile,
    parts,
    scale,
):
    p_tile = buffer(tile, float32, depth=2)
    t_tile = buffer(tile, float32, depth=2)
    own = buffer(1, float32)
    all_sums = buffer(parts, float32)
    result = buffer(1, float32)
    first = core() * share
    with compute(1) as clear:
        own[:] = 0.0
    for row in range(first, min(first + share, n)):
        for offset in range(0, d, tile):
            length = min(tile, d - offset)
            with copy_in:
                load(p_tile, predictions[row * d + offset], length)
                load(t_tile, targets[offset], length)
            with compute(length) as add:
                own[:] = own + row_sum(max(1.0 - p_tile * t_tile, 0.0))
    with copy_out as store_sum:
        store(sums[core()], own, 1)
    sync_all()
    if core() == 0:
        with copy_in as load_sums:
            load(all_sums, sums[0], parts)
        with compute(parts) as finish:
            result[:] = row_sum(all_sums) * scale
        with copy_out as store_loss:
            store(y[0], result, 1)


# npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
