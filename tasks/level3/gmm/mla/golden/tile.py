"""Mla: attention of queries in two parts to keys in the pages of a cache; one part of a key is its value as well."""

T = float16, bfloat16


@host
def plan(query_nope, query_rope, kv_nope_cache, block_tables):
    tokens = query_nope.shape[0]
    heads = query_nope.shape[1]
    d = query_nope.shape[2]
    r = query_rope.shape[2]
    size = kv_nope_cache.shape[1]
    cached = kv_nope_cache.shape[2]
    pages = block_tables.shape[1]
    tall = min(heads // cached, 16)
    down = ceil_div(heads // cached, tall)
    parts = tokens * cached * down
    used = min(vector_cores(), round_up(parts, 2))
    out.shape = query_nope.shape
    nope.shape = (used * tall * pages * size,)
    rope.shape = (used * tall * pages * size,)
    powers.shape = (used * tall * pages * size,)
    sums.shape = (used * tall * pages * d,)
    launch(
        cores=used,
        used=used,
        heads=heads,
        d=d,
        r=r,
        size=size,
        cached=cached,
        pages=pages,
        tall=tall,
        down=down,
        parts=parts,
        wide=min(pages * size, 512),
        deep=min(d, 512),
        scale=1.0 / sqrt(float(d + r)),
    )


@kernel
def mla(
    query_nope: Input[T],
    query_rope: Input[T],
    kv_nope_cache: Input[T],
    kv_rope_cache: Input[T],
    block_tables: Input[int32],
    out: Output[T],
    nope: Workspace[float32],
    rope: Workspace[float32],
    powers: Workspace[T],
    sums: Workspace[float32],
    q_seqlen_list: Attribute[ints],
    k_seqlen_list: Attribute[ints],
    *,
    used,
    heads,
    d,
    r,
    size,
    cached,
    pages,
    tall,
    down,
    parts,
    wide,
    deep,
    scale,
):
    of_nope = multiplier(tall, d, size, T, transpose_b=True)
    of_rope = multiplier(tall, r, size, T, transpose_b=True)
    weigh = multiplier(tall, size, d, T)
    given = buffer(tall, wide, float32)
    second = buffer(tall, wide, float32)
    power = buffer(tall, wide, T)
    largest = buffer(tall, 1, float32)
    total = buffer(tall, 1, float32)
    product = buffer(tall, deep, float32)
    collected = buffer(tall, deep, float32)
    result = buffer(tall, deep, T)
    span = pages * size
    own = core() * tall * span
    for part in range(core(), parts, used):
        token = part // (cached * down)
        head = part // down % cached
        height = min(tall, heads // cached - part % down * tall)
        row = token * heads + head * (heads // cached) + part % down * tall
        sequence = 0
        passed = 0
        for other in range(len(q_seqlen_list)):
            if token >= passed:
                sequence = other
            passed = passed + q_seqlen_list[other]
        length = k_seqlen_list[sequence]
        for page in range(ceil_div(length, size)):
            place = block_tables[sequence * pages + page] * size * cached + head
            width = min(size, length - page * size)
            multiply(
                of_nope,
                nope[own + page * size],
                query_nope[row * d],
                kv_nope_cache[place * d],
                height,
                d,
                width,
                strides=(span, d, cached * d),
            )
            multiply(
                of_rope,
                rope[own + page * size],
                query_rope[row * r],
                kv_rope_cache[place * r],
                height,
                r,
                width,
                strides=(span, r, cached * r),
            )
        with compute(height, 1) as start:
            largest[:] = -inf
            total[:] = 0.0
        for step in range(2):
            for offset in range(0, length, wide):
                count = min(wide, length - offset)
                if step == 0 or length > wide:
                    with copy_in as read_scores:
                        load(given, nope[own + offset], height, count, stride=span)
                        load(second, rope[own + offset], height, count, stride=span)
                    with compute(height, count) as add_and_scale:
                        given[:] = (given + second) * scale
                if step == 0:
                    with compute(height, count) as find_largest:
                        largest[:] = max(largest, row_max(given))
                else:
                    with compute(height, count) as take_powers:
                        given[:] = exp(given - largest)
                        total[:] = total + row_sum(given)
                        power[:] = T(given)
                    with copy_out as write_powers:
                        store(powers[own + offset], power, height, count, stride=span)
        for page in range(ceil_div(length, size)):
            place = block_tables[sequence * pages + page] * size * cached + head
            width = min(size, length - page * size)
            multiply(
                weigh,
                sums[(core() * pages + page) * tall * d],
                powers[own + page * size],
                kv_nope_cache[place * d],
                height,
                width,
                d,
                strides=(d, span, cached * d),
            )
        for offset in range(0, d, deep):
            count = min(deep, d - offset)
            with compute(height, count) as clear:
                collected[:] = 0.0
            for page in range(ceil_div(length, size)):
                with copy_in as read_sums:
                    load(product, sums[(core() * pages + page) * tall * d + offset], height, count, stride=d)
                with compute(height, count) as collect:
                    collected[:] = collected + product
            with compute(height, count) as divide:
                result[:] = T(collected / total)
            with copy_out as write_result:
                store(out[row * d + offset], result, height, count, stride=d)


# npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
