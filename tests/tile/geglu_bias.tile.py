"""GegluBias: y = (a + b[:d]) * gelu(g + b[d:]), where every row of x is [a, g] and gelu is the tanh form."""

T = float16, bfloat16, float32


@host
def plan(x):
    d = x.shape[x.rank - 1] // 2
    rows = x.size // (2 * d)
    share = max(1, ceil_div(rows, vector_cores()))
    y.shape = x.shape[0 : x.rank - 1] + (d,)
    launch(cores=max(1, ceil_div(rows, share)), rows=rows, d=d, share=share, tile=min(round_up(d, 64), 2048))


@kernel
def geglu_bias(x: Input[T], bias: Input[T], y: Output[T], *, rows, d, share, tile):
    a = buffer(tile, T, depth=2)
    g = buffer(tile, T, depth=2)
    a_bias = buffer(tile, T, depth=2)
    g_bias = buffer(tile, T, depth=2)
    gate = buffer(tile, float32)
    result = buffer(tile, T, depth=2)
    first = core() * share
    for row in range(first, min(first + share, rows)):
        for offset in range(0, d, tile):
            length = min(tile, d - offset)
            with copy_in:
                load(a, x[row * 2 * d + offset], length)
                load(g, x[row * 2 * d + d + offset], length)
                load(a_bias, bias[offset], length)
                load(g_bias, bias[d + offset], length)
            with compute(length):
                gate[:] = float32(g) + float32(g_bias)
                gate[:] = gate / (exp((gate * gate * 0.044715 + 1.0) * gate * -1.5957691216057308) + 1.0)
                result[:] = T((float32(a) + float32(a_bias)) * gate)
            with copy_out:
                store(y[row * d + offset], result, length)
