"""Reductions against NumPy: results, order of summation, masks, ties and result layouts."""

from __future__ import annotations

import numpy as np
import pytest

from npukernelbench.nouns import DType
from tests.twin import models
from tests.twin.running import Twin
from tests.twin.test_api_convert import load, store

N = 512
TYPES = [DType.FLOAT16, DType.FLOAT32]


def run(twin: Twin, dtype: DType, values: np.ndarray, calls: list[str]) -> np.ndarray:
    """Each call writes l_y, which is stored as a row of its own."""
    t = dtype.ascend_c
    rows = "".join(f"Duplicate(l_y, ({t})-1, {N});\n{call}\n{store(t, N, at)}" for at, call in enumerate(calls))
    body = f"""TPipe pipe;
    {load(t, "a", N)}
    TBuf<TPosition::VECCALC> b_y, b_w;
    pipe.InitBuffer(b_y, {N} * sizeof({t}));
    pipe.InitBuffer(b_w, {N} * sizeof({t}));
    LocalTensor<{t}> l_y = b_y.Get<{t}>(), l_w = b_w.Get<{t}>();
    {rows}"""
    done = twin.run(body, {"a": values}, {"y": ((len(calls), N), dtype)})
    assert not done.diagnostics, [str(one) for one in done.diagnostics]
    return np.asarray(done.output())


def values_of(dtype: DType, seed: int = 2) -> np.ndarray:
    return np.random.default_rng(seed).normal(0, 1, N).astype(dtype.numpy())


@pytest.mark.parametrize("dtype", TYPES, ids=lambda d: d.value)
def test_block_and_pair_reductions(twin: Twin, dtype: DType) -> None:
    a = values_of(dtype)
    lanes, block = 256 // dtype.itemsize, 32 // dtype.itemsize
    repeats = N // lanes
    rows = run(twin, dtype, a, [
        f"BlockReduceSum(l_y, l_a, {repeats}, {lanes}, 1, 1, 8);",
        f"BlockReduceMax(l_y, l_a, {repeats}, {lanes}, 1, 1, 8);",
        f"BlockReduceMin(l_y, l_a, {repeats}, {lanes}, 1, 1, 8);",
        f"PairReduceSum(l_y, l_a, {repeats}, {lanes}, 1, 1, 8);",
        f"BlockReduceSum(l_y, l_a, 1, {block + 3}, 1, 1, 8);",
    ])  # fmt: skip
    blocks = a.reshape(-1, block)
    assert models.same(rows[0][: len(blocks)], models.tree(blocks))
    assert models.same(rows[1][: len(blocks)], blocks.max(axis=1))
    assert models.same(rows[2][: len(blocks)], blocks.min(axis=1))
    assert models.same(rows[3][: N // 2], (a[0::2] + a[1::2]).astype(a.dtype))
    partial = np.concatenate([a[block : block + 3], np.zeros(block - 3, a.dtype)])
    assert models.same(rows[4][:2], np.array([models.tree(a[:block]), models.tree(partial)]))
    assert (rows[4][2:8] == -1).all(), "a fully masked block leaves its result as it was"


@pytest.mark.parametrize("dtype", TYPES, ids=lambda d: d.value)
def test_whole_reductions_and_their_layouts(twin: Twin, dtype: DType) -> None:
    a = values_of(dtype)
    lanes = 256 // dtype.itemsize
    repeats = N // lanes
    a[lanes + 1] = a[lanes + 5] = 9  # a tie in the second repeat: the lower index wins
    rows = run(twin, dtype, a, [
        f"WholeReduceSum(l_y, l_a, {lanes}, {repeats}, 1, 1, 8);",
        f"WholeReduceMax(l_y, l_a, {lanes}, {repeats}, 1, 1, 8);",
        f"WholeReduceMin(l_y, l_a, {lanes}, {repeats}, 1, 1, 8, ReduceOrder::ORDER_INDEX_VALUE);",
        f"WholeReduceMax(l_y, l_a, {lanes}, {repeats}, 1, 1, 8, ReduceOrder::ORDER_ONLY_VALUE);",
        f"WholeReduceMax(l_y, l_a, {lanes}, {repeats}, 1, 1, 8, ReduceOrder::ORDER_ONLY_INDEX);",
        f"WholeReduceSum(l_y, l_a, 3, {repeats}, 2, 1, 8);",
    ])  # fmt: skip
    grid = a.reshape(repeats, lanes)
    index = {2: np.uint16, 4: np.uint32}[dtype.itemsize]
    assert models.same(rows[0][:repeats], models.tree(grid))
    assert models.same(rows[1][0 : 2 * repeats : 2], grid.max(axis=1))
    assert np.array_equal(rows[1].view(index)[1 : 2 * repeats : 2], grid.argmax(axis=1))
    assert np.array_equal(rows[2].view(index)[0 : 2 * repeats : 2], grid.argmin(axis=1))
    assert models.same(rows[2][1 : 2 * repeats : 2], grid.min(axis=1))
    assert models.same(rows[3][:repeats], grid.max(axis=1))
    assert np.array_equal(rows[4].view(np.uint32)[:repeats], grid.argmax(axis=1)), "indices alone are 32 bits wide"
    first = np.zeros((repeats, 4), a.dtype)
    first[:, :3] = grid[:, :3]
    assert models.same(rows[5][0 : 2 * repeats : 2], models.tree(first))


@pytest.mark.parametrize("dtype", TYPES, ids=lambda d: d.value)
@pytest.mark.parametrize("count", [N, 200, 5])
def test_reductions_of_a_tensor(twin: Twin, dtype: DType, count: int) -> None:
    a = values_of(dtype)
    lanes = 256 // dtype.itemsize
    rows = run(twin, dtype, a, [
        f"ReduceSum(l_y, l_a, l_w, {count});",
        f"ReduceMax(l_y, l_a, l_w, {count});",
        f"ReduceMin(l_y, l_a, l_w, {count}, true);",
    ])  # fmt: skip
    padded = np.zeros(-(-count // lanes) * lanes, a.dtype)
    padded[:count] = a[:count]
    total = a.dtype.type(0)
    for part in models.tree(padded.reshape(-1, lanes)):
        total = a.dtype.type(total + part)
    assert models.same(rows[0][:1], np.array([total]))
    assert rows[1][0] == a[:count].max()
    assert rows[1][1] == -1, "without the index only the value is written"
    assert rows[2][0] == a[:count].min()
    index = {2: np.uint16, 4: np.uint32}[dtype.itemsize]
    assert rows[2].view(index)[1] == a[:count].argmin()
