"""Gemv: out = alpha * a @ x + beta * y, by vector cores alone."""


@host
def plan(a, x):
    m = a.shape[0]
    n = a.shape[1]
    most = max(1, min(128, min(8192 // round_up(n, 16), ceil_div(m, vector_cores()))))
    share = round_up(max(1, ceil_div(m, vector_cores())), most)
    out.shape = (m,)
    launch(cores=max(1, ceil_div(m, share)), m=m, n=n, share=share, most=most)


@kernel
def gemv(
    a: Input[float32],
    x: Input[float32],
    y: Input[float32],
    out: Output[float32],
    alpha: Attribute[float],
    beta: Attribute[float],
    *,
    m,
    n,
    share,
    most,
):
    rows_of_a = buffer(most, n, float32, depth=2)
    factor = buffer(n, float32)
    addend = buffer(most, 1, float32, depth=2)
    sums = buffer(most, 1, float32, depth=2)
    begin = core() * share
    with copy_in as read_x:
        load(factor, x[0], n)
    for first in range(begin, min(begin + share, m), most):
        rows = min(most, min(begin + share, m) - first)
        with copy_in:
            load(rows_of_a, a[first * n], rows, n)
            load(addend, y[first], rows)
        with compute(rows, n):
            sums[:] = row_sum(rows_of_a * factor) * alpha + addend * beta
        with copy_out:
            store(out[first], sums, rows)


# npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
