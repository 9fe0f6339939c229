"""Queues and pools: every way to allocate, pass on and give back, and the pipes that a queue ties together."""

from __future__ import annotations

import numpy as np

from npukernelbench.nouns import DType
from tests.twin.running import Twin
from tests.twin.test_move_tensor import check

F32 = DType.FLOAT32
N = 64
TENSORS = """GlobalTensor<float> ga, gy;
ga.SetGlobalBuffer((__gm__ float*)a);
gy.SetGlobalBuffer((__gm__ float*)y);
"""


def moved(twin: Twin, body: str, before: str = "") -> None:
    """The kernel must copy 64 floats from a to y, doubled."""
    a = np.arange(N, dtype=np.float32)
    done = twin.run("TPipe pipe;\n" + TENSORS + body, {"a": a}, {"y": ((N,), F32)}, before=before)
    assert not done.diagnostics, [str(diagnostic) for diagnostic in done.diagnostics]
    assert np.array_equal(np.asarray(done.output()), 2 * a)


def test_in_place_queues(twin: Twin) -> None:
    moved(
        twin,
        """TQue<TPosition::VECIN, 0> in;
        TQue<TPosition::VECOUT, 0> out;
        pipe.InitBuffer(in, 2, 256);
        pipe.InitBuffer(out, 2, 256);
        LocalTensor<float> x, z;
        for (int i = 0; i < 4; ++i) {
            in.AllocTensor<float>(x);
            DataCopy(x, ga[16 * i], 16);
            in.EnQue(x);
            in.DeQue<float>(x);
            out.AllocTensor<float>(z);
            Add(z, x, x, 16);
            out.EnQue(z);
            in.FreeTensor(x);
            out.DeQue<float>(z);
            DataCopy(gy[16 * i], z, 16);
            out.FreeTensor(z);
        }""",
    )


def test_a_queue_that_binds_in_and_out(twin: Twin) -> None:
    """One tensor goes in, is worked on and goes out: the positions name the pipes of each step."""
    moved(
        twin,
        """TQueBind<TPosition::VECIN, TPosition::VECOUT, 1> both;
        pipe.InitBuffer(both, 1, 256);
        LocalTensor<float> x = both.AllocTensor<float>();
        DataCopy(x, ga, 64);
        both.EnQue<TPosition::GM, TPosition::VECIN, float>(x);
        x = both.DeQue<TPosition::GM, TPosition::VECIN, float>();
        Add(x, x, x, 64);
        both.EnQue<TPosition::VECOUT, TPosition::GM, float>(x);
        x = both.DeQue<TPosition::VECOUT, TPosition::GM, float>();
        DataCopy(gy, x, 64);
        both.FreeTensor(x);""",
    )


def test_queues_with_a_configuration_and_buffers_without_a_type(twin: Twin) -> None:
    moved(
        twin,
        """TQue<TPosition::VECIN, 1, &kConfig> in;
        TQue<TPosition::VECOUT, 1, 1> out;
        pipe.InitBuffer(in, 1, 256);
        pipe.InitBuffer(out, 1, 256);
        LocalTensor<float> x = in.AllocTensor<float>();
        DataCopy(x, ga, 64);
        in.EnQue(x);
        in.DeQue();
        TBufHandle raw = out.AllocBuffer();
        out.EnQue(raw);
        LocalTensor<float> z = out.DeQue<float>();
        Add(z, x, x, 64);
        in.template FreeTensor(x);
        out.EnQue(z);
        raw = out.DeQue();
        DataCopy(gy, z, 64);
        out.FreeBuffer(raw);
        out.FreeAllEvent();""",
        before="constexpr TQueConfig kConfig = {false, false, false, 0, 1, 0, {TPosition::MAX, TPosition::MAX}};",
    )


