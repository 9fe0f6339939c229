"""MatmulBias: d = a @ b + bias for matrices of half and a row, summed in float, rounded once, on cube cores alone."""


@host
def plan(a, b):
    m = a.shape[0]
    k = a.shape[1]
    n = b.shape[1]
    # One rectangle for every core, of which as little as possible is loaded and multiplied.
    tall = m
    wide = n
    least = 200 * (m + n) + m * n
    for rows in range(1, cube_cores() + 1):
        high = min(m, round_up(ceil_div(m, rows), 16))
        broad = min(n, round_up(ceil_div(n, cube_cores() // rows), 16))
        cost = max(high * broad, 100 * (high + broad))
        if cost < least:
            least = cost
            tall = high
            wide = broad
    down = ceil_div(m, tall)
    parts = down * ceil_div(n, wide)
    used = min(cube_cores(), parts)
    d.shape = (m, n)
    launch(cube_cores=used, m=m, k=k, n=n, tall=tall, wide=wide, down=down, parts=parts, used=used)


@kernel
def matmul_bias(
    a: Input[float16],
    b: Input[float16],
    bias: Input[float16],
    d: Output[float16],
    *,
    m,
    k,
    n,
    tall,
    wide,
    down,
    parts,
    used,
):
    product = multiplier(tall, k, wide, float16)
    for part in range(core(), parts, used):
        row = part % down * tall
        column = part // down * wide
        height = min(tall, m - row)
        width = min(wide, n - column)
        multiply(
            product, d[row * n + column], a[row * k], b[column], height, k, width, strides=(n, k, n), bias=bias[column]
        )


# npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
