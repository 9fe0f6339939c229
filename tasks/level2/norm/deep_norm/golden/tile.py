"""DeepNorm: s = alpha * x + gx, y = (s - mean) * rstd * gamma + beta.

Rows that fit a tile are taken many at a time, longer ones piece by piece.
"""

T = float16, float32, bfloat16


@host
def plan(x, gamma):
    d = gamma.size
    n = x.size // d
    width = min(d, 1024)
    most = 1 if d > 1024 else max(1, min(64, 1024 // round_up(d, 16)))
    share = round_up(max(1, ceil_div(n, vector_cores())), most)
    mean.shape = x.shape[0 : x.rank - 1] + (1,)
    rstd.shape = x.shape[0 : x.rank - 1] + (1,)
    y.shape = x.shape
    launch(cores=max(1, ceil_div(n, share)), n=n, d=d, share=share, width=width, most=most)


@kernel
def deep_norm(
    x: Input[T],
    gx: Input[T],
    beta: Input[T],
    gamma: Input[T],
    mean: Output[float32],
    rstd: Output[float32],
    y: Output[T],
    alpha: Attribute[float] = 0.3,
    epsilon: Attribute[float] = 1.0e-6,
    *,
    n,
    d,
    share,
    width,
    most,
):
    a_sum = buffer(most, width, T, depth=2)
    b_sum = buffer(most, width, T, depth=2)
    a_square = buffer(most, width, T, depth=2)
    b_square = buffer(most, width, T, depth=2)
    a_last = buffer(most, width, T, depth=2)
    b_last = buffer(most, width, T, depth=2)
    scale = buffer(width, T, depth=2)
    bias = buffer(width, T, depth=2)
    total = buffer(most, width, float32)
    middle = buffer(most, 1, float32)
    factor = buffer(most, 1, float32)
    result = buffer(most, width, T, depth=2)
    begin = core() * share
    end = min(begin + share, n)
    for first in range(begin, end, most):
        rows = min(most, end - first)
        with compute(rows, width) as start_rows:
            middle[:] = 0.0
            factor[:] = 0.0
        for c in range(0, d, width):
            cols = min(width, d - c)
            with copy_in as read:
                load(a_sum, x[first * d + c], rows, cols, stride=d)
                load(b_sum, gx[first * d + c], rows, cols, stride=d)
            with compute(rows, cols) as add_up:
                middle[:] = middle + row_sum((float32(b_sum) + float32(a_sum) * alpha))
        with compute(rows, width) as find_mean:
            middle[:] = middle / float(d)
        for c in range(0, d, width):
            cols = min(width, d - c)
            with copy_in as read_again:
                load(a_square, x[first * d + c], rows, cols, stride=d)
                load(b_square, gx[first * d + c], rows, cols, stride=d)
            with compute(rows, cols) as add_squares:
                total[:] = (float32(b_square) + float32(a_square) * alpha) - middle
                factor[:] = factor + row_sum(total * total)
        with compute(rows, width) as end_rows:
            factor[:] = 1.0 / sqrt(factor / float(d) + epsilon)
        with copy_out as store_statistics:
            store(mean[first], middle, rows)
            store(rstd[first], factor, rows)
        for c in range(0, d, width):
            cols = min(width, d - c)
            with copy_in as read_last:
                load(a_last, x[first * d + c], rows, cols, stride=d)
                load(b_last, gx[first * d + c], rows, cols, stride=d)
                load(scale, gamma[c], cols)
                load(bias, beta[c], cols)
            with compute(rows, cols) as normalise:
                result[:] = T(
                    ((float32(b_last) + float32(a_last) * alpha) - middle) * factor * float32(scale) + float32(bias)
                )
            with copy_out:
                store(y[first * d + c], result, rows, cols, stride=d)


# npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
