"""Communication between ranks, of which the twin has one: what Hccl copies, and the order of its calls."""

from __future__ import annotations

import re

import numpy as np

from npukb_twin.executor import TwinArgs, TwinExecutor
from npukb_twin.launch.launching import Checker
from npukernelbench.nouns import DType, Outcome
from tests.twin.running import Finished, Outputs, Twin

X = np.arange(512, dtype=np.float32)
Y: Outputs = {"y": ((512,), DType.FLOAT32)}
TILING = """
struct Tiling { Mc2InitTiling init; Mc2CcTiling task; };
"""
OPEN = """
Tiling tiling;
Hccl hccl;
hccl.InitV2(GetHcclContext<0>(), &tiling);
if (hccl.SetCcTilingV2(offsetof(Tiling, task)) != HCCL_SUCCESS) return;
"""
SHOW = """
TPipe pipe;
TBuf<TPosition::VECCALC> memory;
pipe.InitBuffer(memory, 2048);
LocalTensor<float> t = memory.Get<float>();
GlobalTensor<float> r;
r.SetGlobalBuffer((__gm__ float*)y, 512);
"""


def run(twin: Twin, body: str, *, block: int | None = 0) -> Finished:
    return twin.run(body, {"x": X}, Y, before=TILING, block=block)


def test_a_rank_alone_gets_what_it_sends(twin: Twin) -> None:
    """Every collective, in rounds, by Commit or at once; types, offsets and numbers of ranks."""
    finished = run(
        twin,
        OPEN
        + """
        if (hccl.GetRankDim() != 1 || hccl.GetRankId() != 0) return;
        HcclHandle sum = hccl.AllReduce(x, y, 64, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, 2);
        HcclHandle all = hccl.AllGather<true>(x + 512, y + 512, 64, HcclDataType::HCCL_DATA_TYPE_INT32, 64);
        HcclHandle part = hccl.ReduceScatter(x + 768, y + 768, 128, HCCL_DATA_TYPE_FP16, HCCL_REDUCE_MAX, 128);
        HcclHandle each = hccl.AlltoAll<true>(x + 1024, y + 1024, 32, HCCL_DATA_TYPE_INT64, 0, 2);
        uint64_t counts[1] = {64}, from[1] = {64}, to[1] = {0};
        HcclHandle some = hccl.AlltoAllV<true>(x + 1280, counts, from, HCCL_DATA_TYPE_FP32, y + 1536, counts, to,
                                               HCCL_DATA_TYPE_FP32);
        hccl.Commit(sum);
        hccl.Commit(part);
        hccl.Commit(sum);
        for (HcclHandle handle : {sum, sum, all, part, each, each, some}) {
            if (hccl.Wait(handle) != HCCL_SUCCESS) return;
        }
        if (hccl.Query(each) != 2) return;
        hccl.Finalize();
        """,
    )
    assert np.array_equal(finished.output()[:448], X[:448])
    assert not np.array_equal(finished.output()[448:], X[448:])
    assert finished.found == []


def test_every_core_may_wait() -> None:
    """Core 0 gives the task; the others wait for it, then read its result; one that does not wait reads too early."""
    twin = Twin(TwinExecutor(TwinArgs(checker=Checker.FULL)), apart=True)
    read = SHOW + "DataCopy(t, r[8 * GetBlockIdx()], 8);\nDataCopy(w[8 * GetBlockIdx()], t, 8);\n"
    body = OPEN + (
        "HcclHandle handle = hccl.AllReduce<true>(x, y, 512, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM);\n"
        "GlobalTensor<float> w;\nw.SetGlobalBuffer((__gm__ float*)workspace, 4096);\n"
        "WAIT\n" + read + "SyncAll();\nhccl.Finalize();"
    )
    finished = run(twin, body.replace("WAIT", "hccl.Wait(handle);"), block=None)
    assert finished.outcome is Outcome.OK, [str(diagnostic) for diagnostic in finished.diagnostics]
    assert np.array_equal(finished.output(), X)
    finished = run(twin, body.replace("WAIT", "if (GetBlockIdx() == 0) hccl.Wait(handle);"), block=None)
    assert "core_race" in {diagnostic.rule for diagnostic in finished.diagnostics}
    twin.executor.close()


