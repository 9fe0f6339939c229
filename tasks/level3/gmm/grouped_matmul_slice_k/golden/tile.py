"""GroupedMatmulSliceK: one product per group of inner indices; a lies column by column. On cube cores alone."""


@host
def plan(a, b, groupList):
    m = a.shape[0]
    k = a.shape[1]
    n = b.shape[1]
    groups = groupList.size
    wide_parts = groups * ceil_div(n, 128)
    tall = min(
        m,
        512
        if wide_parts * ceil_div(m, 512) >= cube_cores()
        else 128
        if wide_parts * ceil_div(m, 128) >= cube_cores()
        else 64,
    )
    wide = min(n, 128)
    across = ceil_div(n, wide)
    each = ceil_div(m, tall) * across
    used = min(cube_cores(), groups * each)
    c.shape = (groups * m * n,)
    launch(cube_cores=used, groups=groups, m=m, k=k, n=n, tall=tall, wide=wide, across=across, each=each, used=used)


@kernel
def grouped_matmul_slice_k(
    a: Input[float16],
    b: Input[float16],
    groupList: Input[int64],
    c: Output[float16, 0],
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
):
    product = multiplier(tall, k, wide, float16, transpose_a=True)
    for part in range(core(), groups * each, used):
        group = part // each
        row = part % each // across * tall
        column = part % each % across * wide
        begin = 0
        if group > 0:
            begin = groupList[group - 1]
        inner = groupList[group] - begin
        if inner > 0:
            multiply(
                product,
                c[(group * m + row) * n + column],
                a[begin * m + row],
                b[begin * n + column],
                min(tall, m - row),
                inner,
                min(wide, n - column),
                strides=(n, m, n),
            )


# npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
