"""CraftCrossEntropyLoss: the mean over rows of ln(sum exp(p)) - p[target].

The largest logit and the sum of a row are found together: where a tile has a larger one, the sum so far is scaled.

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
def craft_cross_entropy_loss(
    predictions: Input[float32],
    targets: Input[int64],
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
    logits = buffer(tile, float32, depth=2)
    top = buffer(1, float32)
    higher = buffer(1, float32)
    total = buffer(1, float32)
    own = buffer(1, float32)
    all_sums = buffer(parts, float32)
    result = buffer(1, float32)
    first = core() * share
    with compute(1) as clear:
        own[:] = 0.0
    for row in range(first, min(first + share, n)):
        picked = predictions[row * d + targets[row]]
        with compute(1) as start_row:
            top[:] = -3.0e38
            total[:] = 0.0
        for offset in range(0, d, tile):
            length = min(tile, d - offset)
            with copy_in:
                load(logits, predictions[row * d + offset], length)
            with compute(length) as add:
                higher[:] = max(top, row_max(logits))
                total[:] = total * exp(top - higher) + row_sum(exp(logits - higher))
                top[:] = higher
        with compute(1) as end_row:
            own[:] = own + (ln(total) + top - picked)
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
