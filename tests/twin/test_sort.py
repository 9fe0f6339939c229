"""Sorting against NumPy: records and their layout, ties, NaN, merges of two to four queues, TopK in both modes."""

from __future__ import annotations

import numpy as np
import pytest

from npukernelbench.nouns import DType
from tests.twin import models
from tests.twin.running import Twin
from tests.twin.test_api_convert import load

N = 256


def records_of(values: np.ndarray, index: np.ndarray) -> np.ndarray:
    """Records as bytes: value, padding, index."""
    rows = np.zeros((values.size, 8), np.uint8)
    rows[:, : values.itemsize] = values.view(np.uint8).reshape(values.size, values.itemsize)
    rows[:, 4:] = index.astype(np.uint32).view(np.uint8).reshape(values.size, 4)
    return rows


def order(values: np.ndarray) -> np.ndarray:
    """Stable descending order with NaN first."""
    wide = values.astype(np.float64)
    return np.lexsort((np.nan_to_num(-wide, nan=0, posinf=1e300, neginf=-1e300), ~np.isnan(wide)))


def sorted_records(values: np.ndarray, index: np.ndarray, width: int) -> np.ndarray:
    """Records ordered within groups of ``width``."""
    parts = [slice(at, at + width) for at in range(0, values.size, width)]
    return np.concatenate([records_of(values[p][order(values[p])], index[p][order(values[p])]) for p in parts])


def samples(dtype: DType, seed: int = 3) -> np.ndarray:
    """Values with ties, infinities and NaN among them."""
    rng = np.random.default_rng(seed)
    values = np.round(rng.normal(0, 8, N), 1).astype(dtype.numpy())
    values[[5, 40, 41, 130]] = [np.inf, -np.inf, np.nan, np.nan]
    values[200:204] = [0.0, -0.0, 0.0, -0.0]
    return values


def run(twin: Twin, dtype: DType, values: np.ndarray, calls: list[str], *, warnings: bool = False) -> np.ndarray:
    """Each call writes l_y, ``N`` records, which are stored as a row of bytes. l_s holds sorted groups of 32."""
    t = dtype.ascend_c
    rows = "".join(
        f"Duplicate(l_y.template ReinterpretCast<int32_t>(), 0, {2 * N});\n{call}\n"
        f"DataCopy(g_y[{at * N * 8}], bytes, {N * 8});\n"
        for at, call in enumerate(calls)
    )
    body = f"""TPipe pipe;
    {load(t, "a", N)}
    {load("uint32_t", "i", N)}
    TBuf<TPosition::VECCALC> b_y, b_s, b_w;
    pipe.InitBuffer(b_y, {N * 8});
    pipe.InitBuffer(b_s, {N * 8});
    pipe.InitBuffer(b_w, {N * 8});
    LocalTensor<{t}> l_y = b_y.Get<{t}>(), l_s = b_s.Get<{t}>(), l_w = b_w.Get<{t}>();
    LocalTensor<uint8_t> bytes = b_y.Get<uint8_t>();
    GlobalTensor<uint8_t> g_y;
    g_y.SetGlobalBuffer((__gm__ uint8_t*)y);
    constexpr uint32_t R = 8 / sizeof({t});
    Sort32(l_s, l_a, l_i, {N // 32});
    {rows}"""
    index = np.arange(1000, 1000 + N, dtype=np.uint32)
    done = twin.run(body, {"a": values, "i": index}, {"y": ((len(calls), N, 8), DType.UINT8)})
    assert warnings or not done.diagnostics, [str(diagnostic) for diagnostic in done.diagnostics]
    return np.asarray(done.output())


