"""MatmulAdd: d = a @ b + c for matrices of half, added up in float and rounded once."""


@host
def plan(a, b, c):
    m = a.shape[0]
    k = a.shape[1]
    n = b.shape[1]
    tall = min(m, 64)
    wide = min(n, 256)
    down = ceil_div(m, tall)
    parts = down * ceil_div(n, wide)
    used = min(vector_cores(), round_up(parts, 2))
    d.shape = (m, n)
    sums.shape = (used * tall * wide,)
    launch(cores=used, m=m, k=k, n=n, tall=tall, wide=wide, down=down, parts=parts, used=used, some=min(tall, 16))


@kernel
def matmul_add(
    a: Input[float16],
    b: Input[float16],
    c: Input[float16],
    d: Output[float16],
    sums: Workspace[float32],
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
    product = multiplier(tall, k, wide, float16)
    given = buffer(some, wide, float32, depth=2)
    addend = buffer(some, wide, float16, depth=2)
    result = buffer(some, wide, float16, depth=2)
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
                result[:] = float16(given + float32(addend))
            with copy_out:
                store(d[(row + first) * n + column], result, taken, width, stride=n)


# npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
