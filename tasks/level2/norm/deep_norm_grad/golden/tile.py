"""DeepNormGrad: the gradients of a layer normalisation of alpha * x + gx."""

T = float32, float16, bfloat16


@host
def plan(dy, gamma):
    d = gamma.size
    n = dy.size // d
    wide = min(d, 2048)
    most = max(1, min(64, min(2048 // round_up(d, 16), ceil_div(n, vector_cores()))))
    share = round_up(max(1, ceil_div(n, vector_cores())), most)
    parts.shape = (2 * vector_cores() * d,)
    dx.shape = dy.shape
    dgx.shape = dy.shape
    dgamma.shape = gamma.shape
    dbeta.shape = gamma.shape
    launch(cores=vector_cores(), n=n, d=d, share=share, most=most, wide=wide, lanes=vector_cores(), piece=min(d, 64))


@kernel
def deep_norm_grad(
    dy: Input[T],
    x: Input[T],
    gx: Input[T],
    gamma: Input[T],
    mean: Input[float32],
    rstd: Input[float32],
    dx: Output[T],
    dgx: Output[T],
    dbeta: Output[float32],
    dgamma: Output[float32],
    parts: Workspace[float32],
    alpha: Attribute[float] = 0.3,
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
    gx_in = buffer(most, wide, T)
    gamma_in = buffer(wide, T)
    xhat = buffer(most, wide, float32)
    wide_dy = buffer(most, wide, float32)
    g = buffer(most, wide, float32)
    result = buffer(most, wide, T)
    result2 = buffer(most, wide, T)
    of_gamma = buffer(wide, float32)
    of_beta = buffer(wide, float32)
    root = buffer(most, 1, float32)
    average = buffer(most, 1, float32)
    mean_g = buffer(most, 1, float32)
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
                of_beta[:] = 0.0
            for first in range(begin, end, most):
                rows = min(most, end - first)
                place = first * d + offset
                with copy_in as read_piece:
                    load(dy_in, dy[place], rows, length, stride=d)
                    load(x_in, x[place], rows, length, stride=d)
                    load(gx_in, gx[place], rows, length, stride=d)
                    load(gamma_in, gamma[offset], length)
                    load(root, rstd[first], rows)
                    load(average, mean[first], rows)
                with compute(rows, length) as prepare_piece:
                    xhat[:] = (float32(x_in) * alpha + float32(gx_in) - average) * root
                    wide_dy[:] = float32(dy_in)
                    g[:] = wide_dy * float32(gamma_in)
                with compute(rows, length) as add_rows_of_piece:
                    of_gamma[:] = of_gamma + col_sum(wide_dy * xhat)
                    of_beta[:] = of_beta + col_sum(wide_dy)
            with copy_out as write_parts_of_piece:
                store(parts[core() * d + offset], of_gamma, length)
                store(parts[(lanes + core()) * d + offset], of_beta, length)
    else:
        length = d
        with compute(1, length) as clear:
            of_gamma[:] = 0.0
            of_beta[:] = 0.0
    for first in range(begin, end, most):
        rows = min(most, end - first)
        with compute(rows, 1) as start:
            mean_gx[:] = 0.0
            mean_g[:] = 0.0
        for step in range(2):
            for offset in range(0, d, wide):
                length = min(wide, d - offset)
                place = first * d + offset
                if step == 0 or d > wide:
                    with copy_in as read:
                        load(dy_in, dy[place], rows, length, stride=d)
                        load(x_in, x[place], rows, length, stride=d)
                        load(gx_in, gx[place], rows, length, stride=d)
                        load(gamma_in, gamma[offset], length)
                        load(root, rstd[first], rows)
                        load(average, mean[first], rows)
                    with compute(rows, length) as prepare:
                        xhat[:] = (float32(x_in) * alpha + float32(gx_in) - average) * root
                        wide_dy[:] = float32(dy_in)
                        g[:] = wide_dy * float32(gamma_in)
                if step == 0:
                    with compute(rows, length) as add_means:
                        mean_gx[:] = mean_gx + row_sum(g * xhat) * (1.0 / float(d))
                        mean_g[:] = mean_g + row_sum(g) * (1.0 / float(d))
                    if d <= wide:
                        with compute(rows, length) as add_rows:
                            of_gamma[:] = of_gamma + col_sum(wide_dy * xhat)
                            of_beta[:] = of_beta + col_sum(wide_dy)
                if step == 1:
                    with compute(rows, length) as combine:
                        g[:] = (g - mean_g - xhat * mean_gx) * root
                        result[:] = T(g)
                        result2[:] = T(g * alpha)
                    with copy_out as write_dx:
                        store(dgx[place], result, rows, length, stride=d)
                        store(dx[place], result2, rows, length, stride=d)
    if d <= wide:
        offset = 0
        length = d
        with copy_out as write_parts:
            store(parts[core() * d + offset], of_gamma, length)
            store(parts[(lanes + core()) * d + offset], of_beta, length)
    sync_all()
    for offset in range(core() * piece, d, lanes * piece):
        length = min(piece, d - offset)
        with copy_in as read_parts:
            load(gathered, parts[offset], lanes, length, stride=d)
        with compute(lanes, length) as fold:
            folded[:] = col_sum(gathered)
        with copy_out as write_dgamma:
            store(dgamma[offset], folded, length)
        with copy_in as read_parts_of_beta:
            load(gathered, parts[lanes * d + offset], lanes, length, stride=d)
        with compute(lanes, length) as fold_beta:
            folded[:] = col_sum(gathered)
        with copy_out as write_dbeta:
            store(dbeta[offset], folded, length)


# npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