def test_records_are_sorted_and_merged(twin: Twin, dtype: DType) -> None:
    values = samples(dtype)
    index = np.arange(1000, 1000 + N, dtype=np.uint32)
    t = dtype.ascend_c
    merge = (
        "MrgSort4Info info{{{0}}}; MrgSort(l_y, MrgSortSrcList<{1}>(l_s, l_s[32 * R], l_s[64 * R], l_s[96 * R]), info);"
    )

    def merged(lengths: str, rest: str) -> str:
        return f"{{ uint16_t lengths[4] = {{{lengths}}}; {merge.format('lengths, ' + rest, t)} }}"

    rows = run(twin, dtype, values, [
        f"Sort32(l_y, l_a, l_i, {N // 32});",
        merged("32, 32, 32, 32", "false, 15, 2"),
        merged("32, 32, 7, 9", "false, 7, 1"),
        merged("5, 32, 0, 0", "false, 3, 1"),
        merged("32, 32, 32, 32", "true, 15, 1")
        + "uint16_t c0, c1, c2, c3; GetMrgSortResult(c0, c1, c2, c3);"
        + f"uint16_t n[4] = {{c0, c1, c2, c3}}; for (int k = 0; k < 4; ++k) bytes.SetValue({N * 8 - 4} + k, n[k]);",
        f"Sort<{t}, false>(l_y, l_a, l_i, l_w, {N // 32});",
        f"LocalTensor<{t}> ready; Concat(ready, l_a, l_w, {N // 16});"
        f"Sort<{t}, true>(l_y, ready, l_i, l_w, {N // 32});",
        f"vbitsort((__ubuf__ {t}*)l_y.GetPhyAddr(), (__ubuf__ {t}*)l_a.GetPhyAddr(),"
        f"(__ubuf__ uint32_t*)l_i.GetPhyAddr(), {N // 32});",
        f"__ubuf__ {t}* at = (__ubuf__ {t}*)l_s.GetPhyAddr();"
        f"__ubuf__ {t}* from[4] = {{at, at + 32 * R, at + 64 * R, at + 96 * R}};"
        f"vmrgsort4((__ubuf__ {t}*)l_y.GetPhyAddr(), from, 0x0020002000200020ull, 2 | 15 << 8);",
    ])  # fmt: skip
    by32 = sorted_records(values, index, 32)
    everything = sorted_records(values, index, N)
    assert np.array_equal(rows[0], by32)
    assert np.array_equal(rows[1], sorted_records(values, index, 128))

    def merge_of(*lengths: int) -> np.ndarray:
        parts = [order(values[at * 32 : at * 32 + 32])[:n] + at * 32 for at, n in enumerate(lengths)]
        joined = np.concatenate(parts)
        joined = joined[order(values[joined])]
        return records_of(values[joined], index[joined])

    assert np.array_equal(rows[2][:71], merge_of(32, 32, 7))
    assert np.array_equal(rows[3][:37], merge_of(5, 32))
    taken = rows[4].reshape(-1)[-4:]
    whole = merge_of(32, 32, 32, 32)
    assert taken.max() == 32
    assert np.array_equal(rows[4][: taken.sum()], whole[: taken.sum()])
    assert np.array_equal(rows[5], by32)
    assert np.array_equal(rows[6], everything)
    assert np.array_equal(rows[7], by32)
    assert np.array_equal(rows[8], sorted_records(values, index, 128))


def test_library_merge_and_extraction(twin: Twin, dtype: DType) -> None:
    values = samples(dtype)[:128].copy()
    t = dtype.ascend_c
    body = f"""TPipe pipe;
    {load(t, "a", 128)}
    {load("uint32_t", "i", 128)}
    TBuf<TPosition::VECCALC> b_s, b_m;
    pipe.InitBuffer(b_s, 1024);
    pipe.InitBuffer(b_m, 1024);
    LocalTensor<{t}> s = b_s.Get<{t}>(), m = b_m.Get<{t}>(), concat;
    Concat(concat, l_a, m, 8);
    Sort<{t}, false>(s, concat, l_i, m, 4);
    uint32_t at = GetSortOffset<{t}>(32);
    MrgSortSrcList list = MrgSortSrcList(s[0], s[at], s[2 * at], s[3 * at]);
    const uint16_t lengths[4] = {{32, 32, 32, 32}};
    uint32_t taken[4];
    MrgSort<{t}, false>(m, list, lengths, taken, 0b1111, 1);
    Extract(l_a, l_i, m, 4);
    GlobalTensor<{t}> g;
    g.SetGlobalBuffer((__gm__ {t}*)y);
    DataCopy(g, l_a, 128);
    GlobalTensor<uint32_t> h;
    h.SetGlobalBuffer((__gm__ uint32_t*)z);
    DataCopy(h, l_i, 128);
    if (GetSortLen<{t}>(32) != at) Sort32(s[1], s, l_i, 1);"""
    index = np.arange(128, dtype=np.uint32)[::-1].copy()
    done = twin.run(body, {"a": values, "i": index}, {"y": ((128,), dtype), "z": ((128,), DType.UINT32)})
    assert not done.diagnostics, [str(diagnostic) for diagnostic in done.diagnostics]
    assert models.same(done.output("y"), values[order(values)])
    assert np.array_equal(done.output("z"), index[order(values)])


