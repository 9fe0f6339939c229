"""FlashAttentionScoreWithLargeHeadDim: attention by head, some rows of scores at a time; what softmax divided by."""


@host
def plan(query, head_num):
    batches = query.shape[0]
    s = query.shape[1]
    h = query.shape[2]
    d = h // head_num
    tall = min(s, 64)
    if batches * head_num * ceil_div(s, 64) < vector_cores():
        tall = min(s, 32)
    down = ceil_div(s, tall)
    parts = batches * head_num * down
    used = min(vector_cores(), round_up(parts, 2))
    softmax_max.shape = (batches, head_num, s, 8)
    softmax_sum.shape = (batches, head_num, s, 8)
    attention_out.shape = query.shape
    scores.shape = (used * tall * s,)
    powers.shape = (used * tall * s,)
    sums.shape = (used * tall * d,)
    launch(
        cores=used,
        used=used,
        s=s,
        h=h,
        d=d,
        tall=tall,
        down=down,
        parts=parts,
        some=min(tall, 8),
        wide=min(s, 1024),
        deep=min(d, 512),
        eight=8,
    )


@kernel
def flash_attention_score_with_large_head_dim(
    query: Input[float16],
    key: Input[float16],
    value: Input[float16],
    softmax_max: Output[float32],
    softmax_sum: Output[float32],
    attention_out: Output[float16],
    scores: Workspace[float32],
    powers: Workspace[float16],
    sums: Workspace[float32],
    scale_value: Attribute[float] = 1.0,
    head_num: Attribute[int] = 1,
    *,
    used,
    s,
    h,
    d,
    tall,
    down,
    parts,
    some,
    wide,
    deep,
    eight,
):
    score = multiplier(tall, d, s, float16, transpose_b=True)
    weigh = multiplier(tall, s, d, float16)
    given = buffer(some, wide, float32)
    power = buffer(some, wide, float16)
    largest = buffer(some, 1, float32)
    total = buffer(some, 1, float32)
    eightfold = buffer(some, eight, float32)
    product = buffer(some, deep, float32)
    result = buffer(some, deep, float16)
    own = core() * tall
    for part in range(core(), parts, used):
        head = part // down
        row = part % down * tall
        height = min(tall, s - row)
        # Of this batch and head: where its columns begin.
        begin = head // head_num * s * h + head % head_num * d
        multiply(score, scores[own * s], query[begin + row * h], key[begin], height, d, s, strides=(s, h, h))
        for first in range(0, height, some):
            rows = min(some, height - first)
            with compute(rows, 1) as start:
                largest[:] = -inf
                total[:] = 0.0
            for step in range(2):
                for offset in range(0, s, wide):
                    length = min(wide, s - offset)
                    place = (own + first) * s + offset
                    if step == 0 or s > wide:
                        with copy_in as read_scores:
                            load(given, scores[place], rows, length, stride=s)
                        with compute(rows, length) as scale:
                            given[:] = given * scale_value
                    if step == 0:
                        with compute(rows, length) as find_largest:
                            largest[:] = max(largest, row_max(given))
                    else:
                        with compute(rows, length) as take_powers:
                            given[:] = exp(given - largest)
                            total[:] = total + row_sum(given)
                            power[:] = float16(given)
                        with copy_out as write_powers:
                            store(powers[place], power, rows, length, stride=s)
            with compute(rows, eight) as spread_largest:
                eightfold[:] = 0.0
                eightfold[:] = eightfold + largest
            with copy_out as write_largest:
                store(softmax_max[(head * s + row + first) * 8], eightfold, rows, eight)
            with compute(rows, eight) as spread_total:
                eightfold[:] = 0.0
                eightfold[:] = eightfold + total
            with copy_out as write_total:
                store(softmax_sum[(head * s + row + first) * 8], eightfold, rows, eight)
        multiply(weigh, sums[own * d], powers[own * s], value[begin], height, s, d, strides=(d, s, h))
        for first in range(0, height, some):
            rows = min(some, height - first)
            with copy_in as read_total:
                load(eightfold, softmax_sum[(head * s + row + first) * 8], rows, eight)
            with compute(rows, eight) as total_again:
                total[:] = row_max(eightfold)
            for offset in range(0, d, deep):
                length = min(deep, d - offset)
                with copy_in as read_sums:
                    load(product, sums[(own + first) * d + offset], rows, length, stride=d)
                with compute(rows, length) as divide:
                    result[:] = float16(product / total)
                with copy_out as write_result:
                    store(attention_out[begin + (row + first) * h + offset], result, rows, length, stride=h)


# npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
