"""Whole tensors rearranged: TransData and the library's Transpose against NumPy, and layouts as compile-time values."""

from __future__ import annotations

import numpy as np
import pytest

from npukernelbench.nouns import DType, Outcome
from tests.twin.programs import Program
from tests.twin.running import Twin

TMP = "TBuf<TPosition::VECCALC> b_t;\npipe.InitBuffer(b_t, 16384);\nLocalTensor<uint8_t> tmp = b_t.Get<uint8_t>();"


def up(n: int) -> int:
    return -(-n // 16) * 16


def padded(x: np.ndarray) -> np.ndarray:
    """NCDHW with h and w joined and padded to whole blocks."""
    n, c, d, h, w = x.shape
    rows = np.zeros((n, c, d, up(h * w)), x.dtype)
    rows[..., : h * w] = x.reshape(n, c, d, h * w)
    return rows


def channels_last(x: np.ndarray) -> np.ndarray:
    """NDC1HWC0."""
    n, c, d, h, w = x.shape
    wide = np.zeros((n, up(c), d, h, w), x.dtype)
    wide[:, :c] = x
    return wide.reshape(n, up(c) // 16, 16, d, h, w).transpose(0, 3, 1, 4, 5, 2)


def fractal(x: np.ndarray) -> np.ndarray:
    """FRACTAL_Z_3D."""
    n, c, d, h, w = x.shape
    wide = np.zeros((up(n), up(c), d, h, w), x.dtype)
    wide[:n, :c] = x
    return wide.reshape(up(n) // 16, 16, up(c) // 16, 16, d, h, w).transpose(4, 2, 5, 6, 0, 1, 3)


@pytest.mark.parametrize("shape", [(1, 32, 2, 2, 8), (3, 21, 1, 3, 5)], ids=["whole", "ragged"])
def test_trans_data(twin: Twin, shape: tuple[int, int, int, int, int]) -> None:
    n, c, d, h, w = shape
    x = np.arange(1, np.prod(shape) + 1, dtype=np.int16).reshape(shape)
    plain, last, cubes = padded(x), channels_last(x), fractal(x)
    p = Program()
    for name, values in (("x", plain), ("last", last), ("cubes", cubes)):
        p.load(name, values)
    for name, size in (("a", last.size), ("b", plain.size), ("c", cubes.size), ("d", plain.size)):
        p.tensor(name, size, "int16_t")
    p.call(TMP)
    p.call(f"auto ncdhw = AscendC::MakeLayout(AscendC::MakeShape({n}, {c}, {d}, {h}, {w}), AscendC::MakeStride());")
    p.call(f"auto six = MakeLayout(MakeShape({n}, {d}, {up(c) // 16}, {h}, {w}, 16), MakeStride());")
    p.call(f"auto seven = MakeLayout(MakeShape({d}, {up(c) // 16}, {h}, {w}, {up(n) // 16}, 16, 16), MakeStride());")
    p.call("TransDataParams<decltype(ncdhw), decltype(six)> pa = {ncdhw, six};\nTransData<to6>(l_a, l_x, tmp, pa);")
    p.call("TransDataParams<decltype(six), decltype(ncdhw)> pb = {six, ncdhw};\nTransData<from6>(l_b, l_last, pb);")
    p.call("TransDataParams<decltype(ncdhw), decltype(seven)> pc = {ncdhw, seven};\nTransData<to7>(l_c, l_x, tmp, pc);")
    p.call(
        "TransDataParams<decltype(seven), decltype(ncdhw)> pd = {seven, ncdhw};\nTransData<from7>(l_d, l_cubes, pd);"
    )
    seen = p.run(
        twin,
        "static constexpr TransDataConfig to6 = {DataFormat::NCDHW, DataFormat::NDC1HWC0};\n"
        "static constexpr TransDataConfig from6 = {DataFormat::NDC1HWC0, DataFormat::NCDHW};\n"
        "static constexpr TransDataConfig to7 = {DataFormat::NCDHW, DataFormat::FRACTAL_Z_3D};\n"
        "static constexpr TransDataConfig from7 = {DataFormat::FRACTAL_Z_3D, DataFormat::NCDHW};",
    )
    assert np.array_equal(seen["a"], last.reshape(-1))
    assert np.array_equal(seen["c"], cubes.reshape(-1))
    for name in ("b", "d"):
        assert np.array_equal(seen[name], plain.reshape(-1))


def nz(x: np.ndarray) -> np.ndarray:
    """The last two axes in fractals, columns of fractals outermost, padded with zeros."""
    *outer, rows, columns = x.shape
    wide = np.zeros((*outer, up(rows), up(columns)), x.dtype)
    wide[..., :rows, :columns] = x
    split = wide.reshape(*outer, up(rows) // 16, 16, up(columns) // 16, 16)
    return np.moveaxis(split, -2, -4)


def wide_rows(x: np.ndarray) -> np.ndarray:
    """ND whose last axis is padded to a multiple of 16."""
    out = np.zeros((*x.shape[:-1], up(x.shape[-1])), x.dtype)
    out[..., : x.shape[-1]] = x
    return out


@pytest.mark.parametrize("element", ["half", "float"])
@pytest.mark.parametrize("hn", [32, 12], ids=["whole", "ragged"])
def test_transpose_of_the_library(twin: Twin, element: str, hn: int) -> None:
    b, n, s = 1, 3, 32
    dtype = {"half": DType.FLOAT16, "float": DType.FLOAT32}[element]
    x = np.arange(1, b * n * s * hn + 1).reshape(b, n, s, hn).astype(dtype.numpy())
    joined = x.transpose(0, 2, 1, 3).reshape(b, s, n * hn)
    flat = x.reshape(-1)[: 32 * 16].reshape(32, 16)
    swapped = x.transpose(0, 2, 1, 3)
    wanted = {
        "NZ2ND_0213": (nz(x), wide_rows(swapped)),
        "NZ2NZ_0213": (nz(x), nz(swapped)),
        "NZ2NZ_012_WITH_N": (nz(joined), nz(x)),
        "NZ2ND_012_WITH_N": (nz(joined), wide_rows(x)),
        "NZ2ND_012_WITHOUT_N": (nz(x), wide_rows(joined)),
        "NZ2NZ_012_WITHOUT_N": (nz(x), nz(joined)),
        "ND2ND_ONLY": (flat, flat.T),
    }
    p = Program()
    p.load("parts", nz(x))
    p.load("whole", nz(joined))
    p.load("flat", flat)
    p.call(TMP)
    p.call(f"ConfusionTransposeTiling t;\nt.param0 = {b};\nt.param1 = {n};\nt.param2 = {s};\nt.param3 = {hn};")
    p.call("ConfusionTransposeTiling two;\ntwo.param2 = 32;\ntwo.param3 = 16;")
    for at, (kind, (source, result)) in enumerate(wanted.items()):
        name = "flat" if kind == "ND2ND_ONLY" else "whole" if source.shape == nz(joined).shape else "parts"
        p.tensor(kind, result.size, element)
        call = "Transpose" if at % 2 == 0 else "ConfusionTranspose"
        scratch = "tmp, " if at < 4 else ""
        tiling = "two" if kind == "ND2ND_ONLY" else "t"
        p.call(f"{call}(l_{kind}, l_{name}, {scratch}TransposeType::TRANSPOSE_{kind}, {tiling});")
    seen = p.run(twin)
    for kind, (_, result) in wanted.items():
        assert np.array_equal(seen[kind], result.reshape(-1)), kind


def test_layouts_are_values_at_compile_time(twin: Twin) -> None:
    body = """
    constexpr auto layout = AscendC::MakeLayout(AscendC::MakeShape(4, AscendC::MakeShape(2, 8)),
                                                AscendC::MakeStride(16, AscendC::MakeStride(8, 1)));
    static_assert(layout(MakeCoord(3, MakeCoord(1, 5))) == 61 && is_layout<std::decay_t<decltype(layout)>>::value);
    static_assert(Crd2Idx(MakeCoord(1, 2), MakeShape(4, 4), MakeStride(4, 1)) == 6);
    static_assert(std::get<0>(layout.layout().GetShape()) == 4 && std::get<0>(layout.GetStride()) == 16);
    """
    done = twin.run(body + "(void)y;")
    assert done.outcome is Outcome.OK


def test_names_of_layouts_stay_the_kernels_own(twin: Twin) -> None:
    own = "struct Shape { int n; };\nstruct Tile { Shape s; };\ntemplate <typename T> struct Layout { T t; };"
    done = twin.run("Layout<Tile> mine{{{3}}};\nif (mine.t.s.n != 3) Trap();", before=own)
    assert done.outcome is Outcome.OK, [str(diagnostic) for diagnostic in done.diagnostics]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("MakeShape(1, 16, 2, 2, 8), MakeStride()), MakeLayout(MakeShape(1, 2, 1, 2, 8, 8)", "c0 = 16"),
        ("MakeShape(1, 16, 2, 2, 8), MakeStride()), MakeLayout(MakeShape(1, 3, 1, 2, 8, 16)", "d, h, w"),
    ],
)
def test_layouts_that_do_not_agree(twin: Twin, line: str, message: str) -> None:
    body = f"""
    TPipe pipe;
    TBuf<> a, b;
    pipe.InitBuffer(a, 8192);
    pipe.InitBuffer(b, 8192);
    auto from = AscendC::MakeLayout({line.partition("), MakeLayout(")[0]});
    auto to = MakeLayout({line.partition("), MakeLayout(")[2]}, MakeStride());
    TransDataParams<decltype(from), decltype(to)> p = {{from, to}};
    LocalTensor<half> l = a.Get<half>(), m = b.Get<half>();
    TransData<config>(m, l, p);  // here
    """
    before = "static constexpr TransDataConfig config = {DataFormat::NCDHW, DataFormat::NDC1HWC0};"
    done = twin.run(body, before=before)
    assert [(error.rule, error.line) for error in done.errors] == [("bad_shape", done.marked)]
    assert message in f"{done.errors[0].message} {done.errors[0].remedy}"


def test_transpose_wants_axes_of_whole_fractals(twin: Twin) -> None:
    body = """
    TPipe pipe;
    TBuf<> a;
    pipe.InitBuffer(a, 8192);
    ConfusionTransposeTiling t;
    t.param2 = 20;
    t.param3 = 16;
    LocalTensor<half> l = a.Get<half>();
    Transpose(l, l, TransposeType::TRANSPOSE_ND2ND_ONLY, t);  // here
    """
    done = twin.run(body)
    assert [(error.rule, error.line) for error in done.errors] == [("bad_shape", done.marked)]
