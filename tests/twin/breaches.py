"""Ways to break the rules of memory, order, buffers and flags: test_rules.py says what their kernels may use."""

from __future__ import annotations

from typing import NamedTuple


class Breach(NamedTuple):
    """A way to break a rule. The line that ends in ``// here`` is the one to name; ``text`` is part of the message."""

    rule: str
    body: str
    text: str
    warning: bool = False
    blocks: int | None = 0
    twin: str = "fast"  # which of TWINS breaks it
    cube: bool = False  # on a cube core, with the setup of breaches_cube.py


#: Types that a kernel declares: without flags between cores, and with them.
TYPE = "KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_{});\n"
ALONE, FLAGS = TYPE.format("AIV_ONLY"), TYPE.format("MIX_AIV_1_0")

OF_MEMORY = (
    # who may use a buffer, and when
    Breach(
        "cross_buffer",
        "LocalTensor<float> t = a;\nt.SetSize(2048);\nAbs(t, t, 1032);  // here",
        "ends at 4096",
        warning=True,
    ),
    Breach(
        "use_after_free",
        """
        pipe.InitBuffer(in, 1, 32);
        LocalTensor<float> t = in.AllocTensor<float>();
        in.FreeTensor(t);
        Abs(a, t, 8);  // here
        """,
        "has been freed",
        warning=True,
    ),
    Breach(
        "access_before_deque",
        """
        pipe.InitBuffer(in, 1, 32);
        LocalTensor<float> t = in.AllocTensor<float>();
        DataCopy(t, from, 8);
        in.EnQue(t);
        PipeBarrier<PIPE_ALL>();
        Abs(a, t, 8);  // here
        t = in.DeQue<float>();
        in.FreeTensor(t);
        """,
        "lies in a VECIN queue",
        warning=True,
        twin="full",
    ),
    Breach(
        "access_before_deque",
        """
        pipe.InitBuffer(out, 1, 32);
        LocalTensor<float> t = out.AllocTensor<float>();
        out.EnQue(t);
        Duplicate(t, 1.0f, 8);  // here
        t = out.DeQue<float>();
        out.FreeTensor(t);
        """,
        "writes to a tensor that lies in a VECOUT queue",
        warning=True,
    ),
    Breach(
        "gm_out_of_bounds",
        "to[reinterpret_cast<float*>(x) - reinterpret_cast<float*>(y)].SetValue(3, 1.0f);  // here",
        "of 'y', which has 2048: that is in 'x'",
    ),
    # undefined memory
    Breach("uninitialized_read", "DataCopy(to, blank, 8);  // here", "stay undefined", warning=True, twin="full"),
    Breach(
        "uninitialized_read",
        "Adds(b, blank, 1.0f, 64);\nMuls(b, b, 2.0f, 32);\nPipeBarrier<PIPE_ALL>();\nDataCopy(to, b[56], 8);  // here",
        "bytes 0 to 32 of 'y'",
        warning=True,
        twin="full",
    ),
    Breach(
        "uninitialized_read",
        """
        DataCopyPad(b, from, {1, 20, 0, 0, 0}, {false, 0, 0, 0});
        PipeBarrier<PIPE_ALL>();
        DataCopy(to, b, 8);  // here
        """,
        "bytes 20 to 32 of 'y'",
        warning=True,
        twin="full",
    ),
    Breach("uninitialized_read", "ReduceSum(b, blank, a, 64);  // here", "element 0 of src", warning=True, twin="full"),
    Breach("uninitialized_read", "blank.GetValue(3);  // here", "UB offset 4108", warning=True, twin="full"),
    Breach("uninitialized_read", "slots.GetValue(3);  // here", "offset 12 of 'workspace'", warning=True, twin="full"),
)

