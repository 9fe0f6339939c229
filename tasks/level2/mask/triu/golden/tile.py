"""Triu: the upper triangle of matrices, zeros elsewhere."""

T = float16, float32


@host
def plan(x):
    m = x.shape[x.rank - 2]
    n = x.shape[x.rank - 1]
    wide = min(n, 2048)
    most = max(1, min(64, min(4096 // round_up(wide, 16), ceil_div(x.size // n, vector_cores()))))
    down = ceil_div(m, most)
    parts = x.size // (m * n) * down
    used = min(vector_cores(), parts)
    y.shape = x.shape
    launch(cores=used, used=used, m=m, n=n, most=most, wide=wide, down=down, parts=parts)


@kernel
def triu(x: Input[T], y: Output[T], diagonal: Attribute[int] = 0, *, used, m, n, most, wide, down, parts):
    x_in = buffer(most, wide, T, depth=2)
    result = buffer(most, wide, T, depth=2)
    # By how much the column of an element exceeds its row, both counted from the beginning of a tile.
    ahead = buffer(most, wide, float32)
    columns = buffer(wide, float32)
    lines = buffer(most, 1, float32)
    with compute(most, wide) as count:
        columns[:] = float32(iota())
        lines[:] = float32(iota_rows())
        ahead[:] = 0.0
        ahead[:] = ahead + columns
        ahead[:] = ahead - lines
    for part in range(core(), parts, used):
        row = part % down * most
        rows = min(most, m - row)
        for offset in range(0, n, wide):
            length = min(wide, n - offset)
            place = (part // down * m + row) * n + offset
            with copy_in as read:
                load(x_in, x[place], rows, length, stride=n)
            with compute(rows, length) as choose:
                result[:] = where(ahead < float(row + diagonal - offset), 0.0, x_in)
            with copy_out as write:
                store(y[place], result, rows, length, stride=n)


# npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
