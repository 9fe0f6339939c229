"""CraftCosineSimilarityLoss: the mean over rows of 1 - cos(predictions, targets). Norms are at least 1e-8.

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
        scale=1.0 / float(n),
    )


@kernel
def craft_cosine_similarity_loss(
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
    pp = buffer(1, float32)
    tt = buffer(1, float32)
    pt = buffer(1, float32)
    own = buffer(1, float32)
    all_sums = buffer(parts, float32)
    result = buffer(1, float32)
    first = core() * share
    with compute(1) as clear:
        own[:] = 0.0
    for row in range(first, min(first + share, n)):
        with compute(1) as start_row:
            pp[:] = 0.0
            tt[:] = 0.0
            pt[:] = 0.0
        for offset in range(0, d, tile):
            length = min(tile, d - offset)
            with copy_in:
                load(p_tile, predictions[row * d + offset], length)
                load(t_tile, targets[row * d + offset], length)
            with compute(length) as add:
                pp[:] = pp + row_sum(p_tile * p_tile)
                tt[:] = tt + row_sum(t_tile * t_tile)
                pt[:] = pt + row_sum(p_tile * t_tile)
        with compute(1) as end_row:
            own[:] = own + (1.0 - pt / (max(sqrt(pp), 1.0e-8) * max(sqrt(tt), 1.0e-8)))
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
