"""LayerNormV4: layer normalisation over the last axes; scale and shift may be absent."""

T = float32, float16, bfloat16


@host
def plan(x, normalized_shape):
    axes = normalized_shape.size
    d = prod(x.shape[x.rank - axes : x.rank])
    n = x.size // d
    wide = min(d, 16384 // x.itemsize)
    most = max(1, min(64, min(4096 // round_up(d, 16), ceil_div(n, vector_cores()))))
    share = round_up(max(1, ceil_div(n, vector_cores())), most)
    y.shape = x.shape
    mean.shape = x.shape[0 : x.rank - axes] + (1,) * axes
    rstd.shape = x.shape[0 : x.rank - axes] + (1,) * axes
    launch(cores=max(1, ceil_div(n, share)), n=n, d=d, share=share, most=most, wide=wide)


@kernel
def layer_norm_v4(
    x: Input[T],
    normalized_shape: Input[int32],
    gamma: Input[T] | None,
    beta: Input[T] | None,
    y: Output[T],
    mean: Output[float32],
    rstd: Output[float32],
    epsilon: Attribute[float] = 1.0e-5,
    *,
    n,
    d,
    share,
    most,
    wide,
):
    x_in = buffer(most, wide, T)
    scale_in = buffer(wide, T)
    shift_in = buffer(wide, T)
    total = buffer(most, wide, float32)
    result = buffer(most, wide, T)
    average = buffer(most, 1, float32)
    root = buffer(most, 1, float32)
    begin = core() * share
    end = min(begin + share, n)
    for first in range(begin, end, most):
        rows = min(most, end - first)
        with compute(rows, 1) as start:
            average[:] = 0.0
            root[:] = 0.0
        for step in range(3):
            for offset in range(0, d, wide):
                length = min(wide, d - offset)
                place = first * d + offset
                if step == 0 or d > wide:
                    with copy_in as read:
                        load(x_in, x[place], rows, length, stride=d)
                    with compute(rows, length) as widen:
                        total[:] = float32(x_in)
                if step == 0:
                    with compute(rows, length) as add_to_mean:
                        average[:] = average + row_sum(total) * (1.0 / float(d))
                if step == 1:
                    with compute(rows, length) as add_squares:
                        total[:] = total - average
                        root[:] = root + row_sum(total * total) * (1.0 / float(d))
                if step == 2:
                    if d > wide:
                        with compute(rows, length) as centre:
                            total[:] = total - average
                    if offset == 0:
                        with compute(rows, 1) as end_root:
                            root[:] = 1.0 / sqrt(root + epsilon)
                    with compute(rows, length) as normalise:
                        total[:] = total * root
                    if gamma is not None:
                        with copy_in as read_gamma:
                            load(scale_in, gamma[offset], length)
                        with compute(rows, length) as scale:
                            total[:] = total * float32(scale_in)
                    if beta is not None:
                        with copy_in as read_beta:
                            load(shift_in, beta[offset], length)
                        with compute(rows, length) as move:
                            total[:] = total + float32(shift_in)
                    with compute(rows, length) as round_result:
                        result[:] = T(total)
                    with copy_out as write_result:
                        store(y[place], result, rows, length, stride=d)
        with copy_out as write_statistics:
            store(mean[first], average, rows)
            store(rstd[first], root, rows)


# npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
