"""SplitkMatmul: c = a @ b for matrices of half, added up in float and rounded once, without splitting the inner extent."""


@host
def plan(a, b):
    m = a.shape[0]
    k = a.shape[1]
    n = b.shape[1]
    tall = min(m, 128)
    wide = min(n, 128)
    if ceil_div(m, 128) * ceil_div(n, 128) < cube_cores():
        tall = min(m, 64)
    down = ceil_div(m, tall)
    parts = down * ceil_div(n, wide)
    used = min(cube_cores(), parts)
    c.shape = (m, n)
    launch(cube_cores=used, m=m, k=k, n=n, tall=tall, wide=wide, down=down, parts=parts, used=used)


@kernel
def splitk_matmul(a: Input[float16], b: Input[float16], c: Output[float16], *, m, k, n, tall, wide, down, parts, used):
    product = multiplier(tall, k, wide, float16)
    for part in range(core(), parts, used):
        row = part % down * tall
        column = part // down * wide
        height = min(tall, m - row)
        width = min(wide, n - column)
        multiply(product, c[row * n + column], a[row * k], b[column], height, k, width, strides=(n, k, n))
# npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
