"""ScatterList: stretches of an axis of several tensors, overwritten in place where a mask says so."""

T = int8, int16, int32, uint8, uint16, uint32, float16, bfloat16, float32
N = int32, int64


@host
def plan(updates, axis):
    last = updates.shape[updates.rank - 1]
    before = prod(updates.shape[1 : updates.rank + axis])
    extent = updates.shape[updates.rank + axis]
    behind = last if axis == -2 else 1
    varOut.shape = var.shape
    most = max(1, min(16, ceil_div(before, vector_cores())))
    launch(
        cores=vector_cores(),
        lanes=vector_cores(),
        before=before,
        extent=extent,
        behind=behind,
        most=most,
        wide=min(extent * behind, 2048),
    )


@kernel
def scatter_list(
    var: Inputs[T],
    indice: Input[N],
    updates: Input[T],
    mask: Input[uint8] | None,
    varOut: Outputs[T, var],
    reduce: Attribute[str] = "update",
    axis: Attribute[int] = -2,
    *,
    lanes,
    before,
    extent,
    behind,
    most,
    wide,
):
    stretch = buffer(most, wide, T, depth=2)
    for k in range(len(var)):
        chosen = 1
        if mask is not None:
            chosen = mask[k]
        count = 0
        if chosen != 0:
            count = indice[2 * k + 1] * behind
        begin = indice[2 * k] * behind
        for row in range(core() * most, before, lanes * most):
            rows = min(most, before - row)
            for offset in range(0, count, wide):
                length = min(wide, count - offset)
                with copy_in as read:
                    load(
                        stretch,
                        updates[(k * before + row) * extent * behind + offset],
                        rows,
                        length,
                        stride=extent * behind,
                    )
                with copy_out as write:
                    store(
                        varOut[k][row * extent * behind + begin + offset], stretch, rows, length, stride=extent * behind
                    )


# npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
