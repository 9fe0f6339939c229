"""GroupedMatmulSliceM: rows of a by the matrix of their group, on cube cores alone."""


@host
def plan(a, b, groupList):
    m = a.shape[0]
    k = a.shape[1]
    n = b.shape[2]
    tall = min(m, 64)
    wide = min(n, 128)
    across = ceil_div(n, wide)
    used = min(cube_cores(), (ceil_div(m, tall) + groupList.size) * across)
    c.shape = (m * n,)
    launch(cube_cores=used, groups=groupList.size, k=k, n=n, tall=tall, wide=wide, across=across, used=used)


@kernel
def grouped_matmul_slice_m(
    a: Input[float16],
    b: Input[float16],
    groupList: Input[int64],
    c: Output[float16],
    *,
    groups,
    k,
    n,
    tall,
    wide,
    across,
    used,
):
    product = multiplier(tall, k, wide, float16)
    begin = 0
    passed = 0
    for group in range(groups):
        end = groupList[group]
        parts = ceil_div(end - begin, tall) * across
        for part in range((core() + used - passed % used) % used, parts, used):
            row = begin + part // across * tall
            column = part % across * wide
            multiply(
                product,
                c[row * n + column],
                a[row * k],
                b[group * k * n + column],
                min(tall, end - row),
                k,
                min(wide, n - column),
                strides=(n, k, n),
            )
        passed = passed + parts
        begin = end


# npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
