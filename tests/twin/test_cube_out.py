"""What leaves L0C: every mode of Fixpipe against a NumPy model, layouts, and what may be in L0C before a product."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from npukernelbench.nouns import DType
from tests.twin.cubes import CUBE
from tests.twin.running import Finished, Inputs, Outputs, Twin

AIC = "KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);\nif (GetBlockIdx() != 0) return;\nCube cube;\n"
RNG = np.random.default_rng(6)
M, N, K = 40, 48, 32
#: A product whose result lies in L0C: of floats, or of bytes.
FLOATS = f"""
    cube.Fractals(cube.a1.Get<half>(), Gm<half>(a), {M}, {K});
    cube.Fractals(cube.b1.Get<half>(), Gm<half>(b), {K}, {N});
    cube.Left<half>({M}, {K});
    cube.Right<half>({K}, {N});
    cube.Multiply<float, half>({M}, {N}, {K});
    LocalTensor<float> c = cube.co1.Get<float>();
"""
BYTES = f"""
    cube.Fractals(cube.a1.Get<int8_t>(), Gm<int8_t>(a), {M}, {K});
    cube.Fractals(cube.b1.Get<int8_t>(), Gm<int8_t>(b), {K}, 64);
    cube.Left<int8_t>({M}, {K});
    cube.Right<int8_t>({K}, 64);
    cube.Multiply<int32_t, int8_t>({M}, {N}, {K}) ;
    LocalTensor<int32_t> c = cube.co1.Get<int32_t>();
