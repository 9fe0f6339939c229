"""AddRmsNorm: x = x1 + x2, rstd = 1 / sqrt(mean(x^2) + epsilon), y = x * rstd * gamma.

Rows that fit a tile are taken many at a time, longer ones piece by piece.
"""

T = float16, float32, bfloat16


@host
def plan(x1, gamma):
    d = gamma.size
    n = x1.size // d
    width = min(d, 2048)
    most = 1 if d > 2048 else max(1, min(64, 2048 // round_up(d, 16)))
    share = round_up(max(1, ceil_div(n, vector_cores())), most)
    y.shape = x1.shape
    x.shape = x1.shape
    rstd.shape = x1.shape[0 : x1.rank - 1] + (1,)
    launch(cores=max(1, ceil_div(n, share)), n=n, d=d, share=share, width=width, most=most)


@kernel
def add_rms_norm(
    x1: Input[T],
    x2: Input[T],
    gamma: Input[T],
    y: Output[T],
    rstd: Output[float32],
    x: Output[T],
    epsilon: Attribute[float] = 1.0e-6,
    *,
    n,
    d,
    share,
    width,
    most,
):
    a = buffer(most, width, T, depth=2)
    b = buffer(most, width, T, depth=2)
    a_again = buffer(most, width, T, depth=2)
    b_again = buffer(most, width, T, depth=2)
    scale = buffer(width, T, depth=2)
    total = buffer(most, width, float32)
    factor = buffer(most, 1, float32)
    result = buffer(most, width, T, depth=2)
    sum_out = buffer(most, width, T, depth=2)
    begin = core() * share
    end = min(begin + share, n)
    for first in range(begin, end, most):
        rows = min(most, end - first)
        with compute(rows, width) as start_rows:
            factor[:] = 0.0
        for c in range(0, d, width):
            cols = min(width, d - c)
            with copy_in as read:
                load(a, x1[first * d + c], rows, cols, stride=d)
                load(b, x2[first * d + c], rows, cols, stride=d)
            with compute(rows, cols) as add_squares:
                total[:] = float32(a) + float32(b)
                factor[:] = factor + row_sum(total * total)
        with compute(rows, width) as end_rows:
            factor[:] = 1.0 / sqrt(factor / float(d) + epsilon)
        with copy_out as store_factor:
            store(rstd[first], factor, rows)
        for c in range(0, d, width):
            cols = min(width, d - c)
            with copy_in as read_again:
                load(a_again, x1[first * d + c], rows, cols, stride=d)
                load(b_again, x2[first * d + c], rows, cols, stride=d)
                load(scale, gamma[c], cols)
            with compute(rows, cols) as normalise:
                total[:] = float32(a_again) + float32(b_again)
                sum_out[:] = T(total)
                result[:] = T(total * factor * float32(scale))
            with copy_out:
                store(y[first * d + c], result, rows, cols, stride=d)
                store(x[first * d + c], sum_out, rows, cols, stride=d)


# npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
