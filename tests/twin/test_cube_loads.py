"""Every way into L0A and L0B, seen through products: a wrong layout would give a wrong matrix."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from npukernelbench.nouns import DType
from tests.twin.cubes import CUBE
from tests.twin.running import Finished, Inputs, Outputs, Twin

AIC = "KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);\nif (GetBlockIdx() != 0) return;\nCube cube;\n"
RNG = np.random.default_rng(5)


def run(twin: Twin, body: str, inputs: Inputs, outputs: Outputs) -> Finished:
    done = twin.run(AIC + body, inputs, outputs, before=CUBE, block=None)
    assert not done.diagnostics, [str(diagnostic) for diagnostic in done.diagnostics]
    return done


def exactly(shape: tuple[int, ...], dtype: type = np.float16) -> np.ndarray:
    """Small whole numbers, whose products and sums are exact in every type."""
    return RNG.integers(-8, 8, shape).astype(dtype)


def nz(matrix: np.ndarray, rows: int | None = None) -> np.ndarray:
    """A matrix in columns of 32 bytes, `rows` high, filled up with zeros."""
    c0 = 32 // matrix.dtype.itemsize
    m, n = matrix.shape
    rows = rows or m
    padded = np.zeros((rows, -(-n // c0) * c0), matrix.dtype)
    padded[:m, :n] = matrix
    return padded.reshape(rows, -1, c0).swapaxes(0, 1)


@pytest.mark.parametrize("name", ["int8_t", "half", "float"])
def test_row_major_matrices_become_fractals(twin: Twin, name: str) -> None:
    dtype = {"int8_t": np.int8, "half": np.float16, "float": np.float32}[name]
    matrices = exactly((3, 21, 45), dtype)
    expected = np.stack([nz(matrix[:20, :43], 32) for matrix in matrices])
    body = f"""
        LocalTensor<{name}> l1 = cube.a1.Get<{name}>();
        Fill(l1.ReinterpretCast<half>(), InitConstValueParams<half>(1, {expected.nbytes // 32}, 0, half(0)));
        PipeBarrier<PIPE_ALL>();
        DataCopy(l1, Gm<{name}>(x), Nd2NzParams(3, 20, 43, 21 * 45, 45, 32, 1, {expected[0].size}));
        PipeBarrier<PIPE_ALL>();
        DataCopy(Gm<{name}>(y), l1, {expected.size});
    """
    types = {np.int8: DType.INT8, np.float16: DType.FLOAT16, np.float32: DType.FLOAT32}
    done = run(twin, body, {"x": matrices}, {"y": (expected.shape, types[dtype])})
    np.testing.assert_array_equal(done.output(), expected)


@pytest.mark.parametrize(
    ("name", "sums", "m", "n", "k"), [("half", "float", 48, 32, 80), ("int8_t", "int32_t", 64, 96, 128)]
)
def test_matrices_are_transposed_on_their_way_into_l0a(
    twin: Twin, name: str, sums: str, m: int, n: int, k: int
) -> None:
    """Halfs by fractals, bytes in squares of two fractals."""
    dtype, made = {"half": (np.float16, DType.FLOAT32), "int8_t": (np.int8, DType.INT32)}[name]
    a, b = exactly((k, m), dtype), exactly((n, k), dtype)
    transposing = {
        "half": f"""
        LoadData2DParams p(0, {k // 16}, 1, 0, 0, true, 0);
        for (int i = 0; i < {m // 16}; ++i) LoadData(a2[i * {k} * 16], a1[i * {k} * 16], p);""",
        "int8_t": f"""
        LoadData2dTransposeParams p(0, {k // 32}, 1, 0, {k // 32 - 1});
        for (int i = 0; i < {m // 32}; ++i) LoadDataWithTranspose(a2[i * {k} * 32], a1[i * {k} * 32], p);""",
    }
    body = f"""
        LocalTensor<{name}> a1 = cube.a1.Get<{name}>(), a2 = cube.a2.Get<{name}>();
        cube.Fractals(a1, Gm<{name}>(a), {k}, {m});
        cube.Fractals(cube.b1.Get<{name}>(), Gm<{name}>(b), {n}, {k});
        {transposing[name]}
        LoadData(cube.b2.Get<{name}>(), cube.b1.Get<{name}>(), {{0, {b.nbytes // 512}, 1, 0, 0, false, 0}});
        PipeBarrier<PIPE_ALL>();
        cube.Multiply<{sums}, {name}>({m}, {n}, {k});
        cube.Out<{sums}, {sums}>(Gm<{sums}>(y), {m}, {n});
    """
    done = run(twin, body, {"a": a, "b": b}, {"y": ((m, n), made)})
    np.testing.assert_array_equal(done.output(), a.T.astype(float) @ b.T.astype(float))


def test_floats_are_transposed_by_images_and_aligned_in_k(twin: Twin) -> None:
    m, n, k = 40, 24, 36
    a, b = exactly((k, m), np.float32), exactly((k, n), np.float32)
    body = f"""
        cube.Fractals(cube.a1.Get<float>(), Gm<float>(a), {k}, {m});
        cube.Fractals(cube.b1.Get<float>(), Gm<float>(b), {k}, {n});
        constexpr uint8_t none[4] = {{0, 0, 0, 0}};
        LoadData3DParamsV2<float> p(none, {-(-k // 16) * 16}, 1, {m}, {m}, {k}, 0, 0, 1, 1, 1, 1, 1, 1, true, false,
                                    0.0f);
        constexpr LoadData3DParamsV2<float> flags(none, 1, 1, 16, 16, 16, 0, 0, 1, 1, 1, 1, 1, 1, true, false, 0.0f,
                                                  true, false, true);
        static_assert(flags.filterSizeW && !flags.filterSizeH && flags.fMatrixCtrl && flags.enTranspose);
        LoadData(cube.a2.Get<float>(), cube.a1.Get<float>(), p);
        cube.Right<float>({k}, {n});
        MmadParams q({m}, {n}, {k}, 0, false, true);
        q.kDirectionAlign = true;
        Mmad(cube.co1.Get<float>(), cube.a2.Get<float>(), cube.b2.Get<float>(), q);
        PipeBarrier<PIPE_ALL>();
        cube.Out<float, float>(Gm<float>(y), {m}, {n});
    """
    done = run(twin, body, {"a": a, "b": b}, {"y": ((m, n), DType.FLOAT32)})
    np.testing.assert_array_equal(done.output(), a.T.astype(float) @ b.astype(float))


def test_float_squares_are_two_fractals_beside_each_other(twin: Twin) -> None:
    a, b = exactly((16, 16), np.float32), exactly((16, 16), np.float32)
    body = """
        // fractals of the transposed matrix: 16 rows of 8, the second one behind the first
        DataCopy(cube.a1.Get<float>(), Gm<float>(a), Nd2NzParams(1, 16, 16, 0, 16, 16, 1, 0));
        cube.Fractals(cube.b1.Get<float>(), Gm<float>(b), 16, 16);
        PipeBarrier<PIPE_ALL>();
        LoadDataWithTranspose(cube.a2.Get<float>(), cube.a1.Get<float>(), {0, 1, 1, 0, 0});
        cube.Right<float>(16, 16);
        cube.Multiply<float, float>(16, 16, 16);
        cube.Out<float, float>(Gm<float>(y), 16, 16);
    """
    done = run(twin, body, {"a": a, "b": b}, {"y": ((16, 16), DType.FLOAT32)})
    np.testing.assert_array_equal(done.output(), a.T.astype(float) @ b.astype(float))


def pack(values: np.ndarray) -> np.ndarray:
    """Four-bit integers, two a byte, the first in the low half."""
    low, high = values[..., ::2] & 0xF, values[..., 1::2] & 0xF
    return (low | high << 4).astype(np.uint8).view(np.int8)


def test_half_bytes_are_multiplied_and_transposed(twin: Twin) -> None:
    m, n, k = 32, 128, 64
    a, b = RNG.integers(-8, 8, (m, k)), RNG.integers(-8, 8, (k, n))
    body = f"""
        cube.Fractals(cube.a1.Get<int8_t>(), Gm<int8_t>(a), {m}, {k // 2});
        cube.Fractals(cube.b1.Get<int8_t>(), Gm<int8_t>(b), {k}, {n // 2});
        LocalTensor<int4b_t> a1 = cube.a1.Get<int4b_t>(), b1 = cube.b1.Get<int4b_t>();
        LocalTensor<int4b_t> a2 = cube.a2.Get<int4b_t>(), b2 = cube.b2.Get<int4b_t>();
        LoadData(a2, a1, LoadData2DParams(0, {m // 16}, 1, 0, 0, false, 0));
        LoadDataWithTranspose(b2, b1, {{0, {n // 64}, 1, 3, 0}});
        PipeBarrier<PIPE_ALL>();
        Mmad(cube.co1.Get<int32_t>(), a2, b2, {{{m}, {n}, {k}, 0, false, true}});
        PipeBarrier<PIPE_ALL>();
        cube.Out<int32_t, int32_t>(Gm<int32_t>(y), {m}, {n});
    """
    done = run(twin, body, {"a": pack(a), "b": pack(b)}, {"y": ((m, n), DType.INT32)})
    np.testing.assert_array_equal(done.output(), a @ b)


def test_fractals_come_from_global_memory_in_any_order(twin: Twin) -> None:
    a = exactly((4, 16, 16))
    identity = np.eye(16, dtype=np.float16)
    body = """
        LoadData(cube.a2.Get<half>(), Gm<half>(a), LoadData2DParams(3, 2, 2, 0, 1, false, 1));
        LoadData(cube.a1.Get<half>(), Gm<half>(b), LoadData2DParams(0, 1, 1, 0, 0, false, 0));
        PipeBarrier<PIPE_ALL>();
        LoadData(cube.b2.Get<half>(), cube.a1.Get<half>(), LoadData2DParams(0, 1, 0, 0, 0, true, 0));
        PipeBarrier<PIPE_ALL>();
        for (int i = 0; i < 2; ++i) {
            Mmad(cube.co1.Get<float>(), cube.a2.Get<half>()[512 * i], cube.b2.Get<half>(),
                 {16, 16, 16, 0, false, true});
            PipeBarrier<PIPE_ALL>();
            cube.Out<float, float>(Gm<float>(y)[256 * i], 16, 16);
        }
    """
    done = run(twin, body, {"a": a, "b": identity}, {"y": ((2, 16, 16), DType.FLOAT32)})
    np.testing.assert_array_equal(done.output(), a[[3, 1]].astype(float))


def im2col(
    image: np.ndarray, filter_: tuple[int, int], pad: int, stride: tuple[int, int], dilation: int, around: float
) -> np.ndarray:
    """Rows of taps of an image (c1, h, w, c0): row by output pixel, column by c1, tap, c0."""
    c1, height, width, c0 = image.shape
    padded = np.pad(image, ((0, 0), (pad, pad), (pad, pad), (0, 0)), constant_values=around)
    fh, fw = filter_
    rows = range(0, height + 2 * pad - dilation * (fh - 1), stride[0])
    columns = range(0, width + 2 * pad - dilation * (fw - 1), stride[1])
    taps = [
        padded[:, y + dilation * i, x + dilation * j]
        for y in rows
        for x in columns
        for i in range(fh)
        for j in range(fw)
    ]
    return np.array(taps).reshape(-1, fh * fw, c1, c0).swapaxes(1, 2).reshape(-1, c1 * fh * fw * c0)


def test_images_are_unfolded(twin: Twin) -> None:
    """Numbers lie around an image, which are set by value or by their bits."""
    image, n = exactly((2, 9, 7, 16)), 16
    for padding, around in (("SetLoadDataPaddingValue<half>(1)", 1.0), ("set_padding(0x4000)", 2.0)):
        matrix = im2col(image, (3, 2), 1, (2, 1), 2, around)
        m, k = matrix.shape
        weights = exactly((k, n))
        body = f"""
            DataCopy(cube.a1.Get<half>(), Gm<half>(a), {image.size});
            cube.Fractals(cube.b1.Get<half>(), Gm<half>(b), {k}, {n});
            static constexpr IsResetLoad3dConfig keep = {{false, false}};
            uint8_t pad[4] = {{1, 1, 1, 1}};
            SetFmatrix(9, 7, pad, FmatrixMode::FMATRIX_LEFT);
            {padding};
            SetLoadDataBoundary(0);
            LoadData3DParamsV2<half> p;
            p.channelSize = 32;
            p.kExtension = {k};
            p.mExtension = {m};
            p.filterH = 3, p.filterW = 2, p.strideH = 2, p.strideW = 1, p.dilationFilterH = 2, p.dilationFilterW = 2;
            LoadData<half, keep>(cube.a2.Get<half>(), cube.a1.Get<half>(), p);
            cube.Right<half>({k}, {n});
            cube.Multiply<float, half>({m}, {n}, {k});
            cube.Out<float, float>(Gm<float>(y), {m}, {n});
        """
        done = run(twin, body, {"a": image, "b": weights}, {"y": ((m, n), DType.FLOAT32)})
        np.testing.assert_array_equal(done.output(), matrix.astype(float) @ weights.astype(float))


def test_images_are_loaded_in_repeats(twin: Twin) -> None:
    m, k = 64, 32
    a = exactly((m, k), np.int8)
    identity = np.eye(k, dtype=np.int8)
    body = f"""
        cube.Fractals(cube.a1.Get<int8_t>(), Gm<int8_t>(a), {m}, {k});
        cube.Fractals(cube.b1.Get<int8_t>(), Gm<int8_t>(b), {k}, {k});
        LoadData3DParamsV2<int8_t> p;
        p.l1H = 1, p.l1W = {m}, p.channelSize = {k}, p.kExtension = {k}, p.mExtension = 16;
        SetLoadDataRepeat({{2, 2, 0}});
        LoadData(cube.a2.Get<int8_t>(), cube.a1.Get<int8_t>(), p);
        cube.Right<int8_t>({k}, {k});
        cube.Multiply<int32_t, int8_t>(32, {k}, {k});
        cube.Out<int32_t, int32_t>(Gm<int32_t>(y), 32, {k});
    """
    done = run(twin, body, {"a": a, "b": identity}, {"y": ((32, k), DType.INT32)})
    np.testing.assert_array_equal(done.output(), a.reshape(4, 16, k)[[0, 2]].reshape(32, k))


def test_of_four_elements_two_take_part_in_a_sparse_product(twin: Twin) -> None:
    m, n, k = 32, 32, 128
    a = exactly((m, k), np.int8)
    dense, index = exactly((k // 2, n), np.int8), np.zeros((k // 2, n), np.uint8)
    full = np.zeros((k, n), int)
    pairs = [(i, j) for i in range(4) for j in range(i + 1, 4)]
    for column in range(n):
        for group in range(k // 4):
            i, j = pairs[RNG.integers(len(pairs))]
            index[2 * group, column], index[2 * group + 1, column] = i, j - 1
            full[4 * group + i, column] = dense[2 * group, column]
            full[4 * group + j, column] = dense[2 * group + 1, column]

    def zn(matrix: np.ndarray) -> np.ndarray:
        """Fractals of 32 by 16, columns inside."""
        return np.ascontiguousarray(matrix.reshape(-1, 32, n // 16, 16).transpose(0, 2, 3, 1))

    quads = zn(index).reshape(-1, 4)
    packed = (quads[:, 0] | quads[:, 1] << 2 | quads[:, 2] << 4 | quads[:, 3] << 6).astype(np.uint8)
    body = f"""
        cube.Fractals(cube.a1.Get<int8_t>(), Gm<int8_t>(a), {m}, {k});
        LocalTensor<int8_t> b1 = cube.b1.Get<int8_t>();
        DataCopy(b1, Gm<int8_t>(b), {dense.size});
        DataCopy(b1[{dense.size}], Gm<int8_t>(index), {packed.size});
        cube.Left<int8_t>({m}, {k});
        LoadDataWithSparse(cube.b2.Get<int8_t>(), b1, b1[{dense.size}].ReinterpretCast<uint8_t>(),
                           LoadData2DParams(0, {dense.size // 512}, 1, 0, 0, false, 0));
        PipeBarrier<PIPE_ALL>();
        MmadWithSparse(cube.co1.Get<int32_t>(), cube.a2.Get<int8_t>(), cube.b2.Get<int8_t>(),
                       {{{m}, {n}, {k}, 0, false, true}});
        PipeBarrier<PIPE_ALL>();
        cube.Out<int32_t, int32_t>(Gm<int32_t>(y), {m}, {n});
    """
    inputs = {"a": a, "b": zn(dense), "index": packed.view(np.int8)}
    done = run(twin, body, inputs, {"y": ((m, n), DType.INT32)})
    np.testing.assert_array_equal(done.output(), a.astype(int) @ full)


def test_constants_fill_blocks(twin: Twin) -> None:
    body = """
        LocalTensor<int32_t> l1 = cube.a1.Get<int32_t>();
        InitConstValue(l1, InitConstValueParams<int32_t>(1, 32, 0, 5));
        PipeBarrier<PIPE_ALL>();
        Fill(l1, {3, 2, 6, -1});
        PipeBarrier<PIPE_ALL>();
        DataCopy(Gm<int32_t>(y), l1, 256);
    """
    done = run(twin, body, {}, {"y": ((32, 8), DType.INT32)})
    expected = np.full((32, 8), 5)
    expected[[0, 1, 8, 9, 16, 17]] = -1
    np.testing.assert_array_equal(done.output(), expected)


def test_l0_is_filled_and_multiplied(twin: Twin) -> None:
    body = """
        Fill(cube.a2.Get<bfloat16_t>(), {1, 2, 0, bfloat16_t(3)});
        Fill(cube.b2.Get<bfloat16_t>(), {2, 1, 0, bfloat16_t(-2)});
        PipeBarrier<PIPE_ALL>();
        cube.Multiply<float, bfloat16_t>(16, 16, 32);
        cube.Out<bfloat16_t, float>(Gm<bfloat16_t>(y), 16, 16, F322BF16);
    """
    done = run(twin, body, {}, {"y": ((16, 16), DType.BFLOAT16)})
    np.testing.assert_array_equal(done.output(), np.full((16, 16), -192, ml_dtypes.bfloat16))