ORDER = {
    ("hccl_misuse", "AllReduce: the Hccl object is not initialised"): "Hccl hccl;\nREDUCE  // here",
    ("hccl_misuse", "AllReduce: the Hccl object has no tiling of a task"): (
        "Tiling tiling;\nHccl hccl;\nhccl.InitV2(GetHcclContext<1>(), &tiling);\nREDUCE  // here"
    ),
    ("hccl_misuse", "the context is no communicator"): "Tiling tiling;\nHccl hccl;\nhccl.InitV2(x, &tiling);  // here",
    ("hccl_misuse", "InitV2: the tiling lies in global memory"): (
        "Hccl hccl;\nhccl.InitV2(GetHcclContext<0>(), x);  // here"
    ),
    ("hccl_misuse", "SetCcTiling belongs to Init"): OPEN + "hccl.SetCcTiling(x);  // here",
    ("hccl_misuse", "has initialised an Hccl object before"): (
        OPEN + "Hccl other;\nother.InitV2(GetHcclContext<0>(), &tiling);  // here"
    ),
    ("hccl_misuse", "the handle 1 is that of no task"): OPEN + "REDUCE\nhccl.Commit(handle + 1);  // here",
    ("hccl_misuse", "has 1 rounds, and all are committed"): (
        OPEN + "REDUCE\nhccl.Commit(handle);\nhccl.Commit(handle);  // here"
    ),
    ("hccl_misuse", "has 1 rounds, and all have been waited for"): (
        OPEN + "REDUCE\nhccl.Commit(handle);\nhccl.Wait(handle);\nhccl.Wait(handle);  // here"
    ),
    ("hccl_misuse", "the task 1 is waited for before the task 0"): (
        OPEN
        + "REDUCE\nHcclHandle next = hccl.AllGather<true>(x, y, 8, HCCL_DATA_TYPE_FP32, 8);\nhccl.Wait(next);  // here"
    ),
    ("hccl_misuse", "Finalize has told the server to end"): OPEN + "hccl.Finalize();\nREDUCE  // here",
    ("hccl_misuse", "data type 4 with operation 1 is not supported"): (
        OPEN + "hccl.AllReduce(x, y, 8, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_PROD);  // here"
    ),
    ("hccl_misuse", "repeat is 0"): OPEN + "hccl.AlltoAll(x, y, 8, HCCL_DATA_TYPE_FP32, 0, 0);  // here",
    ("hccl_misuse", "sends itself 4 elements of type 4 and receives 8 of type 4"): (
        OPEN
        + "uint64_t a[] = {4}, b[] = {8}, o[] = {0};\n"
        + "hccl.AlltoAllV(x, a, o, HCCL_DATA_TYPE_FP32, y, b, o, HCCL_DATA_TYPE_FP32);  // here"
    ),
    ("hccl_misuse", "the kernel ended without Finalize"): OPEN + "REDUCE  // here",
    ("limit_exceeded", "a communicator takes 63 tasks at most"): (
        OPEN + "for (int i = 0; i < 64; ++i) {\nREDUCE  // here\n}"
    ),
    ("deadlock", "round 0 of the task 0 has not been committed"): OPEN + "REDUCE\nhccl.Wait(handle);  // here",
    ("deadlock", "Finalize: 0 of 1 rounds of the task 0 are committed"): OPEN + "REDUCE\nhccl.Finalize();  // here",
    ("hccl_misuse", "Iterate: AllReduce has no steps"): (
        OPEN + "REDUCE\nuint16_t block[1];\nhccl.Iterate(handle, block, 1);  // here"
    ),
    ("hccl_misuse", "Iterate: seqSliceLen is 2, and a step of a rank alone has 1 block"): (
        OPEN
        + "HcclHandle all = hccl.AlltoAll(x, y, 8, HCCL_DATA_TYPE_FP32);\nuint16_t block[2];\n"
        + "hccl.Iterate<false>(all, block, 2);  // here"
    ),
    ("deadlock", "Iterate: round 0 of the task 0 has not been committed"): (
        OPEN
        + "HcclHandle all = hccl.AlltoAll(x, y, 8, HCCL_DATA_TYPE_FP32);\nuint16_t block[1];\n"
        + "hccl.Iterate(all, block, 1);  // here"
    ),
    ("illegal_read", "AllReduce reads bytes 0 to 4096 of 'x', which has 2048"): (
        OPEN + "hccl.AllReduce<true>(x, y, 1024, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM);  // here"
    ),
    ("missing_sync", "DataCopy reads what AllReduce receives; round 0 of it is committed and not waited for"): (
        OPEN + SHOW + "REDUCE\nhccl.Commit(handle);\nDataCopy(t, r, 8);  // here"
    ),
}


