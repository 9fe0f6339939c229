"""Element-wise instructions against NumPy: every row of the table, every type, by count, lane count and lane bits."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from npukb_twin.compile.instructions import Row, instructions
from npukernelbench.nouns import DType
from tests.twin import models
from tests.twin.rows import TYPES
from tests.twin.running import Twin

N = 512  # elements of a tensor in UB
ELEMENTWISE = [row for row in instructions() if row.unit == "Elementwise"]
APPROXIMATE = {"Exp": 1, "Ln": 1, "Rsqrt": 1}  # correctly rounded in all but a few cases in a million
CASES = [
    pytest.param(row, TYPES[name], id=f"{row.name}-{TYPES[name].value}") for row in ELEMENTWISE for name in row.dtypes
]

SETUP = """
TPipe pipe;
TBuf<TPosition::VECCALC> ba, bb, bd;
pipe.InitBuffer(ba, {n} * sizeof({t}));
pipe.InitBuffer(bb, {n} * sizeof({t}));
pipe.InitBuffer(bd, {n} * sizeof({t}));
LocalTensor<{t}> la = ba.Get<{t}>(), lb = bb.Get<{t}>(), ld = bd.Get<{t}>();
GlobalTensor<{t}> ga, gb, gd, gs, gy;
ga.SetGlobalBuffer((__gm__ {t}*)a);
gb.SetGlobalBuffer((__gm__ {t}*)b);
gd.SetGlobalBuffer((__gm__ {t}*)d);
gs.SetGlobalBuffer((__gm__ {t}*)s);
gy.SetGlobalBuffer((__gm__ {t}*)y);
DataCopy(la, ga, {n});
DataCopy(lb, gb, {n});
DataCopy(ld, gd, {n});
{t} scalar = gs.GetValue(0);
{call}
DataCopy(gy, ld, {n});
"""


def call(row: Row, arguments: str) -> str:
    """The instruction on the three tensors, with what follows its operands."""
    operands = "ld, la, lb" if "Src1" in row.operands else "ld, la"
    scalar = ", scalar" if "SCALAR" in row.call or row.call == "SHIFT" else ""
    return f"{row.name}({operands}{scalar}, {arguments});"


def operands(row: Row, dtype: DType, seed: int) -> dict[str, np.ndarray]:
    scalar = models.samples(dtype, 12, seed + 3)[11:12]
    if row.call == "SHIFT":
        scalar = np.array([3], dtype=dtype.value)
    return {
        "a": models.samples(dtype, N, seed),
        "b": models.samples(dtype, N, seed + 1),
        "d": models.samples(dtype, N, seed + 2),
        "s": np.repeat(scalar, 32 // dtype.itemsize),
    }


def run(twin: Twin, row: Row, dtype: DType, arguments: str, values: dict[str, np.ndarray]) -> np.ndarray:
    body = SETUP.format(n=N, t=dtype.ascend_c, call=call(row, arguments))
    done = twin.run(body, values, {"y": ((N,), dtype)})
    assert not done.diagnostics, [str(diagnostic) for diagnostic in done.diagnostics]
    return np.asarray(done.output())


def test_every_elementwise_instruction_has_a_model() -> None:
    known = {*models.UNARY, *models.BINARY, *models.SCALAR, *models.SHIFT, *models.ACCUMULATE}
    assert {row.name for row in ELEMENTWISE} == known


@pytest.mark.parametrize(("row", "dtype"), CASES)
@pytest.mark.parametrize("count", [N, 37])
def test_by_count(twin: Twin, row: Row, dtype: DType, count: int) -> None:
    values = operands(row, dtype, seed=count)
    actual = run(twin, row, dtype, str(count), values)
    wanted = values["d"].copy()
    parts = (values["d"][:count], values["a"][:count], values["b"][:count], values["s"][:1])
    wanted[:count] = models.expected(row.name, *parts)
    assert models.same(actual, wanted, APPROXIMATE.get(row.name, 0))


lane_forms = st.one_of(st.integers(1, 128), st.tuples(st.integers(0, 2**64 - 1), st.integers(0, 2**64 - 1)))


@settings(max_examples=12, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    case=st.sampled_from([c.values for c in CASES]),
    lanes=lane_forms,
    repeat=st.integers(0, 3),
    blocks=st.tuples(*[st.integers(1, 2)] * 3),
    repeats=st.tuples(*[st.integers(0, 9)] * 3),
)
def test_by_lanes(twin: Twin, case, lanes, repeat, blocks, repeats) -> None:
    """Masks, strides and repeats, as in the documentation: block and repeat strides count 32-byte blocks."""
    row, dtype = case
    per_block, per_repeat = 32 // dtype.itemsize, 256 // dtype.itemsize
    if isinstance(lanes, tuple):  # a mask has a bit, and none beyond a repeat
        lanes = (lanes[0] or 1, lanes[1] if per_repeat > 64 else 0)
    else:
        lanes = min(max(lanes, 1), per_repeat)
    blocks = tuple(1 for _ in blocks) if dtype.itemsize == 4 else blocks  # keep everything inside N elements
    dst_repeat = max(repeats[0], 8 * blocks[0]) if repeat > 1 else 8  # destinations of two repeats may not meet
    if (repeat - 1) * max(dst_repeat, *repeats[1:]) * per_block + 16 * per_block > N:
        repeat = 1
    values = operands(row, dtype, seed=5)
    mask = "mask" if isinstance(lanes, tuple) else str(lanes)
    if "Src1" in row.operands:
        strides = f"BinaryRepeatParams({blocks[0]}, {blocks[1]}, {blocks[2]}, {dst_repeat}, {repeats[1]}, {repeats[2]})"
    else:
        strides = f"UnaryRepeatParams({blocks[0]}, {blocks[1]}, {dst_repeat}, {repeats[1]})"
    words = lanes if isinstance(lanes, tuple) else (0, 0)
    call_text = f"uint64_t mask[2] = {{{words[0]}ull, {words[1]}ull}};\n(void)mask;\n" + call(
        row, f"{mask}, {repeat}, {strides}"
    )
    body = SETUP.format(n=N, t=dtype.ascend_c, call=call_text)
    done = twin.run(body, values, {"y": ((N,), dtype)})
    assert not done.errors, [str(error) for error in done.errors]

    def place(r: int, lane: int, block: int, stride: int) -> int:
        return (r * stride + lane // per_block * block) * per_block + lane % per_block

    wanted = values["d"].copy()
    for r in range(repeat):
        for lane in range(per_repeat):
            on = lanes[lane // 64] >> (lane % 64) & 1 if isinstance(lanes, tuple) else lane < lanes
            if not on:
                continue
            i = place(r, lane, blocks[0], dst_repeat)
            a = values["a"][(j := place(r, lane, blocks[1], repeats[1])) : j + 1]
            b = values["b"][(j := place(r, lane, blocks[2], repeats[2])) : j + 1]
            wanted[i : i + 1] = models.expected(row.name, wanted[i : i + 1], a, b, values["s"][:1])
    assert models.same(np.asarray(done.output()), wanted, APPROXIMATE.get(row.name, 0))


def test_counter_mode_and_the_mask_register(twin: Twin) -> None:
    """In counter mode the register holds a number of elements, and the repeat count is ignored."""
    values = {name: models.samples(DType.FLOAT32, N, seed) for seed, name in enumerate(("a", "b", "d"))}
    values["s"] = np.zeros(8, np.float32)
    text = """SetMaskCount();
    SetVectorMask<float, MaskMode::COUNTER>(130);
    Add<float, false>(ld, la, lb, MASK_PLACEHOLDER, 1, BinaryRepeatParams());
    SetMaskNorm();
    SetVectorMask<float>(0, 0x5);
    Sub<float, false>(ld[192], la, lb, MASK_PLACEHOLDER, 1, BinaryRepeatParams());
    ResetMask();"""
    done = twin.run(SETUP.format(n=N, t="float", call=text), values, {"y": ((N,), DType.FLOAT32)})
    wanted = values["d"].copy()
    with np.errstate(all="ignore"):
        wanted[:130] = (values["a"] + values["b"])[:130]
        for lane in (0, 2):
            wanted[192 + lane] = values["a"][lane] - values["b"][lane]
    assert models.same(np.asarray(done.output()), wanted)


def test_every_half_is_correctly_rounded(twin: Twin) -> None:
    """Exp, Ln, Rsqrt, Sqrt and Reciprocal of all halves."""
    names = ("Exp", "Ln", "Rsqrt", "Sqrt", "Reciprocal")
    values = np.arange(65536, dtype=np.uint16).view(np.float16)
    tile = 16384
    calls = "".join(
        f"{name}(ly, la, {tile});\nDataCopy(gy[{at * 65536} + i * {tile}], ly, {tile});\n"
        for at, name in enumerate(names)
    )
    body = f"""TPipe pipe;
    TBuf<TPosition::VECCALC> ba, by;
    pipe.InitBuffer(ba, {tile * 2});
    pipe.InitBuffer(by, {tile * 2});
    LocalTensor<half> la = ba.Get<half>(), ly = by.Get<half>();
    GlobalTensor<half> ga, gy;
    ga.SetGlobalBuffer((__gm__ half*)a);
    gy.SetGlobalBuffer((__gm__ half*)y);
    for (int i = 0; i < {65536 // tile}; ++i) {{
        DataCopy(la, ga[i * {tile}], {tile});
        {calls}
    }}"""
    done = twin.run(body, {"a": values}, {"y": ((len(names), 65536), DType.FLOAT16)})
    wide = values.astype(np.float64)
    with np.errstate(all="ignore"):
        exact = [np.exp(wide), np.log(wide), 1 / np.sqrt(wide), np.sqrt(wide), 1 / wide]
        for row, name, wanted in zip(np.asarray(done.output()), names, exact, strict=True):
            assert models.same(row, wanted.astype(np.float16)), name
