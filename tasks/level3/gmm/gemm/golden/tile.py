"""Gemm: d = alpha * (a @ b) + beta * c in float; d takes the place of c."""


@host
def plan(a, b, c):
    m = a.shape[0]
    k = a.shape[1]
    n = b.shape[1]
    tall = min(m, 64)
    wide = min(n, 128)
    down = ceil_div(m, tall)
    parts = down * ceil_div(n, wide)
    used = min(vector_cores(), round_up(parts, 2))
    d.shape = c.shape
    sums.shape = (used * tall * wide,)
    launch(cores=used, m=m, k=k, n=n, tall=tall, wide=wide, down=down, parts=parts, used=used, some=min(tall, 32))


@kernel
def gemm(
    a: Input[float32],
    b: Input[float32],
    c: Input[float32],
    d: Output[float32, c],
    sums: Workspace[float32],
    alpha: Attribute[float],
    beta: Attribute[float],
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
    product = multiplier(tall, k, wide, float32)
    given = buffer(some, wide, float32, depth=2)
    addend = buffer(some, wide, float32, depth=2)
    result = buffer(some, wide, float32, depth=2)
    own = core() * tall * wide
    for part in range(core(), parts, used):
        row = part % down * tall
        column = part // down * wide
        height = min(tall, m - row)
        width = min(wide, n - column)
        multiply(product, sums[own], a[row * k], b[column], height, k, width, strides=(width, k, n))
        for first in range(0, height, some):
            taken = min(some, height - first)
            with copy_in:
                load(given, sums[own + first * width], taken, width)
                load(addend, c[(row + first) * n + column], taken, width, stride=n)
            with compute(taken, width):
                result[:] = given * alpha + addend * beta
            with copy_out:
                store(d[(row + first) * n + column], result, taken, width, stride=n)


# npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