OF_ORDER = (
    # order inside a core
    Breach("missing_sync", "Abs(a, a, 8);\nDataCopy(to, a, 8);  // here", "pipe MTE3 reads 32"),
    Breach(
        "missing_sync",
        "DataCopy(a, from, 8);\nDataCopy(a, from[8], 8);  // here",
        "pipe MTE2 writes",
        warning=True,
        twin="full",
    ),
    Breach("missing_sync", "DataCopy(to, a, 8);\nDataCopy(b, to, 8);  // here", "at offset 0 of 'y'", twin="full"),
    Breach("missing_sync", "Abs(a, a, 8);\nDataCopy(to, a, 8);  // here", "V may still be writing", twin="strict"),
    Breach("missing_sync", "Abs(a, a, 8);\nAbs(b, a, 8);  // here", "V may still be writing", twin="strict"),
    Breach("missing_sync", "Abs(a, a, 8);\na.GetValue(0);  // here", "pipe S reads", twin="strict"),
    Breach("missing_sync", "a.SetValue(0, 1.0f);\nAbs(a, a, 8);  // here", "S may still be writing", twin="strict"),
    # order between cores
    Breach(
        "core_race",
        "Duplicate(a, 1.0f * GetBlockIdx(), 8);\nPipeBarrier<PIPE_ALL>();\nDataCopy(to, a, 8);  // here",
        "both write bytes 0 to 32 of 'y' and nothing orders them; they write different values",
        blocks=None,
        twin="full",
    ),
    Breach(
        "core_race",
        "DataCopy(to, a, 8);  // here",
        "both write bytes 0 to 32 of 'y' and nothing orders them",
        warning=True,
        blocks=None,
        twin="full",
    ),
    Breach(
        "core_race",
        """
        if (GetBlockIdx() == 3) {
            DataCopy(to, a, 8);  // here
        } else if (GetBlockIdx() == 5) {
            DataCopy(b, to, 16);
        }
        """,
        "blocks 3 and 5 write and read bytes 0 to 32",
        warning=True,
        blocks=None,
        twin="full",
    ),
    Breach(
        "cache_line_shared",
        "to.SetValue(GetBlockIdx(), 1.0f);  // here",
        "cache line of 64 bytes of 'y'",
        warning=True,
        blocks=None,
        twin="full",
    ),
)

#: Buffers and queues: how they are made, taken and given back.
OF_BUFFERS = (
    Breach("ub_overflow", "pipe.InitBuffer(in, 2, 98304);  // here", "do not fit", warning=True),
    Breach(
        "ub_overflow",
        "TBuf<TPosition::VECCALC> big;\npipe.InitBuffer(big, 200000);  // here",
        "200000 bytes",
        warning=True,
    ),
    Breach("two_pipes", "TPipe second;  // here", "second TPipe"),
    Breach("limit_exceeded", "pipe.InitBuffer(in, 0, 32);  // here", "at least one buffer"),
    Breach("limit_exceeded", "pipe.InitBuffer(in, 64, 32);  // here", "at most 64 buffers"),
    Breach(
        "limit_exceeded",
        """
        pipe.InitBuffer(in, 9, 32);
        for (int i = 0; i < 9; ++i) {
            in.AllocTensor<float>();  // here
        }
        """,
        "8 tensors of VECIN queues",
    ),
    Breach("queue_misuse", "in.AllocTensor<float>();  // here", "has no buffers"),
    Breach("queue_misuse", "in.DeQue<float>();  // here", "has no buffers"),
    Breach(
        "queue_misuse",
        """
        pipe.InitBuffer(in, 1, 32);
        in.AllocTensor<float>();
        in.AllocTensor<float>();  // here
        """,
        "all 1 buffers",
    ),
    Breach("queue_misuse", "pipe.InitBuffer(in, 1, 32);\nin.DeQue<float>();  // here", "empty VECIN queue"),
    Breach(
        "queue_misuse",
        """
        pipe.InitBuffer(in, 1, 32);
        LocalTensor<float> t = in.AllocTensor<float>();
        in.EnQue(t);
        in.EnQue(t);  // here
        """,
        "enqueued before",
    ),
    Breach(
        "queue_misuse",
        """
        pipe.InitBuffer(in, 1, 32);
        LocalTensor<float> t = in.AllocTensor<float>();
        in.FreeTensor(t);
        in.FreeTensor(t);  // here
        """,
        "free already",
    ),
    Breach(
        "queue_misuse",
        """
        pipe.InitBuffer(in, 1, 32);
        LocalTensor<float> t = in.AllocTensor<float>();
        in.EnQue(t);
        in.FreeTensor(t);  // here
        """,
        "still in the queue",
    ),
    Breach(
        "queue_misuse",
        """
        pipe.InitBuffer(in, 1, 32);
        pipe.InitBuffer(more, 1, 32);
        LocalTensor<float> t = in.AllocTensor<float>();
        more.EnQue(t);  // here
        """,
        "does not belong",
    ),
    Breach(
        "queue_misuse",
        """
        pipe.InitBuffer(in, 1, 32);
        pipe.InitBuffer(more, 1, 32);
        LocalTensor<float> t = in.AllocTensor<float>();
        more.FreeTensor(t);  // here
        """,
        "belongs to another VECIN queue",
        warning=True,
    ),
    Breach(
        "queue_leak",
        """
        pipe.InitBuffer(in, 1, 32);
        in.AllocTensor<float>();  // here
        """,
        "never freed",
        warning=True,
    ),
    Breach(
        "queue_leak",
        """
        pipe.InitBuffer(in, 1, 32);
        LocalTensor<float> t = in.AllocTensor<float>();  // here
        in.EnQue(t);
        """,
        "never dequeued",
        warning=True,
    ),
    Breach(
        "queue_full",
        """
        pipe.InitBuffer(in, 2, 32);
        LocalTensor<float> s = in.AllocTensor<float>(), t = in.AllocTensor<float>();
        in.EnQue(s);
        in.EnQue(t);  // here
        s = in.DeQue<float>();
        in.FreeTensor(s);
        in.FreeTensor(t);
        """,
        "has depth 1",
        warning=True,
    ),
    Breach(
        "queue_misuse",
        "TBufPool<TPosition::VECCALC> pool;\npool.InitBuffer(in, 1, 32);  // here",
        "pool that has no memory",
    ),
    Breach(
        "ub_overflow",
        """
        TBufPool<TPosition::VECCALC> pool;
        pipe.InitBufPool(pool, 1024);
        pool.InitBuffer(in, 2, 1024);  // here
        """,
        "the pool's 1024 bytes",
    ),
    Breach("misaligned", "buffer.GetWithOffset<float>(8, 4);  // here", "offset 4"),
    Breach("past_tensor", "buffer.GetWithOffset<float>(1024, 32);  // here", "of a buffer that has 4096", warning=True),
    Breach("division_by_zero", "volatile int zero = 0;\nvolatile int n = 1 / zero;  // here", "by zero", warning=True),
)