def test_queries(twin: Twin) -> None:
    check(
        twin,
        """TQue<TPosition::VECIN, 2> q;
        pipe.InitBuffer(q, 3, 32);
        LocalTensor<int32_t> a = q.AllocTensor<int32_t>(), b = q.AllocTensor<int32_t>();
        bool idle = q.HasIdleBuffer(), empty = q.HasTensorInQue();
        a.SetUserTag(5);
        q.EnQue(a);
        bool vacant = q.VacantInQue();
        q.EnQue(b);
        int count = q.GetTensorCountInQue();
        bool full = !q.VacantInQue();
        LocalTensor<int32_t> first = q.DeQue<int32_t>(), second = q.DeQue<int32_t>();
        int tag = first.GetUserTag(), position = first.GetPosition();
        q.FreeTensor(first);
        q.FreeTensor(second);
        TSCM<TPosition::VECIN> scm;
        pipe.InitBuffer(scm, 1, 64);""",
        {
            "idle": 1, "empty": 0, "vacant": 1, "count": 2, "full": 1, "tag": 5, "second.GetUserTag()": 0,
            "position == (int)TPosition::VECIN": 1, "first.GetPhyAddr() == a.GetPhyAddr()": 1,
        },
    )  # fmt: skip


def test_pools_share_memory(twin: Twin) -> None:
    """Two pools at one place, each with queues of its own, used in turn more often than there are buffer numbers."""
    moved(
        twin,
        """TBufPool<TPosition::VECCALC> pool, first, second;
        TQue<TPosition::VECIN, 1> in;
        TQue<TPosition::VECOUT, 1> out;
        TBuf<TPosition::VECCALC> work;
        pipe.InitBufPool(pool, 4096);
        pool.InitBuffer(work, 32);
        LocalTensor<float> none = work.Get<float>();
        for (int i = 0; i < 80; ++i) {
            pool.InitBufPool(first, 1024);
            pool.InitBufPool(second, 512, first);
            first.InitBuffer(in, 1, 512);
            LocalTensor<float> x = in.AllocTensor<float>();
            if (x.GetPhyAddr() != none.GetPhyAddr() + 32) return;
            DataCopy(x, ga, 64);
            in.EnQue(x);
            x = in.DeQue<float>();
            in.FreeTensor(x);
            first.Reset();
            second.InitBuffer(out, 2, 256);
            LocalTensor<float> z = out.AllocTensor<float>();
            if (z.GetPhyAddr() != x.GetPhyAddr()) return;
            Add(z, z, z, 64);
            out.EnQue(z);
            z = out.DeQue<float>();
            DataCopy(gy, z, 64);
            out.FreeTensor(z);
            second.Reset();
            pool.Reset();
            pool.InitBuffer(work, 32);
        }
        pipe.Reset();
        pipe.InitBuffer(in, 1, 190000);
        pipe.Destroy();
        pipe.Init();
        pipe.InitBuffer(in, 1, 190000);""",
    )


def test_pipes_of_a_queue_decide_its_times(twin: Twin) -> None:
    """A copy in and out through one bound queue waits for no vector work; through two queues it does."""
    kernels = {
        "bound": """TQueBind<TPosition::VECIN, TPosition::VECOUT, 1> q;
            pipe.InitBuffer(q, 1, 65536);
            LocalTensor<float> x = q.AllocTensor<float>();
            DataCopy(x, ga, 64);
            q.EnQue(x);
            x = q.DeQue<float>();""",
        "in": """TQue<TPosition::VECIN, 1> q;
            pipe.InitBuffer(q, 1, 65536);
            LocalTensor<float> x = q.AllocTensor<float>();
            DataCopy(x, ga, 64);
            q.EnQue(x);
            x = q.DeQue<float>();
            Add(x, x, x, 64);
            SetFlag<HardEvent::V_MTE3>(0);
            WaitFlag<HardEvent::V_MTE3>(0);""",
    }
    times = {}
    for name, body in kernels.items():
        source = (
            "TPipe pipe;\n" + TENSORS
            + "TBuf<TPosition::VECCALC> b;\npipe.InitBuffer(b, 65536);\nLocalTensor<float> w = b.Get<float>();\n"
            + "Duplicate(w, 1.0f, 16384);\nfor (int i = 0; i < 20; ++i) Exp(w, w, 16384);\n"
            + body + "for (int i = 0; i < 3; ++i) DataCopy(gy, x, 16384);\nq.FreeTensor(x);"
        )  # fmt: skip
        done = Twin(twin.executor).run(source, {"a": np.zeros(N, np.float32)}, {"y": ((16384,), F32)})
        assert done.seen is not None
        assert done.seen.profile is not None
        times[name] = done.seen.profile.time_us
    assert times["bound"] < 0.9 * times["in"]
