"""GroupedMatmulSliceMPerTokenDequant: rows of int8 by the matrix of their group, scaled by row and by column."""


@host
def plan(a, b, groupList):
    m = a.shape[0]
    k = a.shape[1]
    n = b.shape[2]
    tall = min(m, 64)
    wide = min(n, 128)
    across = ceil_div(n, wide)
    used = min(vector_cores(), round_up((ceil_div(m, tall) + groupList.size) * across, 2))
    c.shape = (m * n,)
    sums.shape = (used * tall * wide,)
    launch(
        cores=used, groups=groupList.size, k=k, n=n, tall=tall, wide=wide, across=across, used=used, some=min(tall, 32)
    )


@kernel
def grouped_matmul_slice_m_per_token_dequant(
    a: Input[int8],
    b: Input[int8],
    scale: Input[bfloat16],
    per_token_scale: Input[bfloat16],
    groupList: Input[int64],
    c: Output[bfloat16],
    sums: Workspace[int32],
    *,
    groups,
    k,
    n,
    tall,
    wide,
    across,
    used,
    some,
):
    product = multiplier(tall, k, wide, int8)
    columns_in = buffer(wide, bfloat16)
    of_columns = buffer(wide, float32)
    rows_in = buffer(some, 1, bfloat16, depth=2)
    of_rows = buffer(some, 1, float32)
    given = buffer(some, wide, int32, depth=2)
    result = buffer(some, wide, bfloat16, depth=2)
    own = core() * tall * wide
    begin = 0
    passed = 0
    for group in range(groups):
        end = groupList[group]
        parts = ceil_div(end - begin, tall) * across
        for part in range((core() + used - passed % used) % used, parts, used):
            row = begin + part // across * tall
            column = part % across * wide
            height = min(tall, end - row)
            width = min(wide, n - column)
            multiply(product, sums[own], a[row * k], b[group * k * n + column], height, k, width, strides=(width, k, n))
            with copy_in as read_scale:
                load(columns_in, scale[group * n + column], width)
            with compute(1, width) as widen_scale:
                of_columns[:] = float32(columns_in)
            for first in range(0, height, some):
                taken = min(some, height - first)
                with copy_in as read_sums:
                    load(given, sums[own + first * width], taken, width)
                    load(rows_in, per_token_scale[row + first], taken)
                with compute(taken, width) as scale_sums:
                    of_rows[:] = float32(rows_in)
                    result[:] = bfloat16(float32(given) * of_columns * of_rows)
                with copy_out:
                    store(c[(row + first) * n + column], result, taken, width, stride=n)
        passed = passed + parts
        begin = end


# npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
