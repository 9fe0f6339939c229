"""BatchedMatmul: c[t] = a[t] @ b[t] for batches of matrices of half, on cube cores alone."""


@host
def plan(a, b):
    batch = a.shape[0]
    m = a.shape[1]
    k = a.shape[2]
    n = b.shape[2]
    tall = min(m, 128)
    wide = min(n, 128)
    if batch * ceil_div(m, 128) * ceil_div(n, 128) < cube_cores():
        tall = min(m, 64)
    down = ceil_div(m, tall)
    each = down * ceil_div(n, wide)
    used = min(cube_cores(), batch * each)
    c.shape = (batch, m, n)
    launch(cube_cores=used, batch=batch, m=m, k=k, n=n, tall=tall, wide=wide, down=down, each=each, used=used)


@kernel
def batched_matmul(
    a: Input[float16], b: Input[float16], c: Output[float16], *, batch, m, k, n, tall, wide, down, each, used
):
    product = multiplier(tall, k, wide, float16)
    for part in range(core(), batch * each, used):
        t = part // each
        row = part % each % down * tall
        column = part % each // down * wide
        height = min(tall, m - row)
        width = min(wide, n - column)
        multiply(
            product,
            c[(t * m + row) * n + column],
            a[(t * m + row) * k],
            b[t * k * n + column],
            height,
            k,
            width,
            strides=(n, k, n),
        )


# npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
