"""TopKV3: the largest or smallest elements of every line along an axis, in order, and where they are."""


@host
def plan(x, k, dim):
    at = dim if dim >= 0 else dim + x.rank
    count = k[0]
    d = x.shape[at]
    inner = prod(x.shape[at + 1 : x.rank])
    used = min(vector_cores(), x.size // d)
    values.shape = x.shape[0:at] + (count,) + x.shape[at + 1 : x.rank]
    indices.shape = x.shape[0:at] + (count,) + x.shape[at + 1 : x.rank]
    lines.shape = (used * d,)
    launch(cores=used, used=used, total=x.size // d, count=count, d=d, inner=inner, some=min(d, 512), one=1)


@kernel
def top_kv3(
    x: Input[float16],
    k: Input[int32],
    values: Output[float16],
    indices: Output[int32],
    lines: Workspace[float32],
    sorted: Attribute[bool] = True,
    dim: Attribute[int] = -1,
    largest: Attribute[bool] = True,
    *,
    used,
    total,
    count,
    d,
    inner,
    some,
    one,
):
    run = buffer(d, float16)
    apart = buffer(some, one, float16)
    together = buffer(some, 1, float32)
    line = buffer(d, float32)
    order = buffer(d, int32)
    best = buffer(d, float32)
    chosen = buffer(d, float16)
    place = buffer(1, int32)
    value = buffer(1, float32)
    narrow = buffer(1, float16)
    for number in range(core(), total, used):
        block = number // inner * d * inner + number % inner
        if inner == 1:
            with copy_in as read:
                load(run, x[number * d], d)
            with compute(d) as widen:
                line[:] = float32(run)
        else:
            # Elements that lie apart come together in the workspace.
            for first in range(0, d, some):
                rows = min(some, d - first)
                with copy_in as read_apart:
                    load(apart, x[block + first * inner], rows, one, stride=inner)
                with compute(rows, one) as put_together:
                    together[:] = row_sum(float32(apart))
                with copy_out as write_line:
                    store(lines[core() * d + first], together, rows)
            with copy_in as read_line:
                load(line, lines[core() * d], d)
        if not largest:
            with compute(d) as turn:
                line[:] = -line
        with compute(d) as sort:
            order[:] = argsort(line)
            best[:] = gather(line, order)
        if not largest:
            with compute(d) as turn_back:
                best[:] = -best
        if inner == 1:
            with compute(d) as narrow_values:
                chosen[:] = float16(best)
            with copy_out as write:
                store(values[number * count], chosen, count)
                store(indices[number * count], order, count)
        else:
            for j in range(count):
                held = best[j]
                found = order[j]
                with compute(1) as choose:
                    value[:] = held
                    narrow[:] = float16(value)
                    place[:] = found
                with copy_out as write_one:
                    store(values[(number // inner * count + j) * inner + number % inner], narrow, 1)
                    store(indices[(number // inner * count + j) * inner + number % inner], place, 1)


# npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
