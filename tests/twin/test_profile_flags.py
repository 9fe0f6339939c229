"""What makes a kernel faster on the device never makes it slower here: kernels that order their pipes by flags.

One on vector cores, without a queue, and one on cube cores. Both move through ``slots`` pieces of memory in turn, so
that two of them are double buffering by hand.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np
import pytest

from npukb_twin.executor import TwinArgs, TwinExecutor
from npukernelbench.nouns import DType, Profile
from tests.twin.cubes import BUFFERS
from tests.twin.running import Inputs, Outputs, Twin

TOTAL = 1536 << 10  # halfs
SHARE = TOTAL // 48

VECTOR = """
    __gm__ int32_t* p = (__gm__ int32_t*)parameters;
    const uint32_t tile = p[0], slots = p[1], shift = p[2], work = p[3];
    TPipe pipe;
    TBuf<TPosition::VECIN> from[2];
    TBuf<TPosition::VECOUT> to[2];
    for (uint32_t s = 0; s < 2; ++s) {
        pipe.InitBuffer(from[s], tile * sizeof(half));
        pipe.InitBuffer(to[s], tile * sizeof(half));
    }
    GlobalTensor<half> xs, ys;
    xs.SetGlobalBuffer((__gm__ half*)x, TOTAL + 512);
    ys.SetGlobalBuffer((__gm__ half*)y, TOTAL);
    for (uint32_t s = 0; s < slots; ++s) {
        SetFlag<HardEvent::V_MTE2>(s);
        SetFlag<HardEvent::MTE3_V>(s);
    }
    for (uint32_t i = 0; i < SHARE / tile; ++i) {
        const uint32_t s = i % slots, at = GetBlockIdx() * SHARE + i * tile;
        LocalTensor<half> a = from[s].Get<half>(), b = to[s].Get<half>();
        WaitFlag<HardEvent::V_MTE2>(s);
        DataCopy(a, xs[at + shift], tile);
        SetFlag<HardEvent::MTE2_V>(s);
        WaitFlag<HardEvent::MTE2_V>(s);
        WaitFlag<HardEvent::MTE3_V>(s);
        if (work == 0) Adds(b, a, (half)1, tile);
        if (work == 1) { Exp(b, a, tile); Ln(b, b, tile); }
        if (work == 2) {
            for (uint32_t k = 0; k < tile; ++k) b.SetValue(k, a.GetValue(k));
        }
        SetFlag<HardEvent::V_MTE2>(s);
        SetFlag<HardEvent::V_MTE3>(s);
        WaitFlag<HardEvent::V_MTE3>(s);
        DataCopy(ys[at], b, tile);
        SetFlag<HardEvent::MTE3_V>(s);
    }
    for (uint32_t s = 0; s < slots; ++s) {
        WaitFlag<HardEvent::V_MTE2>(s);
        WaitFlag<HardEvent::MTE3_V>(s);
    }
"""

DEPTH = 1024
ROWS = 24 * 128

#: 128 rows and all 128 columns of a product per core, along k in steps.
CUBE = (
    """
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);
    __gm__ int32_t* p = (__gm__ int32_t*)parameters;
    const uint16_t step = p[0], slots = p[1];
    TPipe pipe;
"""
    + BUFFERS
    + """
    pipe.InitBuffer(a1, 65536);
    pipe.InitBuffer(b1, 65536);
    pipe.InitBuffer(a2, 65536);
    pipe.InitBuffer(b2, 65536);
    pipe.InitBuffer(co1, 65536);
    GlobalTensor<half> as, bs;
    GlobalTensor<float> cs;
    as.SetGlobalBuffer((__gm__ half*)a, ROWS * DEPTH);
    bs.SetGlobalBuffer((__gm__ half*)b, DEPTH * 128);
    cs.SetGlobalBuffer((__gm__ float*)y, ROWS * 128);
    LocalTensor<float> sums = co1.Get<float>();
    const uint32_t first = GetBlockIdx() * 128, piece = 128 * step;
    for (uint32_t s = 0; s < slots; ++s) {
        SetFlag<HardEvent::MTE1_MTE2>(s);
        SetFlag<HardEvent::M_MTE1>(s);
    }
    for (uint32_t i = 0; i < DEPTH / step; ++i) {
        const uint32_t s = i % slots;
        LocalTensor<half> left1 = a1.Get<half>()[s * piece], right1 = b1.Get<half>()[s * piece];
        LocalTensor<half> left2 = a2.Get<half>()[s * piece], right2 = b2.Get<half>()[s * piece];
        WaitFlag<HardEvent::MTE1_MTE2>(s);
        DataCopy(left1, as[first * DEPTH + i * step], Nd2NzParams{1, 128, step, 0, DEPTH, 128, 1, 0});
        DataCopy(right1, bs[i * step * 128], Nd2NzParams{1, step, 128, 0, 128, step, 1, 0});
        SetFlag<HardEvent::MTE2_MTE1>(s);
        WaitFlag<HardEvent::MTE2_MTE1>(s);
        WaitFlag<HardEvent::M_MTE1>(s);
        LoadData2DParams load;
        load.repeatTimes = step / 16;
        load.srcStride = 8;
        for (uint32_t r = 0; r < 8; ++r) LoadData(left2[r * step * 16], left1[r * 256], load);
        load.repeatTimes = 8;
        load.srcStride = step / 16;
        load.ifTranspose = true;
        for (uint32_t r = 0; r < step / 16; ++r) LoadData(right2[r * 8 * 256], right1[r * 256], load);
        SetFlag<HardEvent::MTE1_MTE2>(s);
        SetFlag<HardEvent::MTE1_M>(s);
        WaitFlag<HardEvent::MTE1_M>(s);
        MmadParams product;
        product.m = product.n = 128;
        product.k = step;
        product.cmatrixInitVal = i == 0;
        Mmad(sums, left2, right2, product);
        SetFlag<HardEvent::M_MTE1>(s);
    }
    SetFlag<HardEvent::M_FIX>(0);
    WaitFlag<HardEvent::M_FIX>(0);
    Fixpipe<float, float, CFG_ROW_MAJOR>(cs[first * 128], sums, FixpipeParamsV220(128, 128, 128, 128, false));
    for (uint32_t s = 0; s < slots; ++s) {
        WaitFlag<HardEvent::MTE1_MTE2>(s);
        WaitFlag<HardEvent::M_MTE1>(s);
    }
