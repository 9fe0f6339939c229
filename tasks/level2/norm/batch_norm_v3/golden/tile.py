"""BatchNormV3: channels by the statistics of the batch, which move the running ones, or by these."""

T = float32, float16, bfloat16


@host
def plan(x, is_training):
    samples = x.shape[0]
    channels = x.shape[1]
    area = prod(x.shape[2 : x.rank])
    wide = min(area, 2048)
    most = max(1, min(samples, 4096 // round_up(wide, 16)))
    used = min(vector_cores(), channels)
    y.shape = x.shape
    running_mean_out.shape = running_mean.shape
    running_var_out.shape = running_var.shape
    save_mean.shape = running_mean.shape if is_training else (0,)
    save_rstd.shape = running_mean.shape if is_training else (0,)
    launch(cores=used, used=used, samples=samples, channels=channels, area=area, wide=wide, most=most)


@kernel
def batch_norm_v3(
    x: Input[T],
    weight: Input[T],
    bias: Input[T],
    running_mean: Input[float32],
    running_var: Input[float32],
    y: Output[T],
    running_mean_out: Output[float32, running_mean],
    running_var_out: Output[float32, running_var],
    save_mean: Output[float32],
    save_rstd: Output[float32],
    epsilon: Attribute[float] = 1.0e-5,
    momentum: Attribute[float] = 0.1,
    is_training: Attribute[bool] = True,
    *,
    used,
    samples,
    channels,
    area,
    wide,
    most,
):
    x_in = buffer(most, wide, T)
    weight_in = buffer(1, T)
    bias_in = buffer(1, T)
    slope = buffer(1, float32)
    lift = buffer(1, float32)
    given = buffer(most, wide, float32)
    result = buffer(most, wide, T)
    sums = buffer(wide, float32)
    total = buffer(1, float32)
    saved_mean = buffer(1, float32)
    saved_rstd = buffer(1, float32)
    new_mean = buffer(1, float32)
    new_var = buffer(1, float32)
    count = float(samples * area)
    whole = samples <= most and area <= wide
    for channel in range(core(), channels, used):
        with copy_in as read_weights:
            load(weight_in, weight[channel], 1)
            load(bias_in, bias[channel], 1)
        with compute(1) as widen_weights:
            slope[:] = float32(weight_in)
            lift[:] = float32(bias_in)
        factor = slope[0]
        offset_of = lift[0]
        middle = running_mean[channel]
        spread = running_var[channel]
        begin = 2
        if is_training:
            begin = 0
            middle = 0.0
        for step in range(begin, 3):
            with compute(1, wide) as start:
                sums[:] = 0.0
            if step == 2:
                factor = factor / sqrt(spread + epsilon)
            for first in range(0, samples, most):
                rows = min(most, samples - first)
                for offset in range(0, area, wide):
                    length = min(wide, area - offset)
                    place = (first * channels + channel) * area + offset
                    if step == begin or not whole:
                        with copy_in as read:
                            load(x_in, x[place], rows, length, stride=channels * area)
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
                        with compute(rows, length) as scale:
                            result[:] = T(given * factor + offset_of)
                        with copy_out as write_result:
                            store(y[place], result, rows, length, stride=channels * area)
            if step < 2:
                with compute(wide) as end_step:
                    total[:] = row_sum(sums)
                if step == 0:
                    middle = total[0] / count
                else:
                    spread = total[0] / count
        if is_training:
            with compute(1) as statistics:
                saved_mean[:] = middle
                saved_rstd[:] = 1.0 / sqrt(spread + epsilon)
                new_mean[:] = running_mean[channel] * (1.0 - momentum) + middle * momentum
                new_var[:] = (
                    running_var[channel] * (1.0 - momentum) + spread * (count / max(count - 1.0, 1.0)) * momentum
                )
            with copy_out as write_statistics:
                store(save_mean[channel], saved_mean, 1)
                store(save_rstd[channel], saved_rstd, 1)
                store(running_mean_out[channel], new_mean, 1)
                store(running_var_out[channel], new_var, 1)


# npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
