"""Reductions against NumPy: results, order of summation, masks, ties and result layouts."""

from __future__ import annotations

import numpy as np
import pytest

from npukernelbench.nouns import DType
from tests.twin import models
from tests.twin.running import Twin
from tests.twin.test_api_convert import load, store

N = 512


def run(twin: Twin, dtype: DType, values: np.ndarray, calls: list[str]) -> np.ndarray:
    """Each call writes l_y, which is stored as a row of its own."""
    t = dtype.ascend_c
    rows = "".join(f"Duplicate(l_y, ({t})-1, {N});\n{{\n{call}\n}}\n{store(t, N, at)}" for at, call in enumerate(calls))
    body = f"""TPipe pipe;
    {load(t, "a", N)}
    TBuf<TPosition::VECCALC> b_y, b_w;
    pipe.InitBuffer(b_y, {N} * sizeof({t}));
    pipe.InitBuffer(b_w, {N} * sizeof({t}));
    LocalTensor<{t}> l_y = b_y.Get<{t}>(), l_w = b_w.Get<{t}>();
    {rows}"""
    done = twin.run(body, {"a": values}, {"y": ((len(calls), N), dtype)})
    assert not done.diagnostics, [str(diagnostic) for diagnostic in done.diagnostics]
    return np.asarray(done.output())


def indices(row: np.ndarray) -> np.ndarray:
    """A result read as the indices that stand beside values in it."""
    return row.view({2: np.uint16, 4: np.uint32}[row.itemsize])


def values_of(dtype: DType, seed: int = 2) -> np.ndarray:
    return np.random.default_rng(seed).normal(0, 1, N).astype(dtype.numpy())


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
    assert models.same(rows[0][:repeats], models.tree(grid))
    assert models.same(rows[1][0 : 2 * repeats : 2], grid.max(axis=1))
    assert np.array_equal(indices(rows[1])[1 : 2 * repeats : 2], grid.argmax(axis=1))
    assert np.array_equal(indices(rows[2])[0 : 2 * repeats : 2], grid.argmin(axis=1))
    assert models.same(rows[2][1 : 2 * repeats : 2], grid.min(axis=1))
    assert models.same(rows[3][:repeats], grid.max(axis=1))
    assert np.array_equal(rows[4].view(np.uint32)[:repeats], grid.argmax(axis=1)), "indices alone are 32 bits wide"
    first = np.zeros((repeats, 4), a.dtype)
    first[:, :3] = grid[:, :3]
    assert models.same(rows[5][0 : 2 * repeats : 2], models.tree(first))


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
    assert indices(rows[2])[1] == a[:count].argmin()