"""
)

RANDOM = np.random.default_rng(5)
A = RANDOM.integers(-2, 3, (ROWS, DEPTH)).astype(np.float16)
B = RANDOM.integers(-2, 3, (DEPTH, 128)).astype(np.float16)


class Kernels:
    """Profiles by parameters, each computed when it is first asked for."""

    def __init__(self) -> None:
        self.executor = TwinExecutor(TwinArgs())
        self.known: dict[tuple[str, tuple[int, ...]], Profile] = {}

    @cached_property
    def twin(self) -> Twin:
        return Twin(self.executor)

    def vector(self, tile: int, slots: int, shift: int = 0, work: int = 1) -> float:
        x = np.ones(TOTAL + 512, np.float16)
        outputs = {"y": ((TOTAL,), DType.FLOAT16)}
        sizes = f"#define TOTAL {TOTAL}\n#define SHARE {SHARE}"
        return self._of(VECTOR, {"x": x}, outputs, sizes, (tile, slots, shift, work)).time_us

    def cube(self, step: int, slots: int) -> Profile:
        sizes = f"#define ROWS {ROWS}\n#define DEPTH {DEPTH}"
        return self._of(CUBE, {"a": A, "b": B}, {"y": ((ROWS, 128), DType.FLOAT32)}, sizes, (step, slots))

    def _of(self, body: str, inputs: Inputs, outputs: Outputs, before: str, parameters: tuple[int, ...]) -> Profile:
        if (body, parameters) not in self.known:
            given = {**inputs, "parameters": np.array([*parameters, 0, 0, 0, 0], np.int32)}
            done = self.twin.run(body, given, outputs, before=before, block=None)
            assert done.seen is not None, done.compiled
            assert done.seen.profile is not None, [str(diagnostic) for diagnostic in done.diagnostics]
            assert not done.errors
            if body == CUBE:
                assert np.array_equal(done.output(), A.astype(np.float32) @ B.astype(np.float32))
            self.known[body, parameters] = done.seen.profile
        return self.known[body, parameters]


@pytest.fixture(scope="module")
def kernels() -> Iterator[Kernels]:
    made = Kernels()
    yield made
    made.executor.close()


@pytest.mark.parametrize("work", [0, 1, 2])
@pytest.mark.parametrize("tile", [256, 1024, 4096])
def test_double_buffering_by_hand_never_costs_time(kernels: Kernels, tile: int, work: int) -> None:
    """But for the four flags that two more slots need, where the scalar unit does everything."""
    flags_us = 4 * 4 / 1.8e3 if work == 2 else 0
    assert kernels.vector(tile, 2, work=work) <= kernels.vector(tile, 1, work=work) + flags_us


@pytest.mark.parametrize("work", [0, 1])
def test_larger_tiles_and_aligned_transfers_are_faster(kernels: Kernels, work: int) -> None:
    for slots in (1, 2):
        small, middle = (kernels.vector(tile, slots, work=work) for tile in (256, 1024))
        assert middle < small
        assert middle <= kernels.vector(1024, slots, shift=16, work=work) * 1.01


def test_vector_instructions_are_faster_than_element_access(kernels: Kernels) -> None:
    assert 10 * kernels.vector(1024, 2, work=0) < kernels.vector(1024, 2, work=2)


@pytest.mark.parametrize("step", [16, 64, 128])
def test_two_halves_of_l0_never_cost_time(kernels: Kernels, step: int) -> None:
    assert kernels.cube(step, 2).time_us <= kernels.cube(step, 1).time_us


@pytest.mark.parametrize("slots", [1, 2])
def test_larger_steps_along_k_are_faster(kernels: Kernels, slots: int) -> None:
    times = [kernels.cube(step, slots).time_us for step in (16, 64, 128)]
    assert times == sorted(times, reverse=True)


def test_products_take_no_less_than_the_cube_unit_needs(kernels: Kernels) -> None:
    """By hand: 128 × 128 × 1024 products per core, 4096 in a cycle of 1.8 GHz."""
    for step in (64, 128):
        measured = kernels.cube(step, 2)
        busy_us = measured.counters["aic_cube_time"]
        assert busy_us == pytest.approx(128 * 128 * DEPTH / 4096 / 1.8e3, rel=0.01)
        assert measured.time_us > busy_us
        assert measured.counters["GM_to_L1_datas_kb"] == 24 * (128 + 128) * DEPTH * 2 / 1024
        assert measured.counters["L0C_to_GM_datas_kb"] == ROWS * 128 * 4 / 1024
        assert "GM_to_UB_datas_kb" not in measured.counters
