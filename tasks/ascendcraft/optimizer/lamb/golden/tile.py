"""CraftLamb: param - lr * |param| / (|r| + eps) * r with r = m / (sqrt(v) + eps).

Every core sums the squares of its share; when all have met, every core adds the sums and takes its share of the step.
"""


@host
def plan(param):
    total = param.size
    cores = vector_cores()
    share = round_up(ceil_div(total, cores), 128)
    param_out.shape = param.shape
    sums.shape = (2 * cores,)
    launch(cores=cores, total=total, share=share, tile=2048, parts=cores)


@kernel
def craft_lamb(
    param: Input[float32],
    m: Input[float32],
    v: Input[float32],
    param_out: Output[float32],
    sums: Workspace[float32],
    lr: Attribute[float] = 0.001,
    eps: Attribute[float] = 1.0e-6,
    *,
    total,
    share,
    tile,
    parts,
):
    p_tile = buffer(tile, float32, depth=2)
    m_tile = buffer(tile, float32, depth=2)
    v_tile = buffer(tile, float32, depth=2)
    p_again = buffer(tile, float32, depth=2)
    m_again = buffer(tile, float32, depth=2)
    v_again = buffer(tile, float32, depth=2)
    result = buffer(tile, float32, depth=2)
    r = buffer(tile, float32)
    p_sum = buffer(1, float32)
    r_sum = buffer(1, float32)
    step = buffer(1, float32)
    p_sums = buffer(parts, float32)
    r_sums = buffer(parts, float32)
    begin = core() * share
    count = min(share, total - begin)
    with compute(1) as clear:
        p_sum[:] = 0.0
        r_sum[:] = 0.0
    for offset in range(0, count, tile):
        length = min(tile, count - offset)
        with copy_in as read:
            load(p_tile, param[begin + offset], length)
            load(m_tile, m[begin + offset], length)
            load(v_tile, v[begin + offset], length)
        with compute(length) as add:
            r[:] = m_tile / (sqrt(v_tile) + eps)
            p_sum[:] = p_sum + row_sum(p_tile * p_tile)
            r_sum[:] = r_sum + row_sum(r * r)
    with copy_out as store_sums:
        store(sums[core()], p_sum, 1)
        store(sums[parts + core()], r_sum, 1)
    sync_all()
    with copy_in as load_sums:
        load(p_sums, sums[0], parts)
        load(r_sums, sums[parts], parts)
    with compute(parts) as find_step:
        step[:] = sqrt(row_sum(p_sums)) / (sqrt(row_sum(r_sums)) + eps) * lr
    for offset in range(0, count, tile):
        length = min(tile, count - offset)
        with copy_in as read_again:
            load(p_again, param[begin + offset], length)
            load(m_again, m[begin + offset], length)
            load(v_again, v[begin + offset], length)
        with compute(length) as update:
            result[:] = p_again - m_again / (sqrt(v_again) + eps) * step
        with copy_out:
            store(param_out[begin + offset], result, length)


# npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