def test_new_names_and_lane_bits(twin: Twin, dtype: DType) -> None:
    a = values_of(dtype)
    t, lanes, block = dtype.ascend_c, 256 // dtype.itemsize, 32 // dtype.itemsize
    repeats = N // lanes
    some = "uint64_t some[2] = {0xf0f, 0};"
    rows = run(twin, dtype, a, [
        f"ReduceDataBlock<ReduceType::MAX>(l_y, l_a, {lanes}, {repeats}, 1, 1, 8);",
        f"ReduceRepeat<ReduceType::SUM>(l_y, l_a, {lanes}, {repeats}, 1, 1, 8);",
        f"ReduceRepeat<ReduceType::MIN>(l_y, l_a, {lanes}, {repeats}, 2, 1, 8, ReduceOrder::ORDER_ONLY_VALUE);",
        f"ReducePairElem<ReduceType::SUM>(l_y, l_a, {lanes}, {repeats}, 1, 1, 8);",
        f"{some} WholeReduceSum(l_y, l_a, some, {repeats}, 1, 1, 8);",
        f"{some} WholeReduceMax(l_y, l_a, some, 1, 1, 1, 8, ReduceOrder::ORDER_ONLY_VALUE);",
        f"{some} ReduceRepeat<ReduceType::MAX>(l_y, l_a, some, 1, 1, 1, 8, ReduceOrder::ORDER_ONLY_VALUE);",
        f"{some} BlockReduceMin(l_y, l_a, {repeats}, some, 1, 1, 8);",
        f"{some} PairReduceSum(l_y, l_a, 1, some, 1, 1, 8);",
        f"SetVectorMask<{t}>(0, 0x3); "
        f"WholeReduceSum<{t}, false>(l_y, l_a, MASK_PLACEHOLDER, {repeats}, 1, 1, 8); ResetMask();",
        f"RepeatReduceSum(l_y, l_a, {repeats}, {lanes}, 0, 1, 3, 8);",
        f"WholeReduceSum(l_y, l_a, {block * 2}, 1, 1, 2, 8);",
    ])  # fmt: skip
    grid, blocks = a.reshape(repeats, lanes), a.reshape(-1, block)
    taken = np.full((repeats, lanes), -0.0, a.dtype)
    taken[:, :4], taken[:, 8:12] = grid[:, :4], grid[:, 8:12]
    chosen = np.concatenate([grid[0][:4], grid[0][8:12]])
    sums = models.tree(grid)
    assert models.same(rows[0][: len(blocks)], blocks.max(axis=1))
    assert models.same(rows[1][:repeats], sums)
    assert models.same(rows[2][0 : 2 * repeats : 2], grid.min(axis=1))
    assert models.same(rows[3][: N // 2], (a[0::2] + a[1::2]).astype(a.dtype))
    assert models.same(rows[4][:repeats], models.tree(taken))
    assert rows[5][0] == rows[6][0] == chosen.max()
    assert rows[7][0] == (grid[0][:block][np.isin(np.arange(block), [0, 1, 2, 3, 8, 9, 10, 11])]).min()
    assert models.same(rows[8][:2], (grid[0][0:4:2] + grid[0][1:4:2]).astype(a.dtype))
    assert (rows[8][2:4] == -1).all(), "a masked pair leaves its result as it was"
    assert models.same(rows[9][:repeats], (grid[:, 0] + grid[:, 1]).astype(a.dtype))
    assert models.same(rows[10][0 : 3 * repeats : 3], sums)
    spread = np.full(lanes, -0.0, a.dtype)
    spread[: 2 * block] = np.concatenate([a[:block], a[2 * block : 3 * block]])
    assert rows[11][0] == models.tree(spread)


def test_reductions_of_a_tensor_by_lanes(twin: Twin, dtype: DType) -> None:
    """ReduceSum in mask form is a tree over the sums of its repeats; scratch and result may be the source itself."""
    a = values_of(dtype)
    lanes = 256 // dtype.itemsize
    repeats = N // lanes
    some = "uint64_t some[2] = {0xff0, 0};"
    whole, masked, greatest, least, least_of_short, flat, greatest_of_all, in_place = run(twin, dtype, a, [
        f"ReduceSum(l_y, l_a, l_w, {lanes}, {repeats}, 8);",
        f"{some} ReduceSum(l_y, l_a, l_w, some, {repeats}, 8);",
        f"{some} ReduceMax(l_y, l_a, l_w, some, {repeats}, 8, true);",
        f"{some} ReduceMin(l_y, l_a, l_w, some, {repeats}, 8);",
        f"ReduceMin(l_y, l_a, l_w, {lanes - 1}, {repeats}, 8, true);",
        f"Adds(l_y, l_a, ({dtype.ascend_c})0, {N}); ReduceSum(l_y, l_y, l_y, {N});",
        f"Adds(l_y, l_a, ({dtype.ascend_c})0, {N}); ReduceMax(l_y, l_y, l_y, {N}, true);",
        f"Adds(l_y, l_a, ({dtype.ascend_c})0, {N}); ReduceSum(l_y, l_y, l_y, {lanes}, {repeats}, 8);",
    ])  # fmt: skip
    grid = a.reshape(repeats, lanes)

    def levels(sums: np.ndarray) -> np.generic:
        padded = np.full(lanes, -0.0, a.dtype)
        padded[: len(sums)] = sums
        return models.tree(padded)

    taken = np.full((repeats, lanes), -0.0, a.dtype)
    taken[:, 4:12] = grid[:, 4:12]
    inside = np.where(np.isin(np.arange(N) % lanes, range(4, 12)), a.astype(np.float64), np.nan)
    assert whole[0] == levels(models.tree(grid))
    assert masked[0] == levels(models.tree(taken))
    assert (greatest[0], indices(greatest)[1]) == (np.nanmax(inside), np.nanargmax(inside))
    assert least[0] == np.nanmin(inside)
    short = np.where(np.arange(N) % lanes < lanes - 1, a.astype(np.float64), np.nan)
    assert (least_of_short[0], indices(least_of_short)[1]) == (np.nanmin(short), np.nanargmin(short))
    total = a.dtype.type(0)
    for part in models.tree(grid):
        total = a.dtype.type(total + part)
    assert flat[0] == total
    assert (greatest_of_all[0], indices(greatest_of_all)[1]) == (a.max(), a.argmax())
    assert in_place[0] == whole[0]


def test_special_values(twin: Twin, dtype: DType) -> None:
    """NaN wins every maximum and minimum, signs of zero survive sums, infinities follow IEEE."""
    a = values_of(dtype)
    lanes, block = 256 // dtype.itemsize, 32 // dtype.itemsize
    a[:] = 1
    a[3], a[block + 1], a[2 * block], a[2 * block + 1] = np.nan, np.inf, np.inf, -np.inf
    a[lanes : 2 * lanes] = -0.0
    rows = run(twin, dtype, a, [
        "BlockReduceMax(l_y, l_a, 1, 64, 1, 1, 8);",
        "BlockReduceMin(l_y, l_a, 1, 64, 1, 1, 8);",
        "BlockReduceSum(l_y, l_a, 1, 64, 1, 1, 8);",
        f"WholeReduceMax(l_y, l_a, {lanes}, 1, 1, 1, 8); WholeReduceSum(l_y[4], l_a[{lanes}], {lanes}, 1, 1, 1, 8);",
        f"Max(l_y, l_a, l_a[{lanes}], {lanes});",
        f"Min(l_y, l_a, l_a[{lanes}], {lanes});",
        f"Relu(l_y, l_a[{lanes}], {lanes}); Rsqrt(l_w, l_a[{lanes}], {lanes}); "
        f"Adds(l_y[{lanes}], l_w, ({dtype.ascend_c})0, {lanes});",
    ])  # fmt: skip
    assert np.isnan(rows[0][0])
    assert (rows[0][1], rows[0][2]) == (np.inf, np.inf)
    assert np.isnan(rows[1][0])
    assert (rows[1][1], rows[1][2]) == (1, -np.inf)
    assert np.isnan(rows[2][0])
    assert rows[2][1] == np.inf
    assert np.isnan(rows[2][2])
    assert np.isnan(rows[3][0])
    assert indices(rows[3])[1] == 3
    assert rows[3][4] == 0
    assert np.signbit(rows[3][4])
    assert np.isnan(rows[4][3])
    assert np.isnan(rows[5][3])
    assert (rows[5][2 * block + 1], rows[4][2 * block + 1]) == (-np.inf, 0)
    assert not np.signbit(rows[6][0])
    assert rows[6][lanes] == -np.inf
