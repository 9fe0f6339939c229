"""StridesliceNegConcatV2: the second half of the last axis negated.

Rows are multiplied by a row of signs. Those that fit a tile are taken many at a time, longer ones piece by piece.
"""

T = float16, float32, bfloat16


@host
def plan(input):
    w = input.shape[input.rank - 1]
    n = input.size // max(1, w)
    width = min(w, 4096)
    most = 1 if w > 4096 else max(1, min(128, 4096 // round_up(w, 16)))
    share = round_up(max(1, ceil_div(n, vector_cores())), most)
    output.shape = input.shape
    launch(cores=max(1, ceil_div(n, share)), n=n, w=w, share=share, width=width, most=most)


@kernel
def strideslice_neg_concat_v2(input: Input[T], output: Output[T], *, n, w, share, width, most):
    given = buffer(most, width, T, depth=2)
    signs = buffer(width, float32)
    result = buffer(most, width, T, depth=2)
    begin = core() * share
    end = min(begin + share, n)
    for c in range(0, w, width):
        cols = min(width, w - c)
        with compute(cols) as choose_signs:
            signs[:] = where(float32(iota()) < float(w // 2 - c), 1.0, -1.0)
        for first in range(begin, end, most):
            rows = min(most, end - first)
            with copy_in:
                load(given, input[first * w + c], rows, cols, stride=w)
            with compute(rows, cols) as negate:
                result[:] = T(float32(given) * signs)
            with copy_out:
                store(output[first * w + c], result, rows, cols, stride=w)


# npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
