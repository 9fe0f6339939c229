"""Structures that a kernel gives to the API by address: the runtime reads them only where the kernel itself may.

Through ``*(Params*)address`` a kernel would have memory of the process read for it, which the outputs then show.
"""

from __future__ import annotations

import platform

import numpy as np
import pytest

from npukernelbench.nouns import DType, Outcome
from tests.twin.running import Twin

pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="accesses are proved on x86-64")

OPENING = """
TPipe pipe;
TBuf<TPosition::VECCALC> buf;
pipe.InitBuffer(buf, 4096);
LocalTensor<uint64_t> t = buf.Get<uint64_t>();
GlobalTensor<uint64_t> in, out;
in.SetGlobalBuffer((__gm__ uint64_t*)x);
out.SetGlobalBuffer((__gm__ uint64_t*)y);
const uint64_t elsewhere = (uint64_t)&npukb_block_idx & ~4095ull;
DataCopyParams copy{1, 4, 0, 0};
DataCopyExtParams rows{1, 8, 0, 0, 0};
DataCopyPadExtParams<uint64_t> pad{true, 0, 1, 0};
UnaryRepeatParams steps{1, 1, 8, 8};
VdeqInfo info{};
LocalTensor<float> f = buf.Get<float>();
"""
CLOSING = "\nPipeBarrier<PIPE_ALL>();\nout.SetValue(0, t.GetValue(0));"
#: Calls, and the structure that each of them is given.
CALLS = {
    "SetDeqScale(t, GIVEN);": ("info", "VdeqInfo"),
    "DataCopy(t, in, GIVEN);": ("copy", "DataCopyParams"),
    "DataCopyPad(t, in, GIVEN, pad);": ("rows", "DataCopyExtParams"),
    "DataCopyPad(t, in, rows, GIVEN);": ("pad", "DataCopyPadExtParams<uint64_t>"),
    "Duplicate(f, 1.0f, 64); Abs(f, f, 64, 1, GIVEN);": ("steps", "UnaryRepeatParams"),
}


def test_structures_of_the_runtime_are_not_read() -> None:
    twin = Twin()
    inputs, outputs = {"x": np.arange(16, dtype=np.uint64)}, {"y": ((16,), DType.UINT64)}
    try:
        for call, (own, kind) in CALLS.items():
            for given, expected in ((own, Outcome.OK), (f"*({kind}*)elsewhere", Outcome.CRASH)):
                done = twin.run(OPENING + call.replace("GIVEN", given) + CLOSING, inputs, outputs)
                assert done.outcome is expected, (call, given, [str(diagnostic) for diagnostic in done.diagnostics])
    finally:
        twin.executor.close()
