"""PreLayerNorm: layer normalisation of the sum of two tensors over the last axis."""


@host
def plan(x, y):
    d = x.shape[x.rank - 1]
    n = x.size // d
    wide = min(d, 2048)
    most = max(1, min(64, min(4096 // round_up(d, 16), ceil_div(n, vector_cores()))))
    share = round_up(max(1, ceil_div(n, vector_cores())), most)
    res_out.shape = x.shape
    launch(cores=max(1, ceil_div(n, share)), n=n, d=d, share=share, most=most, wide=wide)


@kernel
def pre_layer_norm(
    x: Input[float32],
    y: Input[float32],
    gamma: Input[float32],
    beta: Input[float32],
    res_out: Output[float32],
    epsilon: Attribute[float],
    *,
    n,
    d,
    share,
    most,
    wide,
):
    x_in = buffer(most, wide, float32, depth=2)
    y_in = buffer(most, wide, float32, depth=2)
    scale_in = buffer(wide, float32)
    shift_in = buffer(wide, float32)
    total = buffer(most, wide, float32)
    result = buffer(most, wide, float32, depth=2)
    mean = buffer(most, 1, float32)
    root = buffer(most, 1, float32)
    begin = core() * share
    end = min(begin + share, n)
    for first in range(begin, end, most):
        rows = min(most, end - first)
        with compute(rows, 1) as start:
            mean[:] = 0.0
            root[:] = 0.0
        for step in range(3):
            for offset in range(0, d, wide):
                length = min(wide, d - offset)
                place = first * d + offset
                if step == 0 or d > wide:
                    with copy_in as read:
                        load(x_in, x[place], rows, length, stride=d)
                        load(y_in, y[place], rows, length, stride=d)
                    with compute(rows, length) as add:
                        total[:] = x_in + y_in
                if step == 0:
                    with compute(rows, length) as add_to_mean:
                        mean[:] = mean + row_sum(total) * (1.0 / float(d))
                if step == 1:
                    with compute(rows, length) as add_squares:
                        total[:] = total - mean
                        root[:] = root + row_sum(total * total) * (1.0 / float(d))
                if step == 2:
                    if d > wide:
                        with compute(rows, length) as centre:
                            total[:] = total - mean
                    if offset == 0:
                        with compute(rows, 1) as end_root:
                            root[:] = 1.0 / sqrt(root + epsilon)
                    if d > wide or first == begin:
                        with copy_in as read_weights:
                            load(scale_in, gamma[offset], length)
                            load(shift_in, beta[offset], length)
                    with compute(rows, length) as normalise:
                        result[:] = total * root * scale_in + shift_in
                    with copy_out as write_result:
                        store(res_out[place], result, rows, length, stride=d)


# npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
