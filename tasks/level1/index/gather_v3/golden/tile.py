"""GatherV3: slices of a tensor along an axis, chosen by indices, perhaps in batches."""

T = float32, float16, bfloat16, int16, int32, int64, int8, bool, uint16, uint32, uint64, uint8
N = int32, int64


@host
def plan(x, indices, axis, batchDims):
    at = axis[0] if axis[0] >= 0 else axis[0] + x.rank
    batches = prod(x.shape[0:batchDims])
    middle = prod(x.shape[batchDims:at])
    inner = prod(x.shape[at + 1 : x.rank])
    count = prod(indices.shape[batchDims : indices.rank])
    slices = batches * middle * count
    used = min(vector_cores(), slices)
    y.shape = x.shape[0:at] + indices.shape[batchDims : indices.rank] + x.shape[at + 1 : x.rank]
    launch(
        cores=used,
        used=used,
        slices=slices,
        middle=middle,
        extent=x.shape[at],
        inner=inner,
        count=count,
        wide=min(inner, 8192),
    )


@kernel
def gather_v3(
    x: Input[T],
    indices: Input[N],
    axis: Input[int64],
    y: Output[T],
    batchDims: Attribute[int] = 0,
    negativeIndexSupport: Attribute[bool] = False,
    *,
    used,
    slices,
    middle,
    extent,
    inner,
    count,
    wide,
):
    slice_of_x = buffer(wide, T, depth=2)
    for part in range(core(), slices, used):
        block = part // count
        chosen = indices[block // middle * count + part % count]
        if chosen < 0:
            chosen = chosen + extent
        for offset in range(0, inner, wide):
            length = min(wide, inner - offset)
            with copy_in as read:
                load(slice_of_x, x[(block * extent + chosen) * inner + offset], length)
            with copy_out as write:
                store(y[part * inner + offset], slice_of_x, length)


# npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
