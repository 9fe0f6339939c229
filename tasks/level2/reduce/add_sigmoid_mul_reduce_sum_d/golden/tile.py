"""AddSigmoidMulReduceSumD: sum over r of sigmoid((a + bias) * factor) * weight of the row * weight of the element."""


@host
def plan(add_0_input0):
    n = add_0_input0.shape[0]
    r = add_0_input0.shape[1]
    c = add_0_input0.shape[2]
    width = max(1, min(min(c, 512), round_up(ceil_div(n * c, vector_cores()), 16)))
    strips = ceil_div(c, width)
    items = n * strips
    share = max(1, ceil_div(items, vector_cores()))
    out.shape = (n, c)
    launch(
        cores=max(1, ceil_div(items, share)),
        r=r,
        c=c,
        items=items,
        share=share,
        strips=strips,
        width=width,
        tall=max(1, min(r, 4096 // round_up(width, 16))),
    )


@kernel
def add_sigmoid_mul_reduce_sum_d(
    add_0_input0: Input[float16],
    add_0_input1: Input[float16],
    mul_0_input1: Input[float16],
    mult_1_input1: Input[float16],
    mult_2_input1: Input[float16],
    out: Output[float16],
    *,
    r,
    c,
    items,
    share,
    strips,
    width,
    tall,
):
    gate_in = buffer(tall, width, float16, depth=2)
    weight = buffer(tall, width, float16, depth=2)
    row_weight = buffer(tall, 1, float16, depth=2)
    bias = buffer(width, float16, depth=2)
    factor_in = buffer(1, float16)
    negative = buffer(1, float32)
    gate = buffer(tall, width, float32)
    total = buffer(width, float32)
    result = buffer(width, float16, depth=2)
    with copy_in as read_factor:
        load(factor_in, mul_0_input1[0], 1)
    with compute(1) as negate_factor:
        negative[:] = -float32(factor_in)
    factor = negative[0]
    begin = core() * share
    for item in range(begin, min(begin + share, items)):
        at = item % strips * width
        cols = min(width, c - at)
        matrix = item // strips * r
        with compute(cols) as start_sums:
            total[:] = 0.0
        for first in range(0, r, tall):
            rows = min(tall, r - first)
            with copy_in:
                load(gate_in, add_0_input0[(matrix + first) * c + at], rows, cols, stride=c)
                load(weight, mult_2_input1[(matrix + first) * c + at], rows, cols, stride=c)
                load(row_weight, mult_1_input1[matrix + first], rows)
                load(bias, add_0_input1[at], cols)
            with compute(rows, cols) as add_rows:
                gate[:] = float32(gate_in) + float32(bias)
                gate[:] = 1.0 / (exp(gate * factor) + 1.0)
                gate[:] = gate * float32(weight) * float32(row_weight)
                total[:] = total + col_sum(gate)
        with compute(cols) as round_sums:
            result[:] = float16(total)
        with copy_out:
            store(out[item // strips * c + at], result, cols)


# npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
