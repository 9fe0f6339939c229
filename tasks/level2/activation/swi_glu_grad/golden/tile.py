"""SwiGluGrad: da = y_grad * b * p * (1 + a * (1 - p)), db = y_grad * a * p with p = sigmoid(a).

Along the axis that was cut, a and b follow each other: runs of m elements, a and b in turn.
"""

T = float16, float32, bfloat16


@host
def plan(y_grad, x, dim):
    axis = dim if dim >= 0 else dim + x.rank
    n = prod(x.shape[0:axis])
    m = prod(y_grad.shape[axis:])
    width = min(m, 2048)
    most = 1 if m > 2048 else max(1, min(64, 2048 // round_up(m, 16)))
    chunks = ceil_div(m, width)
    items = ceil_div(n, most) * chunks
    share = max(1, ceil_div(items, vector_cores()))
    x_grad.shape = x.shape
    launch(
        cores=max(1, ceil_div(items, share)), n=n, m=m, items=items, chunks=chunks, share=share, width=width, most=most
    )


@kernel
def swi_glu_grad(
    y_grad: Input[T],
    x: Input[T],
    x_grad: Output[T],
    dim: Attribute[int] = -1,
    *,
    n,
    m,
    items,
    chunks,
    share,
    width,
    most,
):
    dy = buffer(most, width, T, depth=2)
    a = buffer(most, width, T, depth=2)
    b = buffer(most, width, T, depth=2)
    da = buffer(most, width, T, depth=2)
    db = buffer(most, width, T, depth=2)
    wide = buffer(most, width, float32)
    p = buffer(most, width, float32)
    gradient = buffer(most, width, float32)
    begin = core() * share
    for item in range(begin, min(begin + share, items)):
        first = item // chunks * most
        c = item % chunks * width
        rows = min(most, n - first)
        cols = min(width, m - c)
        with copy_in:
            load(dy, y_grad[first * m + c], rows, cols, stride=m)
            load(a, x[first * 2 * m + c], rows, cols, stride=2 * m)
            load(b, x[first * 2 * m + m + c], rows, cols, stride=2 * m)
        with compute(rows, cols):
            wide[:] = float32(a)
            gradient[:] = float32(dy)
            p[:] = 1.0 / (exp(-wide) + 1.0)
            db[:] = T(gradient * wide * p)
            da[:] = T(((1.0 - p) * wide + 1.0) * p * gradient * float32(b))
        with copy_out:
            store(x_grad[first * 2 * m + c], da, rows, cols, stride=2 * m)
            store(x_grad[first * 2 * m + m + c], db, rows, cols, stride=2 * m)


# npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
