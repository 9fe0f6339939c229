"""GeGluV2: y = gelu(a) * b for the halves a and b of x along an axis, and gelu(a)."""

T = float16, bfloat16, float32


@host
def plan(x, dim):
    axis = dim if dim >= 0 else dim + x.rank
    d = prod(x.shape[axis : x.rank]) // 2
    n = x.size // d // 2
    wide = min(d, 2048)
    most = max(1, min(64, 2048 // round_up(d, 16)))
    pieces = ceil_div(d, wide)
    items = ceil_div(n, most) * pieces
    y.shape = x.shape[0:axis] + (x.shape[axis] // 2,) + x.shape[axis + 1 : x.rank]
    gelu.shape = x.shape[0:axis] + (x.shape[axis] // 2,) + x.shape[axis + 1 : x.rank]
    launch(
        cores=min(items, vector_cores()),
        n=n,
        d=d,
        wide=wide,
        most=most,
        pieces=pieces,
        items=items,
        lanes=min(items, vector_cores()),
    )


@kernel
def ge_glu_v2(
    x: Input[T],
    y: Output[T],
    gelu: Output[T],
    dim: Attribute[int] = -1,
    approximate: Attribute[int] = 0,
    activate_left: Attribute[bool] = True,
    *,
    n,
    d,
    wide,
    most,
    pieces,
    items,
    lanes,
):
    left_in = buffer(most, wide, T, depth=2)
    right_in = buffer(most, wide, T, depth=2)
    a = buffer(most, wide, float32)
    b = buffer(most, wide, float32)
    activated = buffer(most, wide, float32)
    gelu_out = buffer(most, wide, T, depth=2)
    y_out = buffer(most, wide, T, depth=2)
    for item in range(core(), items, lanes):
        first = item // pieces * most
        offset = item % pieces * wide
        rows = min(most, n - first)
        length = min(wide, d - offset)
        with copy_in:
            load(left_in, x[first * 2 * d + offset], rows, length, stride=2 * d)
            load(right_in, x[first * 2 * d + d + offset], rows, length, stride=2 * d)
        with compute(rows, length):
            if activate_left:
                a[:] = float32(left_in)
                b[:] = float32(right_in)
            else:
                a[:] = float32(right_in)
                b[:] = float32(left_in)
            if approximate == 0:
                activated[:] = (erf(a * 0.7071067811865476) + 1.0) * (a * 0.5)
            else:
                activated[:] = a / (exp((a * a * 0.044715 + 1.0) * a * -1.5957691216057308) + 1.0)
            gelu_out[:] = T(activated)
            y_out[:] = T(activated * b)
        with copy_out:
            store(y[first * d + offset], y_out, rows, length, stride=d)
            store(gelu[first * d + offset], gelu_out, rows, length, stride=d)


# npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
