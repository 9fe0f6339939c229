"""CraftMinGptNewGelu: the tanh form of GELU, as x / (1 + exp(-2 * z)).

z = sqrt(2 / pi) * (x + 0.044715 * x^3). Where exp overflows, the quotient is the zero that the function tends to.
"""


@host
def plan(x):
    total = x.size
    share = max(128, round_up(ceil_div(total, vector_cores()), 128))
    y.shape = x.shape
    launch(cores=max(1, ceil_div(total, share)), total=total, share=share, tile=8192)


@kernel
def craft_min_gpt_new_gelu(x: Input[float32], y: Output[float32], *, total, share, tile):
    x_tile = buffer(tile, float32, depth=2)
    result = buffer(tile, float32, depth=2)
    begin = core() * share
    count = min(share, total - begin)
    for offset in range(0, count, tile):
        length = min(tile, count - offset)
        with copy_in:
            load(x_tile, x[begin + offset], length)
        with compute(length):
            result[:] = x_tile / (exp((x_tile * x_tile * 0.044715 + 1.0) * x_tile * -1.5957691216057308) + 1.0)
        with copy_out:
            store(y[begin + offset], result, length)


# npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
