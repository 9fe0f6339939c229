"""The SoftMax family against NumPy in float64: values, statistics and their layout, updates, padding, the NZ format."""

from __future__ import annotations

import numpy as np
import pytest

from npukernelbench.nouns import DType, Outcome
from tests.twin.programs import DTYPES, Program, near, sample
from tests.twin.running import Twin

M, K = 24, 128
SHAPES = [("half", "half"), ("half", "float"), ("float", "float")]


def softmax(x: np.ndarray, reduced: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    x = x.astype(np.float64)
    largest = x[:, :reduced].max(axis=1, keepdims=True)
    e = np.exp((x - largest).astype(np.float32).astype(np.float64))
    total = e[:, :reduced].sum(axis=1, keepdims=True)
    return e / total, largest, total


def blocks(values: np.ndarray, dtype: DType) -> np.ndarray:
    """One 32-byte block per row."""
    return np.repeat(values.reshape(-1, 1), 32 // dtype.itemsize, axis=1)


@pytest.mark.parametrize(("value", "stat"), SHAPES, ids=lambda s: s)
def test_softmax_and_simple_softmax(twin: Twin, value: str, stat: str) -> None:
    vt, st = DTYPES[value], DTYPES[stat]
    x = sample(vt, (M, K), 1)
    per_row = 32 // st.itemsize
    p = Program()
    p.load("x", x)
    for name in ("y", "again", "cut"):
        p.tensor(name, M * K, value)
    for name in ("sum", "max", "cutsum", "cutmax"):
        p.tensor(name, M * per_row, stat)
    p.call("TBuf<TPosition::VECCALC> b_t;\npipe.InitBuffer(b_t, 8192);\nLocalTensor<uint8_t> tmp = b_t.Get<uint8_t>();")
    p.call(f"SoftMaxTiling tiling;\nSoftMaxShapeInfo shape = {{{M}, {K}, {M}, {K}}};")
    p.call(f"SoftMax<{value}, false, true>(l_y, l_sum, l_max, l_x, tiling, shape);")
    p.call(f"SimpleSoftMax<{value}>(l_again, l_sum, l_max, l_x, tmp, tiling, shape);")
    p.call(f"SoftMaxShapeInfo part = {{{M}, {K}, {M}, 100}};")
    p.call(f"SoftMax<{value}>(l_cut, l_cutsum, l_cutmax, l_x, tmp, tiling, part);")
    seen = p.run(twin)
    y, largest, total = softmax(x, K)
    assert near(seen["y"], y)
    assert near(seen["again"], y, 4 if value == stat == "float" else 8)
    assert near(seen["sum"], blocks(total, st))
    assert near(seen["max"], blocks(largest, st), 0)
    y, largest, total = softmax(x, 100)
    assert near(seen["cut"].reshape(M, K)[:, :100], y[:, :100])
    assert near(seen["cutsum"], blocks(total, st))
    assert near(seen["cutmax"], blocks(largest, st), 0)


@pytest.mark.parametrize("value", ["half", "float"])
def test_softmax_in_place_by_tiling_constants_and_nz(twin: Twin, value: str) -> None:
    vt = DTYPES[value]
    x = sample(vt, (32, 64), 2)
    x[3, 5] = np.nan
    x[4] = -np.inf
    x[5, 7] = np.inf
    nz = x.reshape(32, 4, 16).transpose(1, 0, 2)
    p = Program()
    p.load("x", x)
    p.load("n", nz)
    for name in ("y", "z", "log", "constant"):
        p.tensor(name, 32 * 64, value)
    p.tensor("sum", 32 * 32 // vt.itemsize, value)
    p.tensor("max", 32 * 32 // vt.itemsize, value)
    p.call("TBuf<TPosition::VECCALC> b_t;\npipe.InitBuffer(b_t, 8192);\nLocalTensor<uint8_t> tmp = b_t.Get<uint8_t>();")
    p.call("SoftMaxTiling tiling;\ntiling.srcM = 32;\ntiling.srcK = 64;\nSoftMaxShapeInfo shape = {32, 64, 32, 64};")
    p.call(f"SoftMax<{value}, false, false, constants>(l_constant, l_x, SoftMaxTiling());")
    p.call(f"LogSoftMax<{value}>(l_log, l_sum, l_max, l_x, tmp, LogSoftMaxTiling(), shape);")
    p.call("DataCopy(l_y, l_x, 2048);")
    p.call(f"SoftMax<{value}>(l_y, l_y, tmp, tiling);")
    p.call(f"SoftMax<{value}, false, false, true>(l_z, l_sum, l_max, l_n, tiling, shape);")
    seen = p.run(twin, "static constexpr SoftmaxConfig constants = {true, 32, 64};")
    with np.errstate(all="ignore"):
        y, _, _ = softmax(x, 64)
        assert near(seen["y"], y)
        assert near(seen["constant"], y)
        assert near(seen["z"], y.reshape(32, 4, 16).transpose(1, 0, 2))
        log = np.log10(y.astype(np.float32).astype(np.float64))
        log[np.abs(log) < 0.5] = seen["log"].reshape(32, 64)[
            np.abs(log) < 0.5
        ]  # cancellation: no measure of the logarithm
        assert near(seen["log"], log)


@pytest.mark.parametrize(("value", "stat"), SHAPES, ids=lambda s: s)
def test_flash(twin: Twin, value: str, stat: str) -> None:
    vt, st = DTYPES[value], DTYPES[stat]
    x, first = sample(vt, (M, K), 3), sample(vt, (M, K), 4)
    _, in_max, in_sum = softmax(first, K)
    in_max[2] = 40  # a row whose maximum does not change
    p = Program()
    p.load("x", x)
    p.load("insum", blocks(in_sum, st).astype(st.numpy()))
    p.load("inmax", blocks(in_max, st).astype(st.numpy()))
    for kind in ("a", "b", "c", "d"):
        p.tensor(f"{kind}y", M * K, value)
        p.tensor(f"{kind}sum", M * 32 // st.itemsize, stat)
        p.tensor(f"{kind}max", M * 32 // st.itemsize, stat)
    p.tensor("be", M * 32 // vt.itemsize, value)
    p.tensor("de", M * 32 // vt.itemsize, value)
    p.call(f"SoftMaxTiling tiling;\nSoftMaxShapeInfo shape = {{{M}, {K}, {M}, {K}}};")
    p.call("TBuf<TPosition::VECCALC> b_t;\npipe.InitBuffer(b_t, 8192);\nLocalTensor<uint8_t> tmp = b_t.Get<uint8_t>();")
    p.call(f"SoftmaxFlashV2<{value}>(l_ay, l_asum, l_amax, l_x, l_be, l_insum, l_inmax, tiling, shape);")
    p.call(f"SoftmaxFlashV2<{value}, true>(l_by, l_bsum, l_bmax, l_x, l_be, l_insum, l_inmax, tmp, tiling, shape);")
    p.call(f"SoftmaxFlash<{value}>(l_cy, l_csum, l_cmax, l_x, l_de, l_insum, l_inmax, tiling, false, shape);")
    p.call(f"SoftmaxFlash<{value}>(l_dy, l_dsum, l_dmax, l_x, l_de, l_insum, l_inmax, tmp, tiling, true, shape);")
    seen = p.run(twin)
    given_sum = in_sum.astype(st.numpy()).astype(np.float64)
    given_max = in_max.astype(st.numpy()).astype(np.float64)
    y, largest, total = softmax(x, K)
    assert near(seen["ay"], y * total)
    assert near(seen["cy"], y)
    for kind in ("a", "c"):
        assert near(seen[f"{kind}sum"], blocks(total, st))
        assert near(seen[f"{kind}max"], blocks(largest, st), 0)
    new_max = np.maximum(largest, given_max)
    e = np.exp((x.astype(np.float64) - new_max).astype(np.float32).astype(np.float64))
    scale = np.exp((given_max - new_max).astype(np.float32).astype(np.float64))
    new_sum = scale * given_sum + e.sum(axis=1, keepdims=True)
    assert near(seen["by"], e)
    assert near(seen["be"], blocks(scale, vt))
    assert near(seen["dy"], e / new_sum)
    assert near(seen["de"], blocks(scale * given_sum / new_sum, vt))
    for kind in ("b", "d"):
        assert near(seen[f"{kind}sum"], blocks(new_sum, st))
        assert near(seen[f"{kind}max"], blocks(new_max, st), 0)


@pytest.mark.parametrize("value", ["half", "float"])
def test_flash_without_broadcast(twin: Twin, value: str) -> None:
    vt = DTYPES[value]
    x = sample(vt, (32, K), 5)
    given = np.abs(sample(vt, (32,), 6)) + 1
    p = Program()
    p.load("x", x)
    p.load("insum", given.astype(vt.numpy()))
    p.load("inmax", np.zeros(32, vt.numpy()))
    p.tensor("y", 32 * K, value)
    for name in ("own", "sum", "max", "exp"):
        p.tensor(name, 32, value)
    p.call(f"SoftMaxShapeInfo shape = {{32, {K}, 32, {K}}};")
    p.call(f"SoftMaxTiling tiling = SoftMaxFlashV2TilingFunc(shape, sizeof({value}), sizeof({value}), 4096, true);")
    p.call(f"tiling = SoftMaxFlashV2TilingFuncImpl(32, {K}, sizeof({value}), sizeof({value}), 4096, true);")
    p.call(f"SoftmaxFlashV2<{value}, true, false, false, false, narrow>"
           "(l_y, l_own, l_sum, l_max, l_x, l_exp, l_insum, l_inmax, tiling, shape);")  # fmt: skip
    seen = p.run(
        twin, "static constexpr SoftmaxConfig narrow = {false, 0, 0, SoftmaxMode::SOFTMAX_OUTPUT_WITHOUT_BRC};"
    )
    wide = x.astype(np.float64)
    own = wide.max(axis=1)
    new = np.maximum(own, 0)
    assert near(seen["own"], own, 0)
    assert near(seen["max"], new, 0)
    assert near(seen["exp"], np.exp(-new))
    assert near(seen["sum"], np.exp(-new) * given.astype(np.float64) + np.exp(wide - new[:, None]).sum(axis=1), 8)


@pytest.mark.parametrize("value", ["half", "float"])
def test_gradients_and_adjustment(twin: Twin, value: str) -> None:
    vt = DTYPES[value]
    per_row = 32 // vt.itemsize
    y, _, _ = softmax(sample(vt, (M, K), 7), K)
    y, grad = y.astype(vt.numpy()), sample(vt, (M, K), 8)
    maxima = np.arange(M, dtype=np.float32)
    p = Program()
    p.load("s", y)
    p.load("grad", grad)
    p.load("m", blocks(maxima, DType.FLOAT32))
    for name in ("full", "adjusted"):
        p.tensor(name, M * K, value)
    for name in ("front", "alone"):
        p.tensor(name, M * per_row, value)
    p.call(f"SoftMaxTiling tiling;\nSoftMaxShapeInfo shape = {{{M}, {K}, {M}, {K}}};")
    p.call("TBuf<TPosition::VECCALC> b_t;\npipe.InitBuffer(b_t, 8192);\nLocalTensor<uint8_t> tmp = b_t.Get<uint8_t>();")
    p.call("SoftmaxGrad(l_full, l_grad, l_s, tiling, false, shape);")
    p.call("SoftmaxGrad(l_front, l_grad, l_s, tmp, tiling, true, shape);")
    p.call("SoftmaxGradFront(l_alone, l_grad, l_s, tiling, shape);")
    p.call(f"DataCopy(l_adjusted, l_s, {M * K});")
    p.call(f"bool one = AdjustSoftMaxRes<{value}, float>(l_adjusted, l_m, 0x40400000, ({value})7, shape);")
    p.call(f"bool none = AdjustSoftMaxRes<{value}, float>(l_adjusted, l_m, 0x42c80000, ({value})8, shape);")
    p.call(f"if (!one || none) Duplicate(l_adjusted, ({value})9, 64);")
    seen = p.run(twin)
    s, g = y.astype(np.float64), grad.astype(np.float64)
    front = (g * s).sum(axis=1, keepdims=True)
    scale = np.abs(g * s).max()
    assert np.abs(seen["full"].reshape(M, K) - (g - front) * s).max() <= scale * 2.0 ** (-9 if value == "half" else -20)
    for name in ("front", "alone"):
        assert np.abs(seen[name] - blocks(front, vt).reshape(-1)).max() <= 2.0 ** (-9 if value == "half" else -20)
    adjusted = y.copy()
    adjusted[3] = 7
    assert np.array_equal(seen["adjusted"].reshape(M, K), adjusted)


def test_wrong_template_arguments_are_named(twin: Twin) -> None:
    body = "LocalTensor<float> t;\nSoftmaxFlashV2<float, true>(t, t, t, t, t, t, t, t, SoftMaxTiling());  // here"
    done = twin.run(body)
    assert done.outcome is Outcome.COMPILE_ERROR
    assert "SOFTMAX_OUTPUT_WITHOUT_BRC" in done.errors[0].message
