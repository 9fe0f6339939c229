"""InplaceAttnSoftmax: softmax over the last axis, in the memory of the input.

Rows that fit a tile are taken many at a time. Of longer ones the largest element and the sum are found together first.
"""

T = float16, float32, bfloat16


@host
def plan(x):
    d = x.shape[x.rank - 1]
    n = x.size // d
    width = min(d, 4096)
    most = 1 if d > 4096 else max(1, min(128, 4096 // round_up(d, 16)))
    share = round_up(max(1, ceil_div(n, vector_cores())), most)
    y.shape = x.shape
    launch(cores=max(1, ceil_div(n, share)), n=n, d=d, share=share, width=width, most=most)


@kernel
def inplace_attn_softmax(x: Input[T], y: Output[T], *, n, d, share, width, most):
    given = buffer(most, width, T, depth=2)
    again = buffer(most, width, T)
    wide = buffer(most, width, float32)
    top = buffer(most, 1, float32)
    higher = buffer(most, 1, float32)
    total = buffer(most, 1, float32)
    result = buffer(most, width, T, depth=2)
    begin = core() * share
    end = min(begin + share, n)
    for first in range(begin, end, most):
        rows = min(most, end - first)
        with compute(rows, width) as start_rows:
            top[:] = -3.0e38
            total[:] = 0.0
        for c in range(0, d, width):
            cols = min(width, d - c)
            with copy_in as read:
                load(given, x[first * d + c], rows, cols, stride=d)
            with compute(rows, cols) as add_up:
                wide[:] = float32(given)
                higher[:] = max(top, row_max(wide))
                total[:] = total * exp(top - higher) + row_sum(exp(wide - higher))
                top[:] = higher
        with compute(rows, width) as end_rows:
            total[:] = 1.0 / total
        for c in range(0, d, width):
            cols = min(width, d - c)
            with copy_in as read_again:
                load(again, x[first * d + c], rows, cols, stride=d)
            with compute(rows, cols) as normalise:
                result[:] = T(exp(float32(again) - top) * total)
            with copy_out:
                store(y[first * d + c], result, rows, cols, stride=d)


# npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