def test_region_proposals_of_older_chips(twin: Twin, dtype: DType) -> None:
    values = samples(dtype)[:64].copy()
    t = dtype.ascend_c
    body = f"""TPipe pipe;
    {load(t, "a", 64)}
    TBuf<TPosition::VECCALC> b_p, b_q;
    pipe.InitBuffer(b_p, 64 * 8 * sizeof({t}));
    pipe.InitBuffer(b_q, 64 * 8 * sizeof({t}));
    LocalTensor<{t}> p = b_p.Get<{t}>(), q = b_q.Get<{t}>();
    ProposalConcat(p, l_a, 4, 4);
    RpSort16(p, p, 4);
    MrgSortSrcList<{t}> list(p[0], p[16 * 8], p[32 * 8], p[48 * 8]);
    uint16_t lengths[4] = {{16, 16, 16, 16}};
    struct MrgSort4Info info(lengths, false, 15, 1);
    MrgSort4(q, list, info);
    ProposalExtract(l_a, q, 4, 4);
    GlobalTensor<{t}> g;
    g.SetGlobalBuffer((__gm__ {t}*)y);
    DataCopy(g, l_a, 64);"""
    done = twin.run(body, {"a": values}, {"y": ((64,), dtype)})
    assert {diagnostic.rule for diagnostic in done.diagnostics} == {"other_chip"}
    assert models.same(done.output(), values[order(values)])


@pytest.mark.parametrize("largest", [True, False], ids=["largest", "smallest"])
def test_topk(twin: Twin, dtype: DType, largest: bool) -> None:
    outer, inner, n, k = 2, 96, 90, 11
    t, per_block = dtype.ascend_c, 32 // dtype.itemsize
    pad = -(-k // per_block) * per_block
    rng = np.random.default_rng(8)
    values = np.round(rng.normal(0, 5, (outer, inner)), 1).astype(dtype.numpy())
    values[:, n:] = -np.inf if largest else np.inf
    values[1, 7] = np.nan
    small = np.round(rng.normal(0, 5, (4, 32)), 1).astype(dtype.numpy())
    given = np.arange(500, 500 + inner, dtype=np.int32)
    done = np.zeros(32, np.uint8)
    done[1] = 1
    flag = "true" if largest else "false"
    body = f"""TPipe pipe;
    {load(t, "a", outer * inner)}
    {load(t, "b", 128)}
    {load("int32_t", "i", inner)}
    {load("uint8_t", "f", 32)}
    TBuf<TPosition::VECCALC> b_v, b_x, b_w;
    pipe.InitBuffer(b_v, {outer * 16} * sizeof({t}) * 2);
    pipe.InitBuffer(b_x, {outer * 16 * 4 * 2});
    pipe.InitBuffer(b_w, 8192);
    LocalTensor<{t}> v = b_v.Get<{t}>();
    LocalTensor<int32_t> x = b_x.Get<int32_t>(), none;
    LocalTensor<uint8_t> w = b_w.Get<uint8_t>();
    LocalTensor<bool> finish = l_f.ReinterpretCast<bool>(), no_finish;
    GlobalTensor<{t}> g;
    GlobalTensor<int32_t> h;
    g.SetGlobalBuffer((__gm__ {t}*)y);
    h.SetGlobalBuffer((__gm__ int32_t*)z);
    TopkTiling tiling;
    TopK<{t}, true, true>(v, x, l_a, l_i, finish, {k}, tiling, TopKInfo{{{outer}, {inner}, {n}}}, {flag});
    DataCopy(g, v, {outer * pad});
    DataCopy(h, x, {outer * 16});
    TopK<{t}>(v, x, l_a, none, no_finish, w, {k}, tiling, TopKInfo{{{outer}, {inner}, {n}}}, {flag});
    DataCopy(g[64], v, {outer * pad});
    DataCopy(h[64], x, {outer * 16});
    TopK<{t}, false, false, false, TopKMode::TOPK_NSMALL>(
        v, x, l_b, none, no_finish, w, 4, tiling, TopKInfo{{4, 32, 32}}, {flag});
    DataCopy(g[128], v, 16);
    DataCopy(h[128], x, 16);"""
    finished = twin.run(
        body,
        {"a": values.reshape(-1), "b": small.reshape(-1), "i": given, "f": done},
        {"y": ((192,), dtype), "z": ((192,), DType.INT32)},
    )
    assert not finished.diagnostics, [str(diagnostic) for diagnostic in finished.diagnostics]
    y, z = np.asarray(finished.output("y")), np.asarray(finished.output("z"))
    sign = 1 if largest else -1
    for row in range(outer):
        chosen = order((values[row] * sign).astype(values.dtype))[:k]
        for at in (0, 64):
            assert models.same(y[at + row * pad : at + row * pad + k], values[row][chosen])
        assert np.array_equal(z[row * 16 : row * 16 + k], np.full(k, n) if row == 1 else given[chosen])
        assert np.array_equal(z[64 + row * 16 : 64 + row * 16 + k], chosen)
    for row in range(4):
        chosen = order((small[row] * sign).astype(small.dtype))[:4]
        assert models.same(y[128 + row * 4 : 132 + row * 4], small[row][chosen])
        assert np.array_equal(z[128 + row * 4 : 132 + row * 4], chosen)
