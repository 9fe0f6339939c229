"""Ways to break the rules of memory and of order, for test_rules.py: see there what their kernels may use."""

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
    Breach(
        "missing_sync", "Abs(a, a, 8);\nDataCopy(to, a, 8);  // here", "pipe MTE3 reads 32", warning=True, twin="full"
    ),
    Breach(
        "missing_sync",
        "DataCopy(a, from, 8);\nAbs(b, a, 64);  // here",
        "MTE2 may still be writing",
        warning=True,
        twin="full",
    ),
    Breach(
        "missing_sync",
        "DataCopy(to, a, 8);\nAbs(a, b, 8);  // here",
        "MTE3 may still be reading",
        warning=True,
        twin="full",
    ),
    Breach(
        "missing_sync",
        "DataCopy(a, from, 8);\nDataCopy(a, from[8], 8);  // here",
        "pipe MTE2 writes",
        warning=True,
        twin="full",
    ),
    Breach(
        "missing_sync",
        "DataCopy(to, a, 8);\nDataCopy(b, to, 8);  // here",
        "at offset 0 of 'y'",
        warning=True,
        twin="full",
    ),
    Breach("pipe_race", "Abs(a, a, 8);\nDataCopy(to, a, 8);  // here", "V may still be writing", twin="strict"),
    Breach("pipe_race", "Abs(a, a, 8);\nAbs(b, a, 8);  // here", "V may still be writing", twin="strict"),
    Breach("pipe_race", "Abs(a, a, 8);\na.GetValue(0);  // here", "pipe S reads", twin="strict"),
    Breach("pipe_race", "a.SetValue(0, 1.0f);\nAbs(a, a, 8);  // here", "S may still be writing", twin="strict"),
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
