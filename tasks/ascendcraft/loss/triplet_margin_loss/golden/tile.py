"""CraftTripletMarginLoss: the mean over rows of max(0, |a - p| - |a - n| + margin).

1e-6 is added to every difference.

Every core sums over its rows; when all have met, the first one adds the sums.
"""


@host
def plan(anchor):
    n = anchor.shape[0]
    d = anchor.shape[1]
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
def craft_triplet_margin_loss(
    anchor: Input[float32],
    positive: Input[float32],
    negative: Input[float32],
    y: Output[float32],
    sums: Workspace[float32],
    margin: Attribute[float] = 1.0,
    *,
    n,
    d,
    share,
    tile,
    parts,
    scale,
):
    a_tile = buffer(tile, float32, depth=2)
    p_tile = buffer(tile, float32, depth=2)
    n_tile = buffer(tile, float32, depth=2)
    far = buffer(tile, float32)
    near_sum = buffer(1, float32)
    far_sum = buffer(1, float32)
    own = buffer(1, float32)
    all_sums = buffer(parts, float32)
    result = buffer(1, float32)
    first = core() * share
    with compute(1) as clear:
        own[:] = 0.0
    for row in range(first, min(first + share, n)):
        with compute(1) as start_row:
            near_sum[:] = 0.0
            far_sum[:] = 0.0
        for offset in range(0, d, tile):
            length = min(tile, d - offset)
            with copy_in:
                load(a_tile, anchor[row * d + offset], length)
                load(p_tile, positive[row * d + offset], length)
                load(n_tile, negative[row * d + offset], length)
            with compute(length) as add:
                far[:] = a_tile - p_tile + 1.0e-6
                near_sum[:] = near_sum + row_sum(far * far)
                far[:] = a_tile - n_tile + 1.0e-6
                far_sum[:] = far_sum + row_sum(far * far)
        with compute(1) as end_row:
            own[:] = own + max(sqrt(near_sum) - sqrt(far_sum) + margin, 0.0)
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
