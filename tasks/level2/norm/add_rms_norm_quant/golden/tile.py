"""AddRmsNormQuant: the root mean square normalisation of x1 + x2, quantised once or twice."""

T = float16, bfloat16
S = float32, bfloat16
Z = int32, bfloat16


@host
def plan(x1, gamma, scales2):
    d = gamma.size
    n = x1.size // d
    wide = min(d, 2048)
    most = max(1, min(64, min(4096 // round_up(d, 32), ceil_div(n, vector_cores()))))
    share = round_up(max(1, ceil_div(n, vector_cores())), most)
    y1.shape = x1.shape
    y2.shape = x1.shape if scales2 is not None else (0,)
    x.shape = x1.shape
    launch(cores=max(1, ceil_div(n, share)), n=n, d=d, share=share, most=most, wide=wide)


@kernel
def add_rms_norm_quant(
    x1: Input[T],
    x2: Input[T],
    gamma: Input[T],
    scales1: Input[S],
    scales2: Input[S] | None,
    zero_points1: Input[Z] | None,
    zero_points2: Input[Z] | None,
    y1: Output[int8],
    y2: Output[int8],
    x: Output[T],
    axis: Attribute[int] = -1,
    epsilon: Attribute[float] = 1.0e-6,
    div_mode: Attribute[bool] = True,
    *,
    n,
    d,
    share,
    most,
    wide,
):
    x1_in = buffer(most, wide, T)
    x2_in = buffer(most, wide, T)
    gamma_in = buffer(wide, T)
    scale_in = buffer(wide, S)
    zero_in = buffer(wide, Z)
    scale = buffer(wide, float32)
    total = buffer(most, wide, float32)
    scaled = buffer(most, wide, float32)
    summed = buffer(most, wide, T)
    result = buffer(most, wide, int8)
    root = buffer(most, 1, float32)
    begin = core() * share
    end = min(begin + share, n)
    for first in range(begin, end, most):
        rows = min(most, end - first)
        with compute(rows, 1) as start:
            root[:] = 0.0
        for step in range(2):
            for offset in range(0, d, wide):
                length = min(wide, d - offset)
                place = first * d + offset
                if step == 0 or d > wide:
                    with copy_in as read_terms:
                        load(x1_in, x1[place], rows, length, stride=d)
                        load(x2_in, x2[place], rows, length, stride=d)
                    with compute(rows, length) as add_terms:
                        total[:] = float32(x1_in) + float32(x2_in)
                if step == 0:
                    with compute(rows, length) as add_squares:
                        summed[:] = T(total)
                        root[:] = root + row_sum(total * total) * (1.0 / float(d))
                    with copy_out as write_sum:
                        store(x[place], summed, rows, length, stride=d)
                if step == 1:
                    if offset == 0:
                        with compute(rows, 1) as end_root:
                            root[:] = 1.0 / sqrt(root + epsilon)
                    with copy_in as read_gamma:
                        load(gamma_in, gamma[offset], length)
                    with compute(rows, length) as normalise:
                        total[:] = total * root * float32(gamma_in)
                    with copy_in as read_scale1:
                        load(scale_in, scales1[offset], length)
                    with compute(rows, length) as widen_scale1:
                        scale[:] = float32(scale_in)
                    if div_mode:
                        with compute(rows, length) as divide1:
                            scaled[:] = total / scale
                    else:
                        with compute(rows, length) as multiply_by1:
                            scaled[:] = total * scale
                    if zero_points1 is not None:
                        with copy_in as read_zero1:
                            load(zero_in, zero_points1[offset], length)
                        with compute(rows, length) as add_zero1:
                            scale[:] = float32(zero_in)
                            scaled[:] = scaled + scale
                    with compute(rows, length) as quantise1:
                        result[:] = int8(int32(min(max(scaled, -128.0), 127.0), "rint"))
                    with copy_out as write_y1:
                        store(y1[place], result, rows, length, stride=d)
                    if scales2 is not None:
                        with copy_in as read_scale2:
                            load(scale_in, scales2[offset], length)
                        with compute(rows, length) as widen_scale2:
                            scale[:] = float32(scale_in)
                        if div_mode:
                            with compute(rows, length) as divide2:
                                scaled[:] = total / scale
                        else:
                            with compute(rows, length) as multiply_by2:
                                scaled[:] = total * scale
                        if zero_points2 is not None:
                            with copy_in as read_zero2:
                                load(zero_in, zero_points2[offset], length)
                            with compute(rows, length) as add_zero2:
                                scale[:] = float32(zero_in)
                                scaled[:] = scaled + scale
                        with compute(rows, length) as quantise2:
                            result[:] = int8(int32(min(max(scaled, -128.0), 127.0), "rint"))
                        with copy_out as write_y2:
                            store(y2[place], result, rows, length, stride=d)


# npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
