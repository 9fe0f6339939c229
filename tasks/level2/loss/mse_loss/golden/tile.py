"""MseLoss: (predict - label)^2, element by element, or the mean or sum of all.

Every core sums its share; when all have met, the first one adds the sums.
"""

T = float16, float32


@host
def plan(predict, reduction):
    total = predict.size
    share = round_up(ceil_div(total, vector_cores()), 128)
    scale = 1.0 / float(total) if reduction == "mean" else 1.0
    y.shape = predict.shape if reduction == "none" else ()
    sums.shape = (vector_cores(),)
    launch(cores=vector_cores(), total=total, share=share, tile=4096, parts=vector_cores(), scale=scale)


@kernel
def mse_loss(
    predict: Input[T],
    label: Input[T],
    y: Output[T],
    sums: Workspace[float32],
    reduction: Attribute[str] = "mean",
    *,
    total,
    share,
    tile,
    parts,
    scale,
):
    predict_in = buffer(tile, T, depth=2)
    label_in = buffer(tile, T, depth=2)
    difference = buffer(tile, float32)
    y_out = buffer(tile, T)
    own = buffer(1, float32)
    all_sums = buffer(parts, float32)
    result = buffer(1, T)
    begin = core() * share
    count = min(share, total - begin)
    with compute(1) as clear:
        own[:] = 0.0
    for offset in range(0, count, tile):
        length = min(tile, count - offset)
        with copy_in:
            load(predict_in, predict[begin + offset], length)
            load(label_in, label[begin + offset], length)
        with compute(length) as square:
            difference[:] = float32(predict_in) - float32(label_in)
            difference[:] = difference * difference
        if reduction == "none":
            with compute(length) as narrow:
                y_out[:] = T(difference)
            with copy_out as store_errors:
                store(y[begin + offset], y_out, length)
        else:
            with compute(length) as add:
                own[:] = own + row_sum(difference)
    with copy_out as store_sum:
        store(sums[core()], own, 1)
    sync_all()
    if core() == 0 and reduction != "none":
        with copy_in as load_sums:
            load(all_sums, sums[0], parts)
        with compute(parts) as finish:
            result[:] = T(row_sum(all_sums) * scale)
        with copy_out as store_loss:
            store(y[0], result, 1)


# npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
