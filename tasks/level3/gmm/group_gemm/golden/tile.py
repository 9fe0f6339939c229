"""GroupGemm: d = alpha * (a @ b) + beta * c for several groups of matrices of half; d takes the place of c."""


@host
def plan(a, mList, kList, nList):
    tall = 1
    deep = 1
    wide = 1
    for group in range(len(mList)):
        tall = max(tall, min(mList[group], 64))
        deep = max(deep, kList[group])
        wide = max(wide, min(nList[group], 128))
    parts = 0
    for group in range(len(mList)):
        parts = parts + ceil_div(mList[group], tall) * ceil_div(nList[group], wide)
    used = min(vector_cores(), round_up(parts, 2))
    d.shape = c.shape
    sums.shape = (used * tall * wide,)
    launch(cores=used, used=used, tall=tall, deep=deep, wide=wide, some=min(tall, 32))


@kernel
def group_gemm(
    a: Input[float16],
    b: Input[float16],
    c: Input[float16],
    alpha: Input[float32],
    beta: Input[float32],
    d: Output[float16, c],
    sums: Workspace[float32],
    mList: Attribute[ints],
    kList: Attribute[ints],
    nList: Attribute[ints],
    *,
    used,
    tall,
    deep,
    wide,
    some,
):
    product = multiplier(tall, deep, wide, float16)
    given = buffer(some, wide, float32, depth=2)
    addend = buffer(some, wide, float16, depth=2)
    result = buffer(some, wide, float16, depth=2)
    own = core() * tall * wide
    of_a = 0
    of_b = 0
    of_c = 0
    passed = 0
    for group in range(len(mList)):
        m = mList[group]
        k = kList[group]
        n = nList[group]
        across = ceil_div(n, wide)
        parts = ceil_div(m, tall) * across
        factor = alpha[group]
        weight = beta[group]
        for part in range((core() + used - passed % used) % used, parts, used):
            row = part // across * tall
            column = part % across * wide
            height = min(tall, m - row)
            width = min(wide, n - column)
            multiply(product, sums[own], a[of_a + row * k], b[of_b + column], height, k, width, strides=(width, k, n))
            for first in range(0, height, some):
                taken = min(some, height - first)
                place = of_c + (row + first) * n + column
                with copy_in:
                    load(given, sums[own + first * width], taken, width)
                    load(addend, c[place], taken, width, stride=n)
                with compute(taken, width):
                    result[:] = float16(given * factor + float32(addend) * weight)
                with copy_out:
                    store(d[place], result, taken, width, stride=n)
        passed = passed + parts
        of_a = of_a + m * k
        of_b = of_b + k * n
        of_c = of_c + m * n


# npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