def test_calls_out_of_order_are_said(twin: Twin) -> None:
    """Every block of one kernel breaks another rule; each gives its tasks to the server itself."""
    reduce = "HcclHandle handle = hccl.AllReduce(x, y, 8, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM);"
    bodies, before = [], TILING
    for block, text in enumerate(ORDER.values()):
        before += f"static constexpr HcclServerConfig OF{block}{{CoreType::ON_AIV, {block}}};\n"
        own = re.sub(r"\bREDUCE\b", reduce, text).replace("// here", f"// line {block}")
        own = re.sub(r"\bHccl\b", f"Hccl<HCCL_SERVER_TYPE_AICPU, OF{block}>", own)
        bodies.append(f"if (GetBlockIdx() == {block}) {{\n{own}\n}}")
    finished = twin.run("\n".join(bodies), {"x": X}, Y, before=before, block=None)
    lines = {text.rpartition("// line ")[2]: line for line, text in enumerate(finished.source.splitlines(), 1)}
    found = {(diagnostic.rule, diagnostic.line): diagnostic.message for diagnostic in finished.diagnostics}
    for block, (rule, says) in enumerate(ORDER):
        assert says in found.get((rule, lines[str(block)]), ""), (says, found)
    assert len(found) == len(ORDER)


def test_what_the_kernel_stores_is_complete_before_it_is_sent() -> None:
    """Without barriers around moves: the store of UB to what is sent may be under way when the task is committed."""
    twin = Twin()
    fill = "GlobalTensor<float> w;\nw.SetGlobalBuffer((__gm__ float*)workspace, 512);\nDuplicate(t, 1.0f, 512);\n"
    fill += "SetFlag<HardEvent::V_MTE3>(0);\nWaitFlag<HardEvent::V_MTE3>(0);\nDataCopy(w, t, 512);\n"
    send = (
        "HcclHandle handle = hccl.AllReduce(workspace, y, 512, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM);\n"
        "BARRIER\nhccl.Commit(handle);  // here\nhccl.Wait(handle);\nhccl.Finalize();"
    )
    early = run(twin, OPEN + SHOW + fill + send.replace("BARRIER", ""))
    assert ("missing_sync", early.marked) in early.found, early.diagnostics
    complete = run(twin, OPEN + SHOW + fill + send.replace("BARRIER", "PipeBarrier<PIPE_ALL>();"))
    assert np.all(complete.output() == 1), complete.diagnostics
    twin.executor.close()


def test_steps_of_an_exchange(twin: Twin) -> None:
    """A rank alone has one step for each round: its own block, which is awaited there or by Wait."""
    finished = run(
        twin,
        OPEN
        + """
        uint64_t counts[1] = {64}, from[1] = {0};
        HcclHandle first = hccl.AlltoAllV<true>(x, counts, from, HCCL_DATA_TYPE_FP32, y, counts, from,
                                                HCCL_DATA_TYPE_FP32);
        HcclHandle second = hccl.AlltoAll(x + 256, y + 256, 64, HCCL_DATA_TYPE_FP32, 0, 2);
        uint16_t block[1] = {7};
        int steps = 0;
        while (hccl.Iterate(first, block, 1) == 1) steps += 1 + block[0];
        while (hccl.Iterate<false>(second, block, 1) == 1) {
            steps += 10;
            hccl.Commit(second);
        }
        if (steps != 21) return;
        hccl.Wait(second);
        hccl.Wait(second);
        hccl.Finalize();
        """,
    )
    assert finished.found == []
    assert np.array_equal(finished.output()[:192], X[:192])


def test_what_needs_another_rank_is_refused(twin: Twin) -> None:
    for call in ("hccl.GetWindowsInAddr(1);", "hccl.BatchWrite<true>(x, 1);", "hccl.InterHcclGroupSync(0, 0);"):
        finished = run(twin, OPEN + call)
        assert finished.outcome is Outcome.INFRA_ERROR, [str(diagnostic) for diagnostic in finished.diagnostics]
        assert "it runs one device, so nothing that several ranks exchange" in finished.errors[0].message
