"""What makes a kernel faster on the device never makes it slower here: one kernel, many tilings.

The sizes are such that every core has many tiles: with few of them, larger ones leave less to overlap, and the machine
says so.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pytest

from npukb_twin.executor import TwinArgs, TwinExecutor
from npukernelbench.nouns import DType
from tests.twin.running import Inputs, Twin

TOTAL = 3 << 20  # halfs
OUTPUTS = {"y": ((TOTAL,), DType.FLOAT16)}
X = np.zeros(TOTAL + 512, np.float16)

#: A copy through UB with work in between; everything else is a parameter.
KERNEL = """
    __gm__ int32_t* p = (__gm__ int32_t*)parameters;
    const uint32_t tile = p[0], buffers = p[1], shift = p[2], cores = p[3], work = p[4];
    if (GetBlockIdx() >= cores) return;
    const uint32_t share = TOTAL / cores / 32768 * 32768;
    TPipe pipe;
    TQue<TPosition::VECIN, 1> in;
    TQue<TPosition::VECOUT, 1> out;
    pipe.InitBuffer(in, buffers, tile * sizeof(half));
    pipe.InitBuffer(out, buffers, tile * sizeof(half));
    GlobalTensor<half> xs, ys;
    xs.SetGlobalBuffer((__gm__ half*)x, TOTAL + 512);
    ys.SetGlobalBuffer((__gm__ half*)y, TOTAL);
    for (uint32_t i = 0; i < share; i += tile) {
        const uint32_t at = GetBlockIdx() * share + i;
        LocalTensor<half> a = in.AllocTensor<half>();
        DataCopy(a, xs[at + shift], tile);
        in.EnQue(a);
        a = in.DeQue<half>();
        LocalTensor<half> b = out.AllocTensor<half>();
        if (work == 0) Adds(b, a, (half)1, tile);
        if (work == 1) Exp(b, a, tile);
        if (work == 2) { Exp(b, a, tile); Ln(b, b, tile); Sqrt(b, b, tile); }
        if (work == 3) { PipeBarrier<PIPE_ALL>(); Exp(b, a, tile); PipeBarrier<PIPE_ALL>(); }
        out.EnQue(b);
        in.FreeTensor(a);
        b = out.DeQue<half>();
        DataCopy(ys[at], b, tile);
        out.FreeTensor(b);
    }
"""


class Tiling(NamedTuple):
    """Elements of a tile, buffers per queue, elements that the input begins late, cores, kind of work."""

    tile: int = 1024
    buffers: int = 1
    shift: int = 0
    cores: int = 48
    work: int = 1


class Times(dict[Tiling, float]):
    """Predicted times in us, each computed when it is first asked for."""

    def __init__(self, twin: Twin) -> None:
        super().__init__()
        self.twin = twin

    def __missing__(self, tiling: Tiling) -> float:
        inputs: Inputs = {"x": X, "parameters": np.array([*tiling, 0, 0, 0], np.int32)}
        done = self.twin.run(KERNEL, inputs, OUTPUTS, before=f"#define TOTAL {TOTAL}", block=None)
        assert done.seen is not None, done.compiled
        assert done.seen.profile is not None, [str(diagnostic) for diagnostic in done.diagnostics]
        self[tiling] = done.seen.profile.time_us
        return self[tiling]


@pytest.fixture(scope="module")
def times() -> Iterator[Times]:
    executor = TwinExecutor(TwinArgs())
    yield Times(Twin(executor))
    executor.close()


#: Fixed costs of transfers, memory, and arithmetic: each is what binds somewhere.
TILINGS = [
    Tiling(tile=tile, cores=cores, work=work) for tile in (256, 1024, 4096) for cores in (8, 48) for work in (0, 2)
]


@pytest.mark.parametrize("tiling", TILINGS, ids=str)
def test_a_second_buffer_never_costs_time(times: Times, tiling: Tiling) -> None:
    for shift in (0, 16):
        base = tiling._replace(shift=shift)
        assert times[base._replace(buffers=2)] <= times[base]


@pytest.mark.parametrize("tiling", TILINGS, ids=str)
def test_aligned_transfers_are_never_slower(times: Times, tiling: Tiling) -> None:
    for buffers in (1, 2):
        base = tiling._replace(buffers=buffers)
        assert times[base] <= times[base._replace(shift=16)] * 1.01  # a core may find the end of its part in L2


@pytest.mark.parametrize("tiling", [tiling for tiling in TILINGS if tiling.tile < 4096], ids=str)
def test_larger_tiles_are_faster_as_long_as_there_are_many(times: Times, tiling: Tiling) -> None:
    for buffers in (1, 2):
        base = tiling._replace(buffers=buffers)
        larger = base._replace(tile=2 * base.tile)
        assert TOTAL // (larger.tile * larger.cores) >= 16
        assert times[larger] < times[base]


@pytest.mark.parametrize("tiling", [tiling for tiling in TILINGS if tiling.cores == 8 and tiling.tile < 4096], ids=str)
def test_more_cores_are_faster_where_memory_is_not_what_binds(times: Times, tiling: Tiling) -> None:
    assert times[tiling._replace(cores=48)] < times[tiling] / 3


@pytest.mark.parametrize("tile", [256, 1024, 4096])
def test_barriers_and_more_work_never_save_time(times: Times, tile: int) -> None:
    for buffers in (1, 2):
        light, middle, heavy, barred = (times[Tiling(tile=tile, buffers=buffers, work=work)] for work in range(4))
        assert light <= middle <= heavy
        assert middle <= barred
