"""InplaceAddLayerNorm: layer normalisation of x1 + x2 + bias over the axes of gamma, in place of the terms."""

T = float16, bfloat16, float32


@host
def plan(x1, gamma, bias):
    d = gamma.size
    n = x1.size // d
    full_bias = 1
    if bias is not None:
        full_bias = 1 if bias.size == x1.size else 0
    wide = min(d, 14336 // x1.itemsize)
    most = max(1, min(64, min(4096 // round_up(d, 16), ceil_div(n, vector_cores()))))
    share = round_up(max(1, ceil_div(n, vector_cores())), most)
    y.shape = x1.shape
    mean.shape = x1.shape[0 : x1.rank - gamma.rank] + (1,) * gamma.rank
    rstd.shape = x1.shape[0 : x1.rank - gamma.rank] + (1,) * gamma.rank
    x.shape = x2.shape
    launch(
        cores=max(1, ceil_div(n, share)),
        n=n,
        d=d,
        share=share,
        most=most,
        wide=wide,
        full_bias=full_bias,
        last=2 if d > wide else 0,
    )


@kernel
def inplace_add_layer_norm(
    x1: Input[T],
    x2: Input[T],
    gamma: Input[T],
    beta: Input[T],
    bias: Input[T] | None,
    y: Output[T, x1],
    mean: Output[float32],
    rstd: Output[float32],
    x: Output[T, x2],
    epsilon: Attribute[float] = 1.0e-5,
    additional_output: Attribute[bool] = False,
    *,
    n,
    d,
    share,
    most,
    wide,
    full_bias,
    last,
):
    x1_in = buffer(most, wide, T)
    x2_in = buffer(most, wide, T)
    row_in = buffer(wide, T)
    shift_in = buffer(wide, T)
    total = buffer(most, wide, float32)
    summed = buffer(most, wide, T)
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
                    with copy_in as read_terms:
                        load(x1_in, x1[place], rows, length, stride=d)
                        load(x2_in, x2[place], rows, length, stride=d)
                    with compute(rows, length) as add_terms:
                        total[:] = float32(x1_in) + float32(x2_in)
                    if bias is not None:
                        if full_bias == 1:
                            with copy_in as read_bias:
                                load(x1_in, bias[place], rows, length, stride=d)
                            with compute(rows, length) as add_bias:
                                total[:] = total + float32(x1_in)
                        else:
                            with copy_in as read_bias_row:
                                load(row_in, bias[offset], length)
                            with compute(rows, length) as add_bias_row:
                                total[:] = total + float32(row_in)
                # What is read again must stay until the last time.
                if additional_output and step == last:
                    with compute(rows, length) as round_sum:
                        summed[:] = T(total)
                    with copy_out as write_sum:
                        store(x[place], summed, rows, length, stride=d)
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
                    with copy_in as read_gamma:
                        load(row_in, gamma[offset], length)
                        load(shift_in, beta[offset], length)
                    with compute(rows, length) as scale:
                        result[:] = T(total * float32(row_in) + float32(shift_in))
                    with copy_out as write_result:
                        store(y[place], result, rows, length, stride=d)
        with copy_out as write_statistics:
            store(mean[first], average, rows)
            store(rstd[first], root, rows)


# npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
