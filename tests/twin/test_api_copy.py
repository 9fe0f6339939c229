"""Moving data: DataCopy and DataCopyPad in every form, queues and buffers, scalar access, all blocks, SyncAll."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from npukernelbench.nouns import DType
from tests.twin.openings import fresh, put
from tests.twin.running import Twin
from tests.twin.test_api_convert import load, store

F32 = DType.FLOAT32
UNDEFINED = "Duplicate(l_y, -1.0f, {n});"

START = """TPipe pipe;
TBuf<TPosition::VECCALC> b_y;
pipe.InitBuffer(b_y, {n} * sizeof(float));
LocalTensor<float> l_y = b_y.Get<float>();
Duplicate(l_y, -1.0f, {n});
GlobalTensor<float> ga, gy;
ga.SetGlobalBuffer((__gm__ float*)a);
gy.SetGlobalBuffer((__gm__ float*)y);
"""


def test_a_count_is_rounded_down_to_blocks_with_a_warning(twin: Twin) -> None:
    a = np.arange(64, dtype=np.float32)
    done = twin.run(
        START.format(n=64) + "DataCopy(l_y, ga, 13);\nDataCopy(gy, l_y, 64);", {"a": a}, {"y": ((64,), F32)}
    )
    wanted = np.full(64, -1, np.float32)
    wanted[:8] = a[:8]
    assert np.array_equal(done.output(), wanted)
    assert [diagnostic.rule for diagnostic in done.diagnostics] == ["copy_truncated"]


def test_strided_copies_count_blocks_and_gaps(twin: Twin) -> None:
    """Three pieces of two blocks: one block apart in GM, two blocks apart in UB, then back the other way."""
    a = np.arange(128, dtype=np.float32)
    body = (
        START.format(n=128)
        + """DataCopy(l_y, ga, DataCopyParams(3, 2, 1, 2));
    DataCopy(gy, l_y, 128);
    DataCopy(gy[128], l_y, DataCopyParams(3, 2, 2, 0));"""
    )
    actual = np.asarray(twin.run(body, {"a": a}, {"y": ((256,), F32)}).output())
    wanted = np.full(128, -1, np.float32)
    for i in range(3):
        wanted[i * 32 : i * 32 + 16] = a[i * 24 : i * 24 + 16]
    assert np.array_equal(actual[:128], wanted)
    assert np.array_equal(actual[128:176], np.concatenate([a[i * 24 : i * 24 + 16] for i in range(3)]))


@settings(max_examples=10, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    blocks=st.integers(1, 3),
    elements=st.integers(1, 20),
    gm_gap=st.integers(0, 5),
    ub_gap=st.integers(0, 2),
    pad=st.booleans(),
    left=st.integers(0, 4),
    right=st.integers(0, 4),
)
def test_data_copy_pad(twin: Twin, blocks, elements, gm_gap, ub_gap, pad, left, right) -> None:
    """Exact bytes, padding of both sides, dummy data behind ragged pieces, and gaps of both kinds.

    Padding takes its room whether or not it has a value; without one it is undefined. Where there is no padding, the
    first element fills the last block.
    """
    n = 256
    a = np.arange(1, n + 1, dtype=np.float32)
    body = (
        START.format(n=n)
        + f"""DataCopyPadExtParams<float> padding({str(pad).lower()}, {left}, {right}, 99.0f);
    DataCopyPad(l_y, ga, DataCopyExtParams({blocks}, {4 * elements}, {4 * gm_gap}, {ub_gap}, 0), padding);
    DataCopy(gy, l_y, {n});
    DataCopyPad(gy[{n}], l_y, DataCopyExtParams(1, {4 * elements}, 0, 0, 0));"""
    )
    done = twin.run(body, {"a": a}, {"y": ((n + elements,), F32)})
    assert not done.diagnostics, [str(diagnostic) for diagnostic in done.diagnostics]
    wanted = np.full(n, -1, np.float32)
    padding = 99 if pad else np.nan
    before, after = left, right
    used = before + elements + after
    rounded = -(-used // 8) * 8
    for i in range(blocks):
        piece = a[i * (elements + gm_gap) :][:elements]
        at = i * (rounded + 8 * ub_gap)
        wanted[at : at + before] = padding
        wanted[at + before : at + before + elements] = piece
        wanted[at + before + elements : at + rounded] = padding if left + right else piece[0]
    actual = np.asarray(done.output())
    assert np.array_equal(actual[:n], wanted, equal_nan=True)
    assert np.array_equal(actual[n:], wanted[:elements], equal_nan=True)


def test_ub_holds_a_repeatable_pattern_that_is_not_a_number(twin: Twin) -> None:
    body = """TPipe pipe;
    TBuf<TPosition::VECCALC> b_y;
    pipe.InitBuffer(b_y, 256);
    LocalTensor<float> l_y = b_y.Get<float>();
    GlobalTensor<float> gy;
    gy.SetGlobalBuffer((__gm__ float*)y);
    DataCopy(gy, l_y, 64);"""
    first = np.asarray(twin.run(body, {}, {"y": ((64,), F32)}, seed=1).output())
    again = np.asarray(twin.run(body, {}, {"y": ((64,), F32)}, seed=1).output())
    assert np.isnan(first).all()
    assert np.array_equal(first.view(np.uint32), again.view(np.uint32))


def test_scalar_access_and_views(twin: Twin) -> None:
    a = np.arange(64, dtype=np.int32)
    body = f"""TPipe pipe;
    {load("int32_t", "a", 64)}
    LocalTensor<int32_t> l_y = l_a[32];
    l_y.SetValue(0, l_a.GetValue(3) + 100);
    l_y(1) = 7;
    l_a.ReinterpretCast<int16_t>().SetValue(68, 21);
    GlobalTensor<int32_t> gy;
    gy.SetGlobalBuffer((__gm__ int32_t*)y);
    DataCopy(gy, l_a, 64);
    gy.SetValue(63, (int32_t)l_a.GetSize());
    gy.SetValue(62, (int32_t)l_y.GetSize());"""
    actual = np.asarray(twin.run(body, {"a": a}, {"y": ((64,), DType.INT32)}).output())
    wanted = a.copy()
    wanted[[32, 33, 34, 62, 63]] = [103, 7, 21, 32, 64]
    assert np.array_equal(actual, wanted)


@pytest.mark.parametrize("buffers", [1, 2])
def test_queues_carry_tensors_in_order(twin: Twin, buffers: int) -> None:
    """Copy-in, compute and copy-out over four tiles, every block its own share."""
    n = 48 * 256
    a = np.random.default_rng(0).normal(0, 1, n).astype(np.float32)
    body = f"""TPipe pipe;
    TQue<QuePosition::VECIN, {buffers}> in;
    TQue<QuePosition::VECOUT, {buffers}> out;
    pipe.InitBuffer(in, {buffers}, 256);
    pipe.InitBuffer(out, {buffers}, 256);
    GlobalTensor<float> ga, gy;
    ga.SetGlobalBuffer((__gm__ float*)a + 256 * GetBlockIdx(), 256);
    gy.SetGlobalBuffer((__gm__ float*)y + 256 * GetBlockIdx(), 256);
    for (int i = 0; i < 4; ++i) {{
        LocalTensor<float> x = in.AllocTensor<float>();
        DataCopy(x, ga[64 * i], 64);
        in.EnQue(x);
        x = in.DeQue<float>();
        LocalTensor<float> z = out.AllocTensor<float>();
        Muls(z, x, 3.0f, 64);
        out.EnQue<float>(z);
        in.FreeTensor(x);
        z = out.DeQue<float>();
        DataCopy(gy[64 * i], z, 64);
        out.FreeTensor(z);
    }}"""
    done = twin.run(body, {"a": a}, {"y": ((n,), F32)}, block=None)
    assert not done.diagnostics, [str(diagnostic) for diagnostic in done.diagnostics]
    assert np.array_equal(done.output(), a * np.float32(3))


def test_flags_and_barriers_order_pipes(twin: Twin) -> None:
    body = f"""TPipe pipe;
    {load("float", "a", 64)}
    LocalTensor<float> l_y = l_a;
    TEventID id = GetTPipePtr()->FetchEventID(HardEvent::MTE2_V);
    SetFlag<HardEvent::MTE2_V>(id);
    WaitFlag<HardEvent::MTE2_V>(id);
    Adds(l_y, l_a, 1.0f, 64);
    PipeBarrier<PIPE_V>();
    Muls(l_y, l_y, 2.0f, 64);
    set_flag(PIPE_V, PIPE_MTE3, EVENT_ID3);
    wait_flag(PIPE_V, PIPE_MTE3, EVENT_ID3);
    pipe_barrier(PIPE_ALL);
    {store("float", 64)}"""
    a = np.arange(64, dtype=np.float32)
    done = twin.run(body, {"a": a}, {"y": ((64,), F32)})
    assert not done.diagnostics, [str(diagnostic) for diagnostic in done.diagnostics]
    assert np.array_equal(done.output(), (a + 1) * 2)


def test_sync_all_lets_one_block_read_what_the_others_wrote(twin: Twin) -> None:
    body = f"""GlobalTensor<int32_t> shared, gy;
    shared.SetGlobalBuffer((__gm__ int32_t*)workspace);
    gy.SetGlobalBuffer((__gm__ int32_t*)y);
    {put("shared", "16 * GetBlockIdx()", "(int32_t)GetBlockIdx() + 1")}
    SyncAll();
    int32_t sum = 0;
    for (int i = 0; i < GetBlockNum(); ++i) sum += {fresh("shared", "16 * i")};
    SyncAll();
    gy.SetValue(16 * GetBlockIdx(), sum);"""
    done = twin.run(body, {}, {"y": ((768,), DType.INT32)}, block=None)
    assert not done.diagnostics, [str(diagnostic) for diagnostic in done.diagnostics]
    assert (np.asarray(done.output())[::16] == 48 * 49 // 2).all()


def test_bfloat16_and_half_scalars_convert(twin: Twin) -> None:
    a = np.array([1.5, -2.25, 3.0, 65504.0] * 4, np.float16)
    body = """GlobalTensor<half> ga;
    GlobalTensor<float> gy;
    ga.SetGlobalBuffer((__gm__ half*)a);
    gy.SetGlobalBuffer((__gm__ float*)y);
    for (int i = 0; i < 4; ++i) {
        half h = ga.GetValue(i);
        bfloat16_t b = ToBfloat16((float)h);
        gy.SetValue(2 * i, static_cast<float>(h + (half)1.0));
        gy.SetValue(2 * i + 1, ToFloat(b));
    }"""
    actual = np.asarray(twin.run(body, {"a": a}, {"y": ((8,), F32)}).output())
    import ml_dtypes

    assert np.array_equal(actual[1::2], a[:4].astype(np.float32).astype(ml_dtypes.bfloat16).astype(np.float32))
    assert np.array_equal(actual[0::2], (a[:4] + np.float16(1)).astype(np.float32))
