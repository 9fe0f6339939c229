"""MseLossGradV2: y = c * (predict - label) * dout, c = 2 / elements for means and else 2."""

T = float16, float32, bfloat16


@host
def plan(predict):
    total = predict.size
    share = max(256, round_up(ceil_div(total, vector_cores()), 256))
    y.shape = predict.shape
    launch(cores=max(1, ceil_div(total, share)), total=total, share=share, tile=2048)


@kernel
def mse_loss_grad_v2(
    predict: Input[T],
    label: Input[T],
    dout: Input[T],
    y: Output[T],
    reduction: Attribute[str] = "mean",
    *,
    total,
    share,
    tile,
):
    predict_in = buffer(tile, T, depth=2)
    a = buffer(tile, float32)
    label_in = buffer(tile, T, depth=2)
    b = buffer(tile, float32)
    dout_in = buffer(tile, T, depth=2)
    c = buffer(tile, float32)
    y_out = buffer(tile, T, depth=2)
    begin = core() * share
    count = min(share, total - begin)
    factor = 2.0 / float(total) if reduction == "mean" else 2.0
    for offset in range(0, count, tile):
        length = min(tile, count - offset)
        with copy_in:
            load(predict_in, predict[begin + offset], length)
            load(label_in, label[begin + offset], length)
            load(dout_in, dout[begin + offset], length)
        with compute(length):
            a[:] = float32(predict_in)
            b[:] = float32(label_in)
            c[:] = float32(dout_in)
            y_out[:] = T((a - b) * c * factor)
        with copy_out:
            store(y[begin + offset], y_out, length)


# npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
