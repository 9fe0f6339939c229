"""QuantMatmul: d = (a @ b) * scale * per_token_scale for matrices of int8, added up in int32, scaled in float."""


@host
def plan(a, b):
    m = a.shape[0]
    k = a.shape[1]
    n = b.shape[1]
    tall = min(m, 64)
    wide = min(n, 128)
    down = ceil_div(m, tall)
    parts = down * ceil_div(n, wide)
    used = min(vector_cores(), round_up(parts, 2))
    d.shape = (m, n)
    sums.shape = (used * tall * wide,)
    launch(cores=used, m=m, k=k, n=n, tall=tall, wide=wide, down=down, parts=parts, used=used, some=min(tall, 32))


@kernel
def quant_matmul(
    a: Input[int8],
    b: Input[int8],
    scale: Input[float16],
    per_token_scale: Input[float16],
    d: Output[float16],
    sums: Workspace[int32],
    *,
    m,
    k,
    n,
    tall,
    wide,
    down,
    parts,
    used,
    some,
):
    product = multiplier(tall, k, wide, int8)
    columns_in = buffer(wide, float16)
    of_columns = buffer(wide, float32)
    rows_in = buffer(some, 1, float16, depth=2)
    of_rows = buffer(some, 1, float32)
    given = buffer(some, wide, int32, depth=2)
    result = buffer(some, wide, float16, depth=2)
    own = core() * tall * wide
    for part in range(core(), parts, used):
        row = part % down * tall
        column = part // down * wide
        height = min(tall, m - row)
        width = min(wide, n - column)
        multiply(product, sums[own], a[row * k], b[column], height, k, width, strides=(width, k, n))
        with copy_in as read_scale:
            load(columns_in, scale[column], width)
        with compute(1, width) as widen_scale:
            of_columns[:] = float32(columns_in)
        for first in range(0, height, some):
            taken = min(some, height - first)
            with copy_in as read_sums:
                load(given, sums[own + first * width], taken, width)
                load(rows_in, per_token_scale[row + first], taken)
            with compute(taken, width) as scale_sums:
                of_rows[:] = float32(rows_in)
                result[:] = float16(float32(given) * of_columns * of_rows)
            with copy_out:
                store(d[(row + first) * n + column], result, taken, width, stride=n)


# npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
