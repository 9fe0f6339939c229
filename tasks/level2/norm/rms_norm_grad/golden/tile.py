"""RmsNormGrad: the gradients of a root mean square normalisation."""

T = float16, bfloat16, float32
G = float32, float16, bfloat16


@host
def plan(dy, gamma):
    d = gamma.size
    n = dy.size // d
    wide = min(d, 2048)
    most = max(1, min(64, min(2048 // round_up(d, 16), ceil_div(n, vector_cores()))))
    share = round_up(max(1, ceil_div(n, vector_cores())), most)
    parts.shape = (1 * vector_cores() * d,)
    dx.shape = dy.shape
    dgamma.shape = gamma.shape
    launch(cores=vector_cores(), n=n, d=d, share=share, most=most, wide=wide, lanes=vector_cores(), piece=min(d, 64))


@kernel
def rms_norm_grad(
    dy: Input[T],
    x: Input[T],
    rstd: Input[float32],
    gamma: Input[G],
    dx: Output[T],
    dgamma: Output[float32],
    parts: Workspace[float32],
    *,
    n,
    d,
    share,
    most,
    wide,
    lanes,
    piece,
):
    dy_in = buffer(most, wide, T)
    x_in = buffer(most, wide, T)
    gamma_in = buffer(wide, G)
    xhat = buffer(most, wide, float32)
    wide_dy = buffer(most, wide, float32)
    g = buffer(most, wide, float32)
    result = buffer(most, wide, T)
    of_gamma = buffer(wide, float32)
    root = buffer(most, 1, float32)
    mean_gx = buffer(most, 1, float32)
    gathered = buffer(lanes, piece, float32)
    folded = buffer(piece, float32)
    begin = core() * share
    end = min(begin + share, n)
    # Sums over rows: beside the rest where a row is one piece, else piece by piece.
    if d > wide:
        for offset in range(0, d, wide):
            length = min(wide, d - offset)
            with compute(1, length) as clear_piece:
                of_gamma[:] = 0.0
            for first in range(begin, end, most):
                rows = min(most, end - first)
                place = first * d + offset
                with copy_in as read_piece:
                    load(dy_in, dy[place], rows, length, stride=d)
                    load(x_in, x[place], rows, length, stride=d)
                    load(gamma_in, gamma[offset], length)
                    load(root, rstd[first], rows)
                with compute(rows, length) as prepare_piece:
                    xhat[:] = float32(x_in) * root
                    wide_dy[:] = float32(dy_in)
                    g[:] = wide_dy * float32(gamma_in)
                with compute(rows, length) as add_rows_of_piece:
                    of_gamma[:] = of_gamma + col_sum(wide_dy * xhat)
            with copy_out as write_parts_of_piece:
                store(parts[core() * d + offset], of_gamma, length)
    else:
        length = d
        with compute(1, length) as clear:
            of_gamma[:] = 0.0
    for first in range(begin, end, most):
        rows = min(most, end - first)
        with compute(rows, 1) as start:
            mean_gx[:] = 0.0
        for step in range(2):
            for offset in range(0, d, wide):
                length = min(wide, d - offset)
                place = first * d + offset
                if step == 0 or d > wide:
                    with copy_in as read:
                        load(dy_in, dy[place], rows, length, stride=d)
                        load(x_in, x[place], rows, length, stride=d)
                        load(gamma_in, gamma[offset], length)
                        load(root, rstd[first], rows)
                    with compute(rows, length) as prepare:
                        xhat[:] = float32(x_in) * root
                        wide_dy[:] = float32(dy_in)
                        g[:] = wide_dy * float32(gamma_in)
                if step == 0:
                    with compute(rows, length) as add_means:
                        mean_gx[:] = mean_gx + row_sum(g * xhat) * (1.0 / float(d))
                    if d <= wide:
                        with compute(rows, length) as add_rows:
                            of_gamma[:] = of_gamma + col_sum(wide_dy * xhat)
                if step == 1:
                    with compute(rows, length) as combine:
                        result[:] = T((g - xhat * mean_gx) * root)
                    with copy_out as write_dx:
                        store(dx[place], result, rows, length, stride=d)
    if d <= wide:
        offset = 0
        length = d
        with copy_out as write_parts:
            store(parts[core() * d + offset], of_gamma, length)
    sync_all()
    for offset in range(core() * piece, d, lanes * piece):
        length = min(piece, d - offset)
        with copy_in as read_parts:
            load(gathered, parts[offset], lanes, length, stride=d)
        with compute(lanes, length) as fold:
            folded[:] = col_sum(gathered)
        with copy_out as write_dgamma:
            store(dgamma[offset], folded, length)


# npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
