"""GroupedMatmulSliceKPerTokenDequant: a product of int8 per group of inner indices, scaled; a is transposed."""


@host
def plan(a, b, groupList):
    m = a.shape[0]
    k = a.shape[1]
    n = b.shape[1]
    groups = groupList.size
    tall = min(m, 64)
    wide = min(n, 128)
    across = ceil_div(n, wide)
    each = ceil_div(m, tall) * across
    used = min(vector_cores(), round_up(groups * each, 2))
    c.shape = (groups * m * n,)
    sums.shape = (used * tall * wide,)
    launch(
        cores=used,
        groups=groups,
        m=m,
        k=k,
        n=n,
        tall=tall,
        wide=wide,
        across=across,
        each=each,
        used=used,
        some=min(tall, 32),
    )


@kernel
def grouped_matmul_slice_k_per_token_dequant(
    a: Input[int8],
    b: Input[int8],
    scale: Input[bfloat16],
    per_token_scale: Input[bfloat16],
    groupList: Input[int64],
    c: Output[bfloat16, 0],
    sums: Workspace[int32],
    *,
    groups,
    m,
    k,
    n,
    tall,
    wide,
    across,
    each,
    used,
    some,
):
    product = multiplier(tall, k, wide, int8, transpose_a=True)
    columns_in = buffer(wide, bfloat16)
    of_columns = buffer(wide, float32)
    rows_in = buffer(some, 1, bfloat16, depth=2)
    of_rows = buffer(some, 1, float32)
    given = buffer(some, wide, int32, depth=2)
    result = buffer(some, wide, bfloat16, depth=2)
    own = core() * tall * wide
    for part in range(core(), groups * each, used):
        group = part // each
        row = part % each // across * tall
        column = part % each % across * wide
        height = min(tall, m - row)
        width = min(wide, n - column)
        begin = 0
        if group > 0:
            begin = groupList[group - 1]
        inner = groupList[group] - begin
        if inner > 0:
            multiply(
                product,
                sums[own],
                a[begin * m + row],
                b[begin * n + column],
                height,
                inner,
                width,
                strides=(width, m, n),
            )
            with copy_in as read_scale:
                load(columns_in, scale[group * n + column], width)
            with compute(1, width) as widen_scale:
                of_columns[:] = float32(columns_in)
            for first in range(0, height, some):
                taken = min(some, height - first)
                with copy_in as read_sums:
                    load(given, sums[own + first * width], taken, width)
                    load(rows_in, per_token_scale[group * m + row + first], taken)
                with compute(taken, width) as scale_sums:
                    of_rows[:] = float32(rows_in)
                    result[:] = bfloat16(float32(given) * of_columns * of_rows)
                with copy_out:
                    store(c[(group * m + row + first) * n + column], result, taken, width, stride=n)


# npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