"""
PARAMS = f"FixpipeParamsV220 p({N}, {M}, 48, {N}, false);\n"


def run(twin: Twin, body: str, inputs: Inputs, outputs: Outputs) -> Finished:
    done = twin.run(AIC + body, inputs, outputs, before=CUBE, block=None)
    assert not done.diagnostics, [str(diagnostic) for diagnostic in done.diagnostics]
    return done


@pytest.fixture(scope="module")
def floats() -> dict[str, np.ndarray]:
    return {
        "a": RNG.integers(-30, 30, (M, K)).astype(np.float16) / 8,
        "b": RNG.integers(-30, 30, (K, N)).astype(np.float16) / 8,
    }


@pytest.fixture(scope="module")
def integers() -> dict[str, np.ndarray]:
    wide = np.zeros((K, 64), np.int8)
    wide[:, :N] = RNG.integers(-60, 60, (K, N))
    return {"a": RNG.integers(-60, 60, (M, K)).astype(np.int8), "b": wide}


def float_product(inputs: dict[str, np.ndarray]) -> np.ndarray:
    return (inputs["a"].astype(np.float64) @ inputs["b"].astype(np.float64)).astype(np.float32)


def integer_product(inputs: dict[str, np.ndarray]) -> np.ndarray:
    return (inputs["a"].astype(int) @ inputs["b"][:, :N].astype(int)).astype(np.int32)


def word(scale: float, *, offset: int = 0, signed: bool = True, shift: int = 0) -> int:
    """The bits of a scale as Fixpipe reads them."""
    bits = int(np.float32(scale).view(np.uint32))
    moved = 1 << 36 | shift - 1 << 32 if shift else 0
    return bits | moved | (offset & 0x1FF) << 37 | int(signed) << 46


def truncated(scale: float) -> np.float32:
    """Ten bits of fraction are left of a scale."""
    return (np.float32(scale).view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32)


def quantised(
    values: np.ndarray, scale: float, *, offset: int = 0, signed: bool = True, relu: bool = False
) -> np.ndarray:
    x = values.astype(np.float32)
    x = np.where(relu & (x < 0), np.float32(0), x) * truncated(scale)
    rounded = np.clip(np.rint(x), -256, 255).astype(int) + offset
    low, high = (-128, 127) if signed else (0, 255)
    return np.clip(rounded, low, high)


def test_floats_become_narrower_floats(twin: Twin, floats: dict[str, np.ndarray]) -> None:
    body = (
        FLOATS
        + PARAMS
        + """
        p.quantPre = F322F16;
        Fixpipe<half, float>(Gm<half>(h), c, p);
        p.quantPre = F322BF16;
        p.reluEn = true;
        Fixpipe<bfloat16_t, float>(Gm<bfloat16_t>(y), c, p);
        p.quantPre = NoQuant;
        Fixpipe(Gm<float>(f), c, p);
    """
    )
    outputs = {"h": ((M, N), DType.FLOAT16), "y": ((M, N), DType.BFLOAT16), "f": ((M, N), DType.FLOAT32)}
    done = run(twin, body, floats, outputs)
    expected = float_product(floats)
    np.testing.assert_array_equal(done.output("h"), expected.astype(np.float16))
    np.testing.assert_array_equal(done.output("y"), np.maximum(expected, 0).astype(ml_dtypes.bfloat16))
    np.testing.assert_array_equal(done.output("f"), np.maximum(expected, 0))


def test_floats_become_bytes_by_one_scale_or_one_a_column(twin: Twin, floats: dict[str, np.ndarray]) -> None:
    one = word(0.37, offset=-5)
    each = [word(0.05 * (j + 1), offset=j, signed=False) for j in range(N)]
    body = (
        FLOATS
        + PARAMS
        + f"""
        p.quantPre = QF322B8_PRE;
        p.deqScalar = {one}ull;
        Fixpipe<int8_t, float>(Gm<int8_t>(y), c, p);
        DataCopy(cube.b1.Get<uint64_t>(), Gm<uint64_t>(scales), {N});
        PipeBarrier<PIPE_ALL>();
        p.quantPre = VQF322B8_PRE;
        p.reluEn = true;
        Fixpipe<uint8_t, float>(Gm<uint8_t>(u), c, cube.b1.Get<uint64_t>(), p);
    """
    )
    inputs = floats | {"scales": np.array(each, np.uint64)}
    done = run(twin, body, inputs, {"y": ((M, N), DType.INT8), "u": ((M, N), DType.UINT8)})
    product = float_product(floats)
    np.testing.assert_array_equal(done.output("y"), quantised(product, 0.37, offset=-5))
    columns = [quantised(product[:, j], 0.05 * (j + 1), offset=j, signed=False, relu=True) for j in range(N)]
    np.testing.assert_array_equal(done.output("u"), np.stack(columns, axis=1))


def test_integers_become_halfs_and_bytes(twin: Twin, integers: dict[str, np.ndarray]) -> None:
    each = [word(2.0**-9 * (j + 1)) for j in range(N)]
    body = (
        BYTES
        + PARAMS
        + f"""
        p.quantPre = DEQF16;
        p.deqScalar = {word(0.013)}ull;
        Fixpipe<half, int32_t>(Gm<half>(h), c, p);
        p.quantPre = REQ8;
        p.deqScalar = {word(0.11, offset=3, shift=3)}ull;
        Fixpipe<int8_t, int32_t>(Gm<int8_t>(y), c, p);
        LocalTensor<uint64_t> l1 = cube.b1.Get<uint64_t>(), fb = cube.fb.Get<uint64_t>();
        DataCopy(l1, Gm<uint64_t>(scales), {N});
        PipeBarrier<PIPE_ALL>();
        DataCopy(fb, l1, DataCopyParams(1, {N * 8 // 128}, 0, 0));
        SetFixPipeConfig(fb);
        PipeBarrier<PIPE_FIX>();
        SetFixpipeNz2ndFlag(1, 0, 0);
        DataCopyCO12DstParams q({N}, {M}, {N}, 48, VDEQF16, 1, false, true);
        DataCopy(Gm<half>(v), c, q);
        SetFixpipePreQuantFlag({word(0.02)}ull);
        q.quantPre = REQ8, q.reluPre = 0;
        DataCopy(Gm<int8_t>(w), c, q);
    """
    )
    half, byte = ((M, N), DType.FLOAT16), ((M, N), DType.INT8)
    inputs = integers | {"scales": np.array(each, np.uint64)}
    done = run(twin, body, inputs, {"h": half, "y": byte, "v": half, "w": byte})
    product = integer_product(integers)
    np.testing.assert_array_equal(done.output("h"), (product.astype(np.float32) * truncated(0.013)).astype(np.float16))
    np.testing.assert_array_equal(done.output("y"), quantised(product >> 3, 0.11, offset=3))
    scales = np.array([truncated(2.0**-9 * (j + 1)) for j in range(N)])
    np.testing.assert_array_equal(
        done.output("v"), (np.maximum(product, 0).astype(np.float32) * scales).astype(np.float16)
    )
    np.testing.assert_array_equal(done.output("w"), quantised(product, 0.02))


def test_results_stay_in_fractals(twin: Twin, floats: dict[str, np.ndarray]) -> None:
    body = (
        FLOATS
        + f"""
        FixpipeParamsV220 p({N}, {M}, 48, {M} + 8, false);
        p.quantPre = F322F16;
        Fixpipe<half, float, CFG_NZ>(Gm<half>(h), c, p);
        p.quantPre = QF322B8_PRE;
        p.deqScalar = {word(0.5)}ull;
        p.dstStride = {M};
        Fixpipe<int8_t, float, CFG_NZ>(Gm<int8_t>(y), c, p);
        p.quantPre = NoQuant;
        p.isChannelSplit = true;
        Fixpipe<float, float, CFG_NZ>(Gm<float>(f), c, p);
        p.isChannelSplit = false;
        p.dstStride = 2 * {M};
        Fixpipe<float, float, CFG_NZ>(Gm<float>(g), c, p);
    """
    )
    outputs = {
        "h": ((3, M + 8, 16), DType.FLOAT16),
        "y": ((N * M,), DType.INT8),
        "f": ((6, M, 8), DType.FLOAT32),
        "g": ((3, M, 16), DType.FLOAT32),
    }
    done = run(twin, body, floats, outputs)
    product = float_product(floats)
    columns = product.reshape(M, 3, 16).swapaxes(0, 1)
    np.testing.assert_array_equal(done.output("h")[:, :M], columns.astype(np.float16))
    np.testing.assert_array_equal(done.output("f"), product.reshape(M, 6, 8).swapaxes(0, 1))
    np.testing.assert_array_equal(done.output("g"), columns)
    # Two columns of sixteen bytes are one of thirty-two; the third has no partner.
    small = quantised(product, 0.5)
    expected = np.concatenate([small[:, :32].ravel(), small[:, 32:].ravel()])
    np.testing.assert_array_equal(done.output("y"), expected)


def test_several_matrices_leave_at_once(twin: Twin, floats: dict[str, np.ndarray]) -> None:
    body = (
        FLOATS
        + """
        FixpipeParamsV220 p(16, 8, 48, 20, false);
        p.ndNum = 3;
        p.srcNdStride = 3;
        p.dstNdStride = 200;
        Fixpipe(Gm<float>(y), c, p);
    """
    )
    done = run(twin, body, floats, {"y": ((600,), DType.FLOAT32)})
    product = float_product(floats)
    got = np.asarray(done.output()).reshape(3, 10, 20)[:, :8, :16]
    np.testing.assert_array_equal(got, np.stack([product[:8, 16 * i : 16 * i + 16] for i in range(3)]))


def test_a_result_goes_back_to_l1_and_is_multiplied_again(twin: Twin, floats: dict[str, np.ndarray]) -> None:
    body = (
        FLOATS
        + f"""
        FixpipeParamsV220 p({N}, {M}, 48, 48, false);
        p.quantPre = F322F16;
        Fixpipe<half, float>(cube.a1.Get<half>(), c, p);
        PipeBarrier<PIPE_ALL>();
        cube.Left<half>({M}, {N});
        cube.Fractals(cube.b1.Get<half>(), Gm<half>(e), {N}, 16);
        cube.Right<half>({N}, 16);
        cube.Multiply<float, half>({M}, 16, {N});
        cube.Out<float, float>(Gm<float>(y), {M}, 16);
    """
    )
    extra = RNG.integers(-3, 3, (N, 16)).astype(np.float16)
    done = run(twin, body, floats | {"e": extra}, {"y": ((M, 16), DType.FLOAT32)})
    once = float_product(floats).astype(np.float16).astype(np.float64)
    np.testing.assert_allclose(done.output(), once @ extra.astype(np.float64), rtol=1e-6)


def test_products_begin_with_a_bias_or_go_on(twin: Twin, floats: dict[str, np.ndarray]) -> None:
    bias = np.arange(N, dtype=np.float16)
    body = (
        FLOATS
        + f"""
        LocalTensor<half> narrow = cube.b1.Get<half>()[8192];
        LocalTensor<float> table = cube.c2.Get<float>();
        DataCopy(narrow, Gm<half>(bias), {-(-N // 32) * 32});
        PipeBarrier<PIPE_ALL>();
        DataCopy(table, narrow, DataCopyParams(1, 2, 0, 0));
        PipeBarrier<PIPE_ALL>();
        MmadParams q({M}, {N}, {K}, 0, false, false);
        Mmad(c, cube.a2.Get<half>(), cube.b2.Get<half>(), table, q);
        PipeBarrier<PIPE_ALL>();
        Mmad(c, cube.a2.Get<half>(), cube.b2.Get<half>(), q);
        PipeBarrier<PIPE_ALL>();
        Mmad(c, cube.a2.Get<half>(), cube.b2.Get<half>(), MmadParams({M}, {N}, {K}, true, 0, false, false, false));
        PipeBarrier<PIPE_ALL>();
        cube.Out<float, float>(Gm<float>(y), {M}, {N});
        q.cmatrixSource = true;
        Mmad(c, cube.a2.Get<half>(), cube.b2.Get<half>(), q);
        PipeBarrier<PIPE_ALL>();
        cube.Out<float, float>(Gm<float>(t), {M}, {N});
    """
    )
    padded = np.zeros(64, np.float16)
    padded[:N] = bias
    done = run(twin, body, floats | {"bias": padded}, {"y": ((M, N), DType.FLOAT32), "t": ((M, N), DType.FLOAT32)})
    np.testing.assert_allclose(done.output(), 3.0 * float_product(floats) + bias, rtol=1e-6, atol=1e-4)
    np.testing.assert_allclose(done.output("t"), float_product(floats) + bias, rtol=1e-6, atol=1e-4)


def test_one_row_is_read_without_fractals(twin: Twin) -> None:
    k, n = 300, 48
    a, b = RNG.integers(-9, 9, k).astype(np.float16), RNG.integers(-9, 9, (k, n)).astype(np.float16)
    row = np.zeros(512, np.float16)
    row[:k] = a
    body = f"""
        DataCopy(cube.a1.Get<half>(), Gm<half>(a), 512);
        cube.Fractals(cube.b1.Get<half>(), Gm<half>(b), {k}, {n});
        LoadData(cube.a2.Get<half>(), cube.a1.Get<half>(), LoadData2DParams(0, 2, 1, 0, 0, false, 0));
        cube.Right<half>({k}, {n});
        cube.Multiply<float, half>(1, {n}, {k});
        cube.Out<float, float>(Gm<float>(y), 1, {n});
    """
    done = run(twin, body, {"a": row, "b": b}, {"y": ((1, n), DType.FLOAT32)})
    np.testing.assert_array_equal(done.output()[0], a.astype(float) @ b.astype(float))


def hf32(values: np.ndarray, *, away: bool) -> np.ndarray:
    """Eleven bits of fraction, rounded to nearest."""
    bits = values.view(np.uint32).astype(np.uint64)
    bits = (bits + (0x800 if away else 0x7FF + ((bits >> 12) & 1))) & ~np.uint64(0xFFF)
    return bits.astype(np.uint32).view(np.float32)


def test_hf32_rounds_floats_before_they_are_multiplied(twin: Twin) -> None:
    m, n, k = 32, 16, 24
    a, b = RNG.normal(size=(m, k)).astype(np.float32), RNG.normal(size=(k, n)).astype(np.float32)
    a[0, :] = (np.uint32(0x3F800800) + (np.arange(k, dtype=np.uint32) << 12)).view(np.float32)  # ties
    body = f"""
        cube.Fractals(cube.a1.Get<float>(), Gm<float>(a), {m}, {k});
        cube.Fractals(cube.b1.Get<float>(), Gm<float>(b), {k}, {n});
        cube.Left<float>({m}, {k});
        cube.Right<float>({k}, {n});
        SetHF32Mode(HF32Mode::ENABLE);
        cube.Multiply<float, float>({m}, {n}, {k});
        cube.Out<float, float>(Gm<float>(y), {m}, {n});
        SetHF32TransMode(true);
        cube.Multiply<float, float>({m}, {n}, {k});
        cube.Out<float, float>(Gm<float>(z), {m}, {n});
    """
    done = run(twin, body, {"a": a, "b": b}, {"y": ((m, n), DType.FLOAT32), "z": ((m, n), DType.FLOAT32)})
    for name, away in (("y", False), ("z", True)):
        exact = hf32(a, away=away).astype(float) @ hf32(b, away=away).astype(float)
        np.testing.assert_allclose(done.output(name), exact, rtol=1e-5, atol=1e-5)
    assert np.any(done.output("y")[0] != done.output("z")[0])


def test_results_are_added_to_what_is_in_global_memory(twin: Twin, floats: dict[str, np.ndarray]) -> None:
    body = (
        FLOATS
        + PARAMS
        + """
        Fixpipe(Gm<float>(y), c, p);
        PipeBarrier<PIPE_ALL>();
        SetAtomicAdd<float>();
        Fixpipe(Gm<float>(y), c, p);
        SetAtomicNone();
    """
    )
    done = run(twin, body, floats, {"y": ((M, N), DType.FLOAT32)})
    np.testing.assert_array_equal(done.output(), 2 * float_product(floats))


def test_unit_flags_hand_a_result_over(twin: Twin, floats: dict[str, np.ndarray]) -> None:
    body = (
        FLOATS
        + PARAMS
        + f"""
        MmadParams q({M}, {N}, {K}, 2, false, true);
        Mmad(c, cube.a2.Get<half>(), cube.b2.Get<half>(), q);
        PipeBarrier<PIPE_M>();
        q.unitFlag = 3, q.cmatrixInitVal = false;
        Mmad(c, cube.a2.Get<half>(), cube.b2.Get<half>(), q);
        p.unitFlag = 3;
        Fixpipe(Gm<float>(y), c, p);
        SetMMRowMajor();
        Mmad(c, cube.a2.Get<half>(), cube.b2.Get<half>(), q);
        SetFixPipeConfig(c.ReinterpretCast<uint64_t>(), true);
    """
    )
    done = run(twin, body, floats, {"y": ((M, N), DType.FLOAT32)})
    np.testing.assert_allclose(done.output(), 2 * float_product(floats), rtol=1e-6, atol=1e-4)


def test_intrinsics_take_pointers(twin: Twin, floats: dict[str, np.ndarray]) -> None:
    body = f"""
        auto* a1 = (__cbuf__ half*)cube.a1.Get<half>().GetPhyAddr();
        auto* b1 = (__cbuf__ half*)cube.b1.Get<half>().GetPhyAddr();
        auto* a2 = (__ca__ half*)cube.a2.Get<half>().GetPhyAddr();
        auto* b2 = (__cb__ half*)cube.b2.Get<half>().GetPhyAddr();
        auto* c = (__cc__ float*)cube.co1.Get<float>().GetPhyAddr();
        copy_gm_to_cbuf_multi_nd2nz_b16(a1, (__gm__ half*)a, 0, 1, {M}, {K}, 0, {K}, 48, 1, 0);
        copy_gm_to_cbuf_multi_nd2nz_b16(b1, (__gm__ half*)b, 0, 1, {K}, {N}, 0, {N}, {K}, 1, 0);
        set_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID0);
        wait_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID0);
        for (int i = 0; i < 3; ++i) load_cbuf_to_ca(a2 + i * 512, a1 + i * 256, 0, 2, 3, 0, 0, false, inc);
        for (int i = 0; i < 2; ++i) load_cbuf_to_cb_transpose(b2 + i * 768, b1 + i * 256, 0, 3, 2, 0, false, 0);
        set_flag(PIPE_MTE1, PIPE_M, EVENT_ID0);
        wait_flag(PIPE_MTE1, PIPE_M, EVENT_ID0);
        mad(c, a2, b2, {M}, {K}, {N}, true);
        set_flag(PIPE_M, PIPE_FIX, EVENT_ID0);
        wait_flag(PIPE_M, PIPE_FIX, EVENT_ID0);
        set_nd_para(1);
        copy_matrix_cc_to_gm((__gm__ half*)h, c, 0, {N}, {M}, {N}, 48, 0, F322F16, 0, false, true);
        copy_cbuf_to_gm((__gm__ half*)y, a1, 0, 1, {48 * K * 2 // 32}, 0, 0);
    """
    done = run(twin, body, floats, {"h": ((M, N), DType.FLOAT16), "y": ((K // 16, 48, 16), DType.FLOAT16)})
    np.testing.assert_array_equal(done.output("h"), float_product(floats).astype(np.float16))
    np.testing.assert_array_equal(done.output()[:, :M], floats["a"].reshape(M, -1, 16).swapaxes(0, 1))


def test_queues_carry_a_product_through_all_memories(twin: Twin, floats: dict[str, np.ndarray]) -> None:
    body = f"""
        cube.pipe.Reset();
        TQue<TPosition::A1, 1> qa1;
        TQue<TPosition::B1, 1> qb1;
        TQue<TPosition::A2, 1> qa2;
        TQue<TPosition::B2, 1> qb2;
        TQue<TPosition::CO1, 1> qc;
        cube.pipe.InitBuffer(qa1, 1, 48 * {K} * 2);
        cube.pipe.InitBuffer(qb1, 1, {K} * {N} * 2);
        cube.pipe.InitBuffer(qa2, 1, 48 * {K} * 2);
        cube.pipe.InitBuffer(qb2, 1, {K} * {N} * 2);
        cube.pipe.InitBuffer(qc, 1, 48 * {N} * 4);
        LocalTensor<half> a1 = qa1.AllocTensor<half>(), b1 = qb1.AllocTensor<half>();
        DataCopy(a1, Gm<half>(a), Nd2NzParams(1, {M}, {K}, 0, {K}, 48, 1, 0));
        DataCopy(b1, Gm<half>(b), Nd2NzParams(1, {K}, {N}, 0, {N}, {K}, 1, 0));
        qa1.EnQue(a1);
        qb1.EnQue(b1);
        a1 = qa1.DeQue<half>();
        b1 = qb1.DeQue<half>();
        LocalTensor<half> a2 = qa2.AllocTensor<half>(), b2 = qb2.AllocTensor<half>();
        for (int i = 0; i < 3; ++i) LoadData(a2[i * 512], a1[i * 256], LoadData2DParams(0, 2, 3, 0, 0, false, 0));
        for (int i = 0; i < 2; ++i) LoadData(b2[i * 768], b1[i * 256], LoadData2DParams(0, 3, 2, 0, 0, true, 0));
        qa2.EnQue(a2);
        qb2.EnQue(b2);
        qa1.FreeTensor(a1);
        qb1.FreeTensor(b1);
        a2 = qa2.DeQue<half>();
        b2 = qb2.DeQue<half>();
        LocalTensor<float> c = qc.AllocTensor<float>();
        Mmad(c, a2, b2, MmadParams({M}, {N}, {K}, 0, false, true));
        qc.EnQue(c);
        qa2.FreeTensor(a2);
        qb2.FreeTensor(b2);
        c = qc.DeQue<float>();
        Fixpipe(Gm<float>(y), c, FixpipeParamsV220({N}, {M}, 48, {N}, false));
        qc.FreeTensor(c);
    """
    done = run(twin, body, floats, {"y": ((M, N), DType.FLOAT32)})
    np.testing.assert_array_equal(done.output(), float_product(floats))
