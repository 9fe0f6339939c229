"""Tile programs of losses and norms, which make one number of everything: see :mod:`.programs`."""

from __future__ import annotations

from collections.abc import Mapping

from benchmarks.tile.written import PLAIN, SINGLE, Written, written

__all__ = ["REDUCTIONS"]

_VECTOR_SUM = """
TYPES

@host
def plan(x, n):
    result.shape = ()
    launch(cores=1, tile=min(max(64, round_up(n, 64)), 4096))


@kernel
def NAME(x: Input[DTYPE], result: Output[DTYPE], n: Attribute[int] = 0, incx: Attribute[int] = 1, *, tile):
    given = buffer(tile, DTYPE, depth=2)
    total = buffer(1, float32)
    rounded = buffer(1, DTYPE)
    with compute(1) as clear:
        total[:] = 0.0
    for offset in range(0, n, tile):
        length = min(tile, n - offset)
        with copy_in:
            load(given, x[offset], length)
        with compute(length) as add:
            total[:] = total + row_sum(TERM)
    with compute(1) as finish:
        rounded[:] = RESULT
    with copy_out:
        store(result[0], rounded, 1)
"""

_MSE_LOSS = """
def plan(predict):
    total = predict.size
    cores = vector_cores()
    share = round_up(ceil_div(total, cores), 512 // predict.itemsize)
    y.shape = ()
    sums.shape = (cores,)
    launch(cores=cores, total=total, share=share, tile=min(share, 4096), parts=cores)


@kernel
def mse_loss(predict: Input[T], label: Input[T], y: Output[T], sums: Workspace[float32], *, total, share, tile, parts):
    given = buffer(tile, T, depth=2)
    wanted = buffer(tile, T, depth=2)
    difference = buffer(tile, float32)
    own = buffer(1, float32)
    all_sums = buffer(parts, float32)
    result = buffer(1, T)
    begin = core() * share
    count = min(share, total - begin)
    with compute(1) as clear:
        own[:] = 0.0
    for offset in range(0, count, tile):
        length = min(tile, count - offset)
        with copy_in:
            load(given, predict[begin + offset], length)
            load(wanted, label[begin + offset], length)
        with compute(length) as add:
            difference[:] = float32(given) - float32(wanted)
            own[:] = own + row_sum(difference * difference)
    with copy_out as store_sum:
        store(sums[core()], own, 1)
    sync_all()
    if core() == 0:
        with copy_in as load_sums:
            load(all_sums, sums[0], parts)
        with compute(parts) as finish:
            result[:] = T(row_sum(all_sums))
        with copy_out as store_loss:
            store(y[0], result, 1)
"""


def _vector_sum(kernel: str, dtype: str, term: str, result: str) -> str:
    """The sum of ``term``, in which the elements are ``given``, and ``result`` of it, which is ``total`` there."""
    types = "T = float16, float32\n\n" if dtype == "T" else ""
    text = _VECTOR_SUM.lstrip().replace("TYPES\n\n", types).replace("NAME", kernel).replace("DTYPE", dtype)
    return text.replace("TERM", term).replace("RESULT", result)


REDUCTIONS: Mapping[str, Written] = {
    "Sasum": Written(_vector_sum("sasum", "T", "abs(float32(given))", "T(total)"), PLAIN, {"incx": 1}),
    "Snrm2": Written(_vector_sum("snrm2", "float32", "given * given", "sqrt(total)"), SINGLE, {"incx": 1}),
    "MseLoss": written(_MSE_LOSS, PLAIN, {"reduction": "sum"}),
}
