"""CraftRmsNorm: x / sqrt(mean(x^2) + eps) over the channels."""


@host
def plan(x):
    samples = x.shape[0]
    channels = x.shape[1]
    area = x.shape[2] * x.shape[3]
    width = min(area, max(32, min(256, round_up(ceil_div(samples * area, vector_cores()), 8))))
    strips = ceil_div(area, width)
    items = samples * strips
    share = max(1, ceil_div(items, vector_cores()))
    tall = min(channels, 4096 // round_up(width, 8))
    y.shape = x.shape
    launch(
        cores=max(1, ceil_div(items, share)),
        items=items,
        share=share,
        channels=channels,
        area=area,
        strips=strips,
        width=width,
        tall=tall,
    )


@kernel
def craft_rms_norm(
    x: Input[float32],
    y: Output[float32],
    eps: Attribute[float] = 1.0e-5,
    *,
    items,
    share,
    channels,
    area,
    strips,
    width,
    tall,
):
    x_tile = buffer(tall, width, float32, depth=2)
    again = buffer(tall, width, float32, depth=2)
    result = buffer(tall, width, float32, depth=2)
    factors = buffer(width, float32)
    first = core() * share
    for item in range(first, min(first + share, items)):
        at = item % strips * width
        cols = min(width, area - at)
        start = item // strips * channels * area + at
        with compute(cols) as start_strip:
            factors[:] = 0.0
        for c in range(0, channels, tall):
            rows = min(tall, channels - c)
            with copy_in as read:
                load(x_tile, x[start + c * area], rows, cols, stride=area)
            with compute(rows, cols) as add:
                factors[:] = factors + col_sum(x_tile * x_tile)
        with compute(cols) as end_strip:
            factors[:] = 1.0 / sqrt(factors / float(channels) + eps)
        for c in range(0, channels, tall):
            rows = min(tall, channels - c)
            with copy_in as read_again:
                load(again, x[start + c * area], rows, cols, stride=area)
            with compute(rows, cols) as scale:
                result[:] = again * factors
            with copy_out:
                store(y[start + c * area], result, rows, cols, stride=area)


# npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
