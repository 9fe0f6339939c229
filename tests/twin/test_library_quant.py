"""Quantisation against NumPy: types, per tensor and per channel, groups, transposed, padded rows."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from tests.twin import models
from tests.twin.programs import DTYPES, Program, sample
from tests.twin.running import Twin

M, N = 6, 64
TMP = "TBuf<TPosition::VECCALC> b_t;\npipe.InitBuffer(b_t, 8192);\nLocalTensor<uint8_t> tmp = b_t.Get<uint8_t>();"


def quantised(x: np.ndarray, scale: np.ndarray, offset: np.ndarray) -> np.ndarray:
    """Half arithmetic, each step rounded, to the nearest integer with ties to even."""
    half = np.float16
    with np.errstate(all="ignore"):
        y = (x.astype(half) * scale.astype(half)).astype(half) + offset.astype(half)
        wide = np.nan_to_num(np.rint(y.astype(half).astype(np.float32)), nan=0)
    return np.asarray(np.clip(wide, -128, 127)).astype(np.int8)


@pytest.mark.parametrize("value", ["half", "float"])
def test_quant(twin: Twin, value: str) -> None:
    vt = DTYPES[value]
    x = sample(vt, (M, N), 1, 40)
    x[0, :4] = [np.nan, np.inf, -np.inf, 0.25]
    scale, offset = sample(vt, (N,), 2, 1), sample(vt, (N,), 3, 4)
    p = Program()
    p.load("x", x)
    p.load("scale", scale)
    p.load("offset", offset)
    for at in range(7):
        p.tensor(f"y{at}", M * N, "int8_t")
    p.call(TMP)
    c = M * N
    p.call(f"AscendQuant<{value}>(l_y0, l_x, 2.0f, 0.9f, {c});")
    p.call("AscendQuant(l_y1, l_x, tmp, 2.0f, 0.9f);")
    p.call(f"AscendQuant<{value}>(l_y2, l_x, l_scale, ({value})1.5, {N}, {c});")
    p.call(f"AscendQuant(l_y3, l_x, tmp, l_scale, ({value})1.5);")
    p.call(f"AscendQuant(l_y4, l_x, l_scale, l_offset, {N}, {N}, {c});")
    p.call("AscendQuant(l_y5, l_x, tmp, l_scale, l_offset);")
    p.call(f"Duplicate(l_y6.ReinterpretCast<int16_t>(), (int16_t)0, {c // 2});")
    p.call(f"AscendQuant<{value}, false, fixed>(l_y6, l_x, tmp, 2.0f, 0.9f, {c});")
    seen = p.run(twin, "static constexpr AscendQuantConfig fixed = {64, 0, 0, 8192};")
    two, nine = np.array(2.0, np.float32), np.array(0.9, np.float32)
    whole = quantised(x, two, nine).reshape(-1)
    for at in (0, 1):
        assert np.array_equal(seen[f"y{at}"], whole)
    for at in (2, 3):
        assert np.array_equal(seen[f"y{at}"], quantised(x, scale, np.array(1.5, np.float32)).reshape(-1))
    for at in (4, 5):
        assert np.array_equal(seen[f"y{at}"], quantised(x, scale, offset).reshape(-1))
    assert np.array_equal(seen["y6"], np.where(np.arange(c) < 64, whole, 0))


@pytest.mark.parametrize(
    ("result", "scale"),
    [
        ("half", "uint64_t"), ("float", "float"), ("float", "bfloat16_t"), ("bfloat16_t", "bfloat16_t"),
        ("bfloat16_t", "float"),
    ],
)  # fmt: skip
def test_dequant(twin: Twin, result: str, scale: str) -> None:
    kinds = {**DTYPES, "bfloat16_t": ml_dtypes.bfloat16}
    rng = np.random.default_rng(4)
    m, n, used = 4, 24, 19
    x = rng.integers(-4000, 4000, (m, n), dtype=np.int32)
    x[0, 0] = 2**31 - 1
    factors = rng.normal(0, 2, 32).astype(np.float32)
    if scale == "bfloat16_t":
        factors = factors.astype(ml_dtypes.bfloat16).astype(np.float32)
    stored = factors.astype(ml_dtypes.bfloat16) if scale == "bfloat16_t" else factors
    if scale == "uint64_t":
        stored = factors.view(np.uint32).astype(np.uint64) | np.uint64(0xABC << 32)
    size = {"half": 2, "float": 4, "bfloat16_t": 2}[result]
    stride = -(-n * size // 32) * 32 // size
    p = Program()
    p.load("x", x)
    p.load("s", stored)
    for name in ("y", "z", "rows", "old"):
        p.tensor(name, m * stride, result)
    p.call(TMP)
    p.call(f"AscendDequant(l_y, l_x, l_s, {{{m}, {n}, {used}}});")
    p.call(f"AscendDequant(l_rows, l_x, l_s, tmp, {{1, {m * 16}, 16}});")
    p.call(f"AscendDequant<{result}, {scale}>(l_old, l_x, l_s[16], tmp, 16);")
    if scale != "uint64_t":
        p.call(f"AscendDequant<{result}, {scale}>(l_z, l_x, ({scale})0.5f, {{{m}, {n}, {used}}});")
    seen = p.run(twin)
    kind = np.float16 if result == "half" else np.float32 if result == "float" else kinds[result]
    with np.errstate(over="ignore"):
        wanted = (x.astype(np.float32) * factors[:n]).astype(kind)
        rows = (x.reshape(-1)[: m * 16].reshape(m, 16).astype(np.float32) * factors[:16]).astype(kind)
        old = (x.reshape(-1)[:16].astype(np.float32) * factors[16:32]).astype(kind)
        half = (x.astype(np.float32) * np.float32(0.5)).astype(kind)
    bits = np.uint16 if size == 2 else np.uint32
    assert np.array_equal(seen["y"].view(bits).reshape(m, stride)[:, :used], wanted[:, :used].copy().view(bits))
    assert np.array_equal(seen["rows"].view(bits)[: m * 16], rows.reshape(-1).view(bits))
    assert np.array_equal(seen["old"].view(bits)[:16], old.view(bits))
    if scale != "uint64_t":
        assert np.array_equal(seen["z"].view(bits).reshape(m, stride)[:, :used], half[:, :used].copy().view(bits))


@pytest.mark.parametrize("result", ["half", "bfloat16_t"])
@pytest.mark.parametrize("packed", [False, True], ids=["int8", "int4"])
def test_anti_quant(twin: Twin, result: str, packed: bool) -> None:
    kind = np.dtype(np.float16) if result == "half" else np.dtype(ml_dtypes.bfloat16)
    rng = np.random.default_rng(5)
    k, n, groups = 64, 32, 2
    low, high = (-8, 8) if packed else (-128, 128)
    x = rng.integers(low, high, (k, n)).astype(np.int8)
    stored = x.reshape(-1)
    if packed:
        stored = ((stored[1::2].astype(np.uint8) << 4) | (stored[0::2].astype(np.uint8) & 15)).view(np.int8)
    scale, offset = (rng.normal(0, 2, (groups, n)).astype(kind) for _ in range(2))
    across = rng.normal(0, 2, (n, groups)).astype(kind)
    t = "int4b_t" if packed else "int8_t"
    p = Program()
    p.load("x", stored)
    p.load("scale", scale)
    p.load("offset", offset)
    p.load("across", across)
    for at in range(5):
        p.tensor(f"y{at}", k * n, result)
    p.call(TMP)
    p.call(f"LocalTensor<{t}> in = l_x.ReinterpretCast<{t}>();")
    shape = f"{{{groups}, {n}, {groups}, {n}}}"
    p.call(f"AscendAntiQuant<{t}, {result}, false>(l_y0, in, l_offset, l_scale, tmp, {k}, {shape});")
    p.call(f"AscendAntiQuant<{t}, {result}, false>(l_y1, in, l_scale, tmp, {k});")
    p.call(f"AscendAntiQuant<{t}, {result}, true>(l_y2, in, l_across, l_across, {k});")
    p.call(f"AscendAntiQuant<{t}, {result}, false>(l_y3, in, ({result})2.0f, ({result})3.0f, {k});")
    p.call(f"AscendAntiQuant<{t}, {result}, true>(l_y4, in, ({result})3.0f, tmp, {k});")
    seen = p.run(twin)

    def wanted(q: np.ndarray, add: np.ndarray, times: np.ndarray) -> np.ndarray:
        if result == "half":
            return np.asarray((q.astype(np.float16) + add).astype(np.float16) * times).astype(np.float16)
        return np.asarray((q.astype(np.float32) + add.astype(np.float32)) * times.astype(np.float32)).astype(kind)

    zero, two, three = (np.array(v, kind) for v in (0, 2, 3))
    columns = x.reshape(n, k)
    wide = np.repeat(across, k // groups, axis=1)
    for at, expected in enumerate([
        wanted(x, np.repeat(offset, k // groups, axis=0), np.repeat(scale, k // groups, axis=0)),
        wanted(x, zero, np.repeat(scale, k // groups, axis=0)),
        wanted(columns, wide, wide),
        wanted(x, two, three),
        wanted(columns, zero, three),
    ]):  # fmt: skip
        assert np.array_equal(seen[f"y{at}"].astype(np.float32), expected.astype(np.float32).reshape(-1)), at
    assert models.same(seen["y3"].astype(np.float32)[:1], wanted(x, two, three).astype(np.float32).reshape(-1)[:1])
