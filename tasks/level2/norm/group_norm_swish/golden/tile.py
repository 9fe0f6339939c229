"""GroupNormSwish: statistics per sample and group of channels, scale and shift per channel, and perhaps Swish."""

T = float16, float32, bfloat16


@host
def plan(x, num_groups):
    groups = x.shape[0] * num_groups
    channels = x.shape[1] // num_groups
    area = prod(x.shape[2 : x.rank])
    wide = min(area, 2048)
    most = max(1, min(channels, 4096 // round_up(wide, 16)))
    used = min(vector_cores(), groups)
    y.shape = x.shape
    mean.shape = (x.shape[0], num_groups)
    rstd.shape = (x.shape[0], num_groups)
    launch(cores=used, used=used, groups=groups, channels=channels, area=area, wide=wide, most=most)


@kernel
def group_norm_swish(
    x: Input[T],
    gamma: Input[T],
    beta: Input[T],
    y: Output[T],
    mean: Output[T],
    rstd: Output[T],
    num_groups: Attribute[int],
    data_format: Attribute[str] = "NCHW",
    eps: Attribute[float] = 1.0e-5,
    activate_swish: Attribute[bool] = True,
    swish_scale: Attribute[float] = 1.0,
    *,
    used,
    groups,
    channels,
    area,
    wide,
    most,
):
    x_in = buffer(most, wide, T)
    weights_in = buffer(most, 1, T)
    shifts_in = buffer(most, 1, T)
    weights = buffer(most, 1, float32)
    shifts = buffer(most, 1, float32)
    given = buffer(most, wide, float32)
    result = buffer(most, wide, T)
    sums = buffer(wide, float32)
    total = buffer(1, float32)
    average = buffer(1, T)
    root = buffer(1, T)
    count = float(channels * area)
    whole = channels <= most and area <= wide
    for group in range(core(), groups, used):
        middle = 0.0
        scale = 0.0
        for step in range(3):
            with compute(1, wide) as start:
                sums[:] = 0.0
            for first in range(0, channels, most):
                rows = min(most, channels - first)
                for offset in range(0, area, wide):
                    length = min(wide, area - offset)
                    place = (group * channels + first) * area + offset
                    if step == 0 or not whole:
                        with copy_in as read:
                            load(x_in, x[place], rows, length, stride=area)
                        with compute(rows, length) as widen:
                            given[:] = float32(x_in) - middle
                    if step == 0:
                        with compute(rows, length) as add:
                            sums[:] = sums + col_sum(given)
                    if step == 1:
                        if whole:
                            with compute(rows, length) as centre:
                                given[:] = given - middle
                        with compute(rows, length) as add_squares:
                            sums[:] = sums + col_sum(given * given)
                    if step == 2:
                        channel = group % num_groups * channels + first
                        with copy_in as read_weights:
                            load(weights_in, gamma[channel], rows)
                            load(shifts_in, beta[channel], rows)
                        with compute(rows, length) as scale_and_shift:
                            weights[:] = float32(weights_in) * scale
                            shifts[:] = float32(shifts_in)
                            given[:] = given * weights + shifts
                        if activate_swish:
                            with compute(rows, length) as swish:
                                given[:] = given / (exp(given * -swish_scale) + 1.0)
                        with compute(rows, length) as round_result:
                            result[:] = T(given)
                        with copy_out as write_result:
                            store(y[place], result, rows, length, stride=area)
            with compute(wide) as end_step:
                total[:] = row_sum(sums)
            if step == 0:
                middle = total[0] / count
            if step == 1:
                scale = 1.0 / sqrt(total[0] / count + eps)
        with compute(1) as round_statistics:
            total[:] = middle
            average[:] = T(total)
            total[:] = scale
            root[:] = T(total)
        with copy_out as write_statistics:
            store(mean[group], average, 1)
            store(rstd[group], root, 1)


# npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
