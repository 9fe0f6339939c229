"""A pipe that is a part of an object: what its queues work with comes from memory at every operation."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from npukb_twin.timing.machine import load
from npukernelbench.nouns import DType

if TYPE_CHECKING:
    from tests.twin.running import Twin

TILES, TILE = 16, 1024
#: An object with queues, and with the pipe or with a pointer to one. Constructors are found by their names: this one
#: has parameters of templates, and a namespace, and a function that could be taken for one.
OBJECT = """
enum class Way { Forth = 9, Back };
template <typename T> struct Pair { T first, second; };
namespace work {
template <typename T, Way way, int buffers, bool held>
class FooC2E {
  public:
    __aicore__ inline FooC2E() {}
    template <typename P>
    __aicore__ inline void run(P& pipe, GM_ADDR x, GM_ADDR y) {
        pipe.InitBuffer(in_, buffers, TILE * sizeof(T));
        pipe.InitBuffer(out_, buffers, TILE * sizeof(T));
        GlobalTensor<T> from, to;
        from.SetGlobalBuffer((__gm__ T*)x);
        to.SetGlobalBuffer((__gm__ T*)y);
        for (int i = 0; i < TILES; ++i) {
            LocalTensor<T> a = in_.template AllocTensor<T>();
            DataCopy(a, from[i * TILE], TILE);
            in_.EnQue(a);
            a = in_.template DeQue<T>();
            LocalTensor<T> b = out_.template AllocTensor<T>();
            Adds(b, a, (T)1, TILE);
            in_.FreeTensor(a);
            out_.EnQue(b);
            b = out_.template DeQue<T>();
            DataCopy(to[i * TILE], b, TILE);
            out_.FreeTensor(b);
        }
    }
    TQue<TPosition::VECIN, 1> in_;
    TQue<TPosition::VECOUT, 1> out_;
};
}
template <typename T, Way way>
class Whole : public Pair<T> {
  public:
    __aicore__ inline void Run(GM_ADDR x, GM_ADDR y) { inner_.run(pipe_, x, y); }
    TPipe pipe_;
    work::FooC2E<T, way, 2, true> inner_;
};
template <typename T>
struct Shell {
    __aicore__ inline void run(GM_ADDR x, GM_ADDR y) {
        TPipe pipe;  // of a function, not of the object
        inner.run(pipe, x, y);
    }
    work::FooC2E<T, Way::Back, 2, false> inner;
};
"""
INSIDE = "Whole<half, Way::Forth> op; op.Run(x, y);"
OUTSIDE = "TPipe pipe; work::FooC2E<half, Way::Forth, 2, true> op; op.run(pipe, x, y);"
IN_A_FUNCTION = "Shell<half> op; op.run(x, y);"
AGAIN = """
    {
        Whole<half, Way::Forth> op;
        op.Run(x, y);
    }
    TPipe pipe;
    work::FooC2E<half, Way::Forth, 2, true> op;
    op.run(pipe, x, y);
"""


def scalar_us(twin: Twin, body: str) -> float:
    """The time of the scalar unit of the core that works, and of all others until they end."""
    before = f"constexpr int TILES = {TILES}, TILE = {TILE};\n{OBJECT}"
    done = twin.run(
        body, {"x": np.zeros(TILES * TILE, np.float16)}, {"y": ((TILES * TILE,), DType.FLOAT16)}, before=before
    )
    assert done.seen is not None
    assert done.seen.profile is not None
    assert (done.output() == 1).all()
    return done.seen.profile.counters["aiv_scalar_time"] * load("ascend910b2").vector_cores


def test_queues_beside_their_pipe_take_more_of_the_scalar_unit(twin: Twin) -> None:
    machine = load("ascend910b2").numbers
    outside = scalar_us(twin, OUTSIDE)
    assert scalar_us(twin, IN_A_FUNCTION) == pytest.approx(outside, abs=0.01)
    reloads = TILES * 8 * 2  # two numbers for each of eight operations
    more = reloads * (machine["dcache_hit_cycles"] + machine["scalar_operation_cycles"]) / machine["clock_hz"] * 1e6
    assert scalar_us(twin, INSIDE) - outside == pytest.approx(more, rel=0.05)


def test_a_pipe_of_its_own_after_one_inside_an_object(twin: Twin) -> None:
    """The object's pipe is gone by then."""
    machine = load("ascend910b2")
    start = machine.numbers["start_s"] * machine.vector_cores * 1e6
    both = scalar_us(twin, INSIDE) + scalar_us(twin, OUTSIDE) - start
    assert scalar_us(twin, AGAIN) == pytest.approx(both, abs=0.1)
