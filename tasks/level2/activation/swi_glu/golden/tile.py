"""SwiGlu: y = a * sigmoid(a) * b for the halves a and b of x along an axis."""

T = float16, bfloat16, float32


@host
def plan(x, dim):
    axis = dim if dim >= 0 else dim + x.rank
    d = prod(x.shape[axis : x.rank]) // 2
    n = x.size // d // 2
    wide = min(d, 4096)
    most = max(1, min(64, 4096 // round_up(d, 16)))
    pieces = ceil_div(d, wide)
    items = ceil_div(n, most) * pieces
    y.shape = x.shape[0:axis] + (x.shape[axis] // 2,) + x.shape[axis + 1 : x.rank]
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
def swi_glu(x: Input[T], y: Output[T], dim: Attribute[int] = -1, *, n, d, wide, most, pieces, items, lanes):
    left_in = buffer(most, wide, T, depth=2)
    right_in = buffer(most, wide, T, depth=2)
    a = buffer(most, wide, float32)
    b = buffer(most, wide, float32)
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
            a[:] = float32(left_in)
            b[:] = float32(right_in)
            y_out[:] = T(a / (exp(-a) + 1.0) * b)
        with copy_out:
            store(y[first * d + offset], y_out, rows, length, stride=d)


# npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
