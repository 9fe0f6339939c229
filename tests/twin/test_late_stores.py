"""The second run of a kernel: what a core stores in global memory takes effect as late as the core's order allows, so
that cores that do not wait for it read what was there before.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import pytest

from npukb_twin.executor import TwinArgs, TwinExecutor
from npukernelbench.nouns import DType, Outcome, RunRequest
from tests.twin.openings import fresh, on_buffer, on_global, put
from tests.twin.running import Twin, kernel, task_for

if TYPE_CHECKING:
    from npukernelbench.nouns.execution import Array

OUTPUTS = {"y": ((48 * 16,), DType.INT32)}
#: Every vector core has a value in ``a``; ``w`` is where cores hand over, ``ys`` what is compared.
HEAD = f"""
    {on_buffer("int32_t", "a", 4096)}{on_global("int32_t", ys="y, 48 * 16", w="workspace, 1024")}
    const int32_t me = GetBlockIdx();
    Duplicate(a, me + 7, 128);
    Duplicate(a[128], 0, 128);
    PipeBarrier<PIPE_ALL>();
"""
#: What the other vector core of the block has handed over becomes the output.
SHOW = """
    DataCopy(a[256], w[8 * (me ^ 1)], 8);
    PipeBarrier<PIPE_ALL>();
    DataCopy(ys[16 * me], a[256], 8);
"""
WAIT = "CrossCoreWaitFlag<1>(2);"

HANDED_OVER = {
    "the flag follows the store": f"DataCopy(w[8 * me], a, 8);\nCrossCoreSetFlag<1, PIPE_MTE3>(2);\n{WAIT}{SHOW}",
    "a barrier comes before the flag": f"""
        DataCopy(w[8 * me], a, 8);
        PipeBarrier<PIPE_ALL>();
        CrossCoreSetFlag<1, PIPE_V>(2);
        {WAIT}{SHOW}
    """,
    "another pipe has waited and sets the flag": f"""
        DataCopy(w[8 * me], a, 8);
        SetFlag<HardEvent::MTE3_V>(0);
        WaitFlag<HardEvent::MTE3_V>(0);
        CrossCoreSetFlag<1, PIPE_V>(2);
        {WAIT}{SHOW}
    """,
    "stored twice, at last what was there first": f"""
        DataCopy(w[8 * me], a[128], 8);
        PipeBarrier<PIPE_ALL>();
        DataCopy(w[8 * me], a, 8);
        DataCopy(w[8 * me], a[128], 8);
        CrossCoreSetFlag<1, PIPE_MTE3>(2);
        {WAIT}{SHOW}
    """,
    "pieces between those of another core": f"""
        DataCopy(w[8 * me], a[128], 8);
        SyncAll();
        if (me < 24) DataCopy(w[8 * me], a, {{2, 1, 0, 23}});
        SyncAll();
        {SHOW}
    """,
    "all cores meet": f"DataCopy(w[8 * me], a, 8);\nSyncAll();{SHOW}",
    "sums over what was cleared": f"""
        DataCopy(w[8 * me], a[128], 8);
        SyncAll();
        SetAtomicAdd<int32_t>();
        DataCopy(w[8 * (me ^ 1)], a, 8);
        SetAtomicNone();
        SyncAll();
        {SHOW}
    """,
    "the other core polls": f"""
        DataCopy(w[8 * me], a[128], 8);
        SyncAll();
        DataCopy(w[8 * me], a, 8);
        while ({fresh("w", "8 * (me ^ 1)")} == 0) {{}}
        {SHOW}
    """,
    "the scalar unit comes last": f"""
        DataCopy(w[8 * me], a, 8);
        {put("ys", "16 * me + 8", "me")}
        CrossCoreSetFlag<1, PIPE_V>(2);
        {WAIT}{SHOW}
    """,
}


@pytest.fixture(scope="module")
def twin() -> Iterator[Twin]:
    """A twin whose cores share two host threads."""
    made = Twin(TwinExecutor(TwinArgs(threads=2)))
    yield made
    made.executor.close()


def both_runs(twin: Twin, body: str) -> tuple[Array, Array]:
    """The outputs of a first and a second run."""
    source = kernel(
        f"KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2);\nif ASCEND_IS_AIV {{{HEAD}{body}}}",
        (*OUTPUTS, "workspace"),
        block=None,
    )
    task = task_for({}, OUTPUTS)
    compiled = twin.compile(source, task)
    assert compiled.artifact is not None, [str(diagnostic) for diagnostic in compiled.diagnostics]
    outputs = []
    for repeat in (0, 1):
        seen = twin.executor.run(RunRequest(task, task.cases[0], compiled.artifact, {}, 7, 30.0, repeat=repeat))
        assert (seen.outcome, seen.diagnostics) == (Outcome.OK, ())
        outputs.append(np.asarray(seen.outputs["y"]))
    return outputs[0], outputs[1]


@pytest.mark.parametrize("name", HANDED_OVER)
def test_what_is_in_order_is_the_same(twin: Twin, name: str) -> None:
    first, second = both_runs(twin, HANDED_OVER[name])
    assert np.array_equal(first, second)


@pytest.mark.parametrize("pipe", ["PIPE_V", "PIPE_MTE2"])
def test_a_flag_of_another_pipe_comes_too_early(twin: Twin, pipe: str) -> None:
    body = f"DataCopy(w[8 * me], a, 8);\nCrossCoreSetFlag<1, {pipe}>(2);\n{WAIT}{SHOW}"
    first, second = both_runs(twin, body)
    seen = first.reshape(48, 16)[:, 0]
    assert seen.tolist() == [(core ^ 1) + 7 for core in range(48)]
    assert not np.array_equal(seen, second.reshape(48, 16)[:, 0])