#: Flags between pipes, and barriers.
OF_FLAGS = (
    Breach("deadlock", "WaitFlag<HardEvent::V_MTE3>(0);  // here", "nothing sets this flag"),
    Breach("deadlock", "if (GetBlockIdx() % 2 == 0) {\n    SyncAll();  // here\n}", "wait here for ever", blocks=None),
    Breach("flag_task_type", ALONE + "CrossCoreSetFlag<0, PIPE_MTE3>(3);  // here", "vector cores alone"),
    Breach("flag_task_type", ALONE + "CrossCoreWaitFlag(3);  // here", "need KERNEL_TYPE_MIX_AIV_1_0"),
    Breach(
        "flag_task_type",
        "CrossCoreSetFlag<0, PIPE_MTE3>(3);  // here\nCrossCoreWaitFlag(3);",
        "declares no type",
        warning=True,
        blocks=None,
    ),
    Breach("bad_sync_mode", FLAGS + "CrossCoreSetFlag<2, PIPE_MTE3>(3);  // here", "mode 2 needs"),
    Breach("bad_event_id", FLAGS + "CrossCoreSetFlag<0, PIPE_MTE3>(16);  // here", "flag id 16"),
    Breach(
        "reserved_flag",
        FLAGS + "CrossCoreSetFlag<0, PIPE_MTE3>(12);  // here\nCrossCoreWaitFlag(12);",
        "flag id 12",
        warning=True,
        blocks=None,
    ),
    Breach(
        "limit_exceeded",
        FLAGS + "for (int i = 0; i < 16; ++i) {\n    CrossCoreSetFlag<0, PIPE_MTE3>(3);  // here\n}",
        "16 times without a wait",
    ),
    Breach("unpaired_flag", FLAGS + "CrossCoreSetFlag<0, PIPE_MTE3>(3);  // here", "cross-core flag 3", warning=True),
    Breach("bad_core_index", "SyncAll(slots, ub, 49);  // here", "usedCores is 49"),
    Breach("bad_core_index", "IBWait(slots, ub, 0, 0);  // here", "this is block 0"),
    Breach("bad_core_index", "IBSet(slots, ub, 48, 0);  // here", "block 48"),
    Breach("sync_not_zeroed", "SyncAll(slots, ub);  // here", "where the flag of block 0 lies"),
    Breach("sync_not_zeroed", "IBSet(slots, ub, 0, 1);  // here", "IBSet: gmWorkspace"),
    Breach("sync_not_zeroed", "WaitPreBlock(slots, ub);  // here", "not initialised by this block"),
    Breach("flag_set_twice", "SetFlag<HardEvent::V_S>(1);\nSetFlag<HardEvent::V_S>(1);  // here", "set already"),
    Breach("unpaired_flag", "SetFlag<HardEvent::V_S>(1);  // here", "never waited for", warning=True),
    Breach("bad_event_id", "SetFlag<HardEvent::V_S>(8);  // here", "event id 8"),
    Breach("bad_event_id", "WaitFlag<HardEvent::V_S>(-1);  // here", "event id -1"),
    Breach("bad_event_pair", "set_flag(PIPE_V, PIPE_M, 0);  // here", "no such event"),
    Breach("bad_event_pair", "wait_flag(PIPE_V, PIPE_V, 0);  // here", "no such event"),
    Breach(
        "limit_exceeded",
        """
        for (int i = 0; i < 9; ++i) {
            pipe.AllocEventID<HardEvent::V_S>();  // here
        }
        """,
        "all 8 event ids",
    ),
)
