"""MhcPostGrad: gradients of y_i = sum_j h_res_ij x_j + h_post_i h_out, four streams per token.

A row of h_res is a column of a tile whose rows are streams; the gradients of coefficients are sums of rows, piece by
piece.
"""

T = float16, bfloat16, float32


@host
def plan(grad_y, x, h_res, h_out, h_post):
    d = x.shape[x.rank - 1]
    n = x.size // (4 * d)
    share = max(1, ceil_div(n, vector_cores()))
    grad_x.shape = x.shape
    grad_h_res.shape = h_res.shape
    grad_h_out.shape = h_out.shape
    grad_h_post.shape = h_post.shape
    launch(cores=max(1, ceil_div(n, share)), n=n, d=d, share=share, width=min(round_up(d, 16), 512))


@kernel
def mhc_post_grad(
    grad_y: Input[T],
    x: Input[T],
    h_res: Input[float32],
    h_out: Input[T],
    h_post: Input[float32],
    grad_x: Output[T],
    grad_h_res: Output[float32],
    grad_h_out: Output[T],
    grad_h_post: Output[float32],
    *,
    n,
    d,
    share,
    width,
):
    streams = buffer(4, width, T, depth=2)
    gradients = buffer(4, width, T, depth=2)
    layer = buffer(width, T, depth=2)
    weight = buffer(4, 1, float32)
    g0 = buffer(width, T, depth=2)
    g1 = buffer(width, T, depth=2)
    g2 = buffer(width, T, depth=2)
    g3 = buffer(width, T, depth=2)
    h0 = buffer(4, 1, float32)
    h1 = buffer(4, 1, float32)
    h2 = buffer(4, 1, float32)
    h3 = buffer(4, 1, float32)
    r0 = buffer(4, 1, float32)
    r1 = buffer(4, 1, float32)
    r2 = buffer(4, 1, float32)
    r3 = buffer(4, 1, float32)
    q = buffer(4, 1, float32)
    wide = buffer(4, width, float32)
    wide_x = buffer(4, width, float32)
    total = buffer(4, width, float32)
    row = buffer(width, float32)
    stream_out = buffer(4, width, T, depth=2)
    layer_out = buffer(width, T, depth=2)
    begin = core() * share
    for t in range(begin, min(begin + share, n)):
        with copy_in as read_coefficients:
            load(weight, h_post[t * 4], 4)
            load(h0, h_res[t * 16 + 0], 4)
            load(h1, h_res[t * 16 + 4], 4)
            load(h2, h_res[t * 16 + 8], 4)
            load(h3, h_res[t * 16 + 12], 4)
        with compute(4, width) as start_token:
            r0[:] = 0.0
            r1[:] = 0.0
            r2[:] = 0.0
            r3[:] = 0.0
            q[:] = 0.0
        for c in range(0, d, width):
            cols = min(width, d - c)
            with copy_in:
                load(streams, x[t * 4 * d + c], 4, cols, stride=d)
                load(gradients, grad_y[t * 4 * d + c], 4, cols, stride=d)
                load(layer, h_out[t * d + c], cols)
                load(g0, grad_y[(t * 4 + 0) * d + c], cols)
                load(g1, grad_y[(t * 4 + 1) * d + c], cols)
                load(g2, grad_y[(t * 4 + 2) * d + c], cols)
                load(g3, grad_y[(t * 4 + 3) * d + c], cols)
            with compute(4, cols) as differentiate:
                wide[:] = float32(gradients)
                wide_x[:] = float32(streams)
                row[:] = float32(layer)
                q[:] = q + row_sum(wide * row)
                row[:] = col_sum(wide * weight)
                layer_out[:] = T(row)
                wide[:] = 1.0
                row[:] = float32(g0)
                r0[:] = r0 + row_sum(wide_x * row)
                total[:] = wide * h0 * row
                row[:] = float32(g1)
                r1[:] = r1 + row_sum(wide_x * row)
                total[:] = total + wide * h1 * row
                row[:] = float32(g2)
                r2[:] = r2 + row_sum(wide_x * row)
                total[:] = total + wide * h2 * row
                row[:] = float32(g3)
                r3[:] = r3 + row_sum(wide_x * row)
                total[:] = total + wide * h3 * row
                stream_out[:] = T(total)
            with copy_out:
                store(grad_x[t * 4 * d + c], stream_out, 4, cols, stride=d)
                store(grad_h_out[t * d + c], layer_out, cols)
        with copy_out as store_coefficients:
            store(grad_h_post[t * 4], q, 4)
            store(grad_h_res[t * 16 + 0], r0, 4)
            store(grad_h_res[t * 16 + 4], r1, 4)
            store(grad_h_res[t * 16 + 8], r2, 4)
            store(grad_h_res[t * 16 + 12], r3, 4)


# npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
