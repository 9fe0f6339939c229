"""SelectReduceMaxDSubExpReduceSumDRealDiv: softmax of rows whose elements a mask takes from one of two inputs."""

T = float16, float32, bfloat16


@host
def plan(input1):
    d = input1.shape[input1.rank - 1]
    n = input1.size // d
    most = max(1, min(64, min(2048 // round_up(d, 32), ceil_div(n, vector_cores()))))
    share = round_up(max(1, ceil_div(n, vector_cores())), most)
    ouput.shape = input1.shape
    launch(cores=max(1, ceil_div(n, share)), n=n, d=d, share=share, most=most)


@kernel
def select_reduce_max_d_sub_exp_reduce_sum_d_real_div(
    sel: Input[bool], input1: Input[T], input2: Input[T], ouput: Output[T], *, n, d, share, most
):
    sel_in = buffer(most, d, bool)
    first_in = buffer(most, d, T)
    second_in = buffer(most, d, T)
    taken = buffer(most, d, float32)
    powers = buffer(most, d, float32)
    ouput_out = buffer(most, d, T)
    begin = core() * share
    for first in range(begin, min(begin + share, n), most):
        rows = min(most, min(begin + share, n) - first)
        with copy_in:
            load(sel_in, sel[first * d], rows, d)
            load(first_in, input1[first * d], rows, d)
            load(second_in, input2[first * d], rows, d)
        with compute(rows, d):
            taken[:] = where(float32(sel_in) > 0.5, float32(first_in), float32(second_in))
            powers[:] = exp(taken - row_max(taken))
            ouput_out[:] = T(powers / row_sum(powers))
        with copy_out:
            store(ouput[first * d], ouput_out, rows, d)


# npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
