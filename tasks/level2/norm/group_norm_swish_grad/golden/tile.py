"""GroupNormSwishGrad: the gradients of a group normalisation that Swish follows."""

T = float32, float16, bfloat16


@host
def plan(x, gamma, num_groups, dgamma_is_require, dbeta_is_require):
    samples = x.shape[0]
    channels = x.shape[1] // num_groups
    area = prod(x.shape[2 : x.rank])
    wide = min(area, 1024)
    most = max(1, min(channels, 2048 // round_up(wide, 16)))
    used = min(vector_cores(), num_groups)
    dx.shape = x.shape
    dgamma.shape = gamma.shape if dgamma_is_require else (0,)
    dbeta.shape = gamma.shape if dbeta_is_require else (0,)
    launch(cores=used, used=used, samples=samples, channels=channels, area=area, wide=wide, most=most)


@kernel
def group_norm_swish_grad(
    dy: Input[T],
    mean: Input[T],
    rstd: Input[T],
    x: Input[T],
    gamma: Input[T],
    beta: Input[T],
    dx: Output[T],
    dgamma: Output[T],
    dbeta: Output[T],
    num_groups: Attribute[int],
    data_format: Attribute[str] = "NCHW",
    swish_scale: Attribute[float] = 1.0,
    dgamma_is_require: Attribute[bool] = True,
    dbeta_is_require: Attribute[bool] = True,
    *,
    used,
    samples,
    channels,
    area,
    wide,
    most,
):
    dy_in = buffer(most, wide, T)
    x_in = buffer(most, wide, T)
    weights_in = buffer(most, 1, T)
    shifts_in = buffer(most, 1, T)
    weights = buffer(most, 1, float32)
    shifts = buffer(most, 1, float32)
    average_in = buffer(1, T)
    root_in = buffer(1, T)
    average = buffer(1, float32)
    root = buffer(1, float32)
    hat = buffer(most, wide, float32)
    z = buffer(most, wide, float32)
    p = buffer(most, wide, float32)
    g = buffer(most, wide, float32)
    result = buffer(most, wide, T)
    sums = buffer(wide, float32)
    sums_of_hat = buffer(wide, float32)
    total = buffer(1, float32)
    total_of_hat = buffer(1, float32)
    of_gamma = buffer(most, 1, float32)
    of_beta = buffer(most, 1, float32)
    of_gamma_out = buffer(most, 1, T)
    of_beta_out = buffer(most, 1, T)
    count = float(channels * area)
    for group in range(core(), num_groups, used):
        # What does not fit at once is read again for sums over samples.
        if channels > most:
            for first in range(0, channels, most):
                rows = min(most, channels - first)
                channel = group * channels + first
                with compute(rows, 1) as clear_part:
                    of_gamma[:] = 0.0
                    of_beta[:] = 0.0
                for n in range(samples):
                    with copy_in as read_statistics_of_part:
                        load(average_in, mean[n * num_groups + group], 1)
                        load(root_in, rstd[n * num_groups + group], 1)
                    with compute(1) as widen_statistics_of_part:
                        average[:] = float32(average_in)
                        root[:] = float32(root_in)
                    middle = average[0]
                    scale = root[0]
                    for offset in range(0, area, wide):
                        length = min(wide, area - offset)
                        place = ((n * num_groups + group) * channels + first) * area + offset
                        with copy_in as read_part:
                            load(dy_in, dy[place], rows, length, stride=area)
                            load(x_in, x[place], rows, length, stride=area)
                            load(weights_in, gamma[channel], rows)
                            load(shifts_in, beta[channel], rows)
                        with compute(rows, length) as prepare_part:
                            weights[:] = float32(weights_in)
                            shifts[:] = float32(shifts_in)
                            hat[:] = (float32(x_in) - middle) * scale
                            z[:] = hat * weights + shifts
                            p[:] = 1.0 / (exp(z * -swish_scale) + 1.0)
                            g[:] = float32(dy_in) * p * ((1.0 - p) * z * swish_scale + 1.0)
                        with compute(rows, length) as add_part:
                            of_gamma[:] = of_gamma + row_sum(g * hat)
                            of_beta[:] = of_beta + row_sum(g)
                with compute(rows, 1) as round_part:
                    of_gamma_out[:] = T(of_gamma)
                    of_beta_out[:] = T(of_beta)
                if dgamma_is_require:
                    with copy_out as write_part_of_dgamma:
                        store(dgamma[channel], of_gamma_out, rows)
                if dbeta_is_require:
                    with copy_out as write_part_of_dbeta:
                        store(dbeta[channel], of_beta_out, rows)
        with compute(most, 1) as clear:
            of_gamma[:] = 0.0
            of_beta[:] = 0.0
        for n in range(samples):
            with copy_in as read_statistics:
                load(average_in, mean[n * num_groups + group], 1)
                load(root_in, rstd[n * num_groups + group], 1)
            with compute(1) as widen_statistics:
                average[:] = float32(average_in)
                root[:] = float32(root_in)
            middle = average[0]
            scale = root[0]
            mean_g = 0.0
            mean_g_hat = 0.0
            for step in range(2):
                with compute(1, wide) as start:
                    sums[:] = 0.0
                    sums_of_hat[:] = 0.0
                for first in range(0, channels, most):
                    rows = min(most, channels - first)
                    channel = group * channels + first
                    for offset in range(0, area, wide):
                        length = min(wide, area - offset)
                        place = ((n * num_groups + group) * channels + first) * area + offset
                        if step == 0 or channels > most or area > wide:
                            with copy_in as read:
                                load(dy_in, dy[place], rows, length, stride=area)
                                load(x_in, x[place], rows, length, stride=area)
                                load(weights_in, gamma[channel], rows)
                                load(shifts_in, beta[channel], rows)
                            with compute(rows, length) as prepare:
                                weights[:] = float32(weights_in)
                                shifts[:] = float32(shifts_in)
                                hat[:] = (float32(x_in) - middle) * scale
                                z[:] = hat * weights + shifts
                                p[:] = 1.0 / (exp(z * -swish_scale) + 1.0)
                                g[:] = float32(dy_in) * p * ((1.0 - p) * z * swish_scale + 1.0)
                        if step == 0:
                            with compute(rows, length) as add:
                                of_gamma[:] = of_gamma + row_sum(g * hat)
                                of_beta[:] = of_beta + row_sum(g)
                                z[:] = g * weights
                                sums[:] = sums + col_sum(z)
                                sums_of_hat[:] = sums_of_hat + col_sum(z * hat)
                        else:
                            with compute(rows, length) as combine:
                                result[:] = T((g * weights - mean_g - hat * mean_g_hat) * scale)
                            with copy_out as write_dx:
                                store(dx[place], result, rows, length, stride=area)
                if step == 0:
                    with compute(wide) as end_sums:
                        total[:] = row_sum(sums)
                        total_of_hat[:] = row_sum(sums_of_hat)
                    mean_g = total[0] / count
                    mean_g_hat = total_of_hat[0] / count
        if channels <= most:
            with compute(channels, 1) as round_sums:
                of_gamma_out[:] = T(of_gamma)
                of_beta_out[:] = T(of_beta)
            if dgamma_is_require:
                with copy_out as write_dgamma:
                    store(dgamma[group * channels], of_gamma_out, channels)
            if dbeta_is_require:
                with copy_out as write_dbeta:
                    store(dbeta[group * channels], of_beta_out, channels)


# npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
