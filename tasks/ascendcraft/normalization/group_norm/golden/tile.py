"""CraftGroupNorm: (x - mean) / sqrt(variance + eps) * gamma + beta.

Mean and variance are those of a sample's group of channels.
"""


@host
def plan(x, num_groups):
    groups = x.shape[0] * num_groups
    channels = x.shape[1] // num_groups
    area = x.shape[2] * x.shape[3]
    share = max(1, ceil_div(groups, vector_cores()))
    tile = min(round_up(channels * area, 64), 4096)
    y.shape = x.shape
    launch(cores=max(1, ceil_div(groups, share)), groups=groups, channels=channels, area=area, share=share, tile=tile)


@kernel
def craft_group_norm(
    x: Input[float32],
    gamma: Input[float32],
    beta: Input[float32],
    y: Output[float32],
    num_groups: Attribute[int],
    eps: Attribute[float] = 1.0e-5,
    *,
    groups,
    channels,
    area,
    share,
    tile,
):
    x_tile = buffer(tile, float32, depth=2)
    again = buffer(tile, float32, depth=2)
    last = buffer(tile, float32, depth=2)
    result = buffer(tile, float32, depth=2)
    mean = buffer(1, float32)
    spread = buffer(1, float32)
    slope = buffer(1, float32)
    shift_by = buffer(1, float32)
    n = channels * area
    first = core() * share
    for group in range(first, min(first + share, groups)):
        with compute(1) as start_mean:
            mean[:] = 0.0
            spread[:] = 0.0
        for offset in range(0, n, tile):
            length = min(tile, n - offset)
            with copy_in as read:
                load(x_tile, x[group * n + offset], length)
            with compute(length) as add:
                mean[:] = mean + row_sum(x_tile)
        with compute(1) as end_mean:
            mean[:] = mean / float(n)
        for offset in range(0, n, tile):
            length = min(tile, n - offset)
            with copy_in as read_again:
                load(again, x[group * n + offset], length)
            with compute(length) as add_squares:
                spread[:] = spread + row_sum((again - mean) * (again - mean))
        with compute(1) as end_spread:
            spread[:] = 1.0 / sqrt(spread / float(n) + eps)
        for c in range(0, channels):
            channel = group % num_groups * channels + c
            weight = gamma[channel]
            bias = beta[channel]
            with compute(1) as start_channel:
                slope[:] = spread * weight
                shift_by[:] = bias - mean * slope
            for offset in range(0, area, tile):
                length = min(tile, area - offset)
                with copy_in as read_last:
                    load(last, x[group * n + c * area + offset], length)
                with compute(length) as scale:
                    result[:] = last * slope + shift_by
                with copy_out:
                    store(y[group * n + c * area + offset], result, length)


# npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
