"""CraftHuberLoss: the mean of d^2 / 2 where d = |predictions - targets| < 1, else of d - 1 / 2.

That is m * (d - m / 2) with m = min(d, 1).

Every core sums its share; when all have met, the first one adds the sums.
"""


@host
def plan(predictions):
    total = predictions.size
    cores = vector_cores()
    share = round_up(ceil_div(total, cores), 128)
    scale = 1.0 / float(total)
    y.shape = ()
    sums.shape = (cores,)
    launch(cores=cores, total=total, share=share, tile=4096, parts=cores, scale=scale)


@kernel
def craft_huber_loss(
    predictions: Input[float32],
    targets: Input[float32],
    y: Output[float32],
    sums: Workspace[float32],
    *,
    total,
    share,
    tile,
    parts,
    scale,
):
    predictions_tile = buffer(tile, float32, depth=2)
    targets_tile = buffer(tile, float32, depth=2)
    distance = buffer(tile, float32)
    small = buffer(tile, float32)
    own = buffer(1, float32)
    all_sums = buffer(parts, float32)
    result = buffer(1, float32)
    begin = core() * share
    count = min(share, total - begin)
    with compute(1) as clear:
        own[:] = 0.0
    for offset in range(0, count, tile):
        length = min(tile, count - offset)
        with copy_in:
            load(predictions_tile, predictions[begin + offset], length)
            load(targets_tile, targets[begin + offset], length)
        with compute(length) as add:
            distance[:] = abs(predictions_tile - targets_tile)
            small[:] = min(distance, 1.0)
            own[:] = own + row_sum((distance - small * 0.5) * small)
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
