"""Waiting for another core through plain memory takes that core's time: a chain of cores takes as long as its links.

The members differ in how they tell the next core: raw pointers, elements of tensors, transfers, variables of the
kernel. Their honest look-alikes read what they wrote themselves, or what others wrote before a barrier. Most of them
leave the data cache out of account, which the checker refuses on its own; nothing is checked here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from npukb_twin.executor import TwinArgs, TwinExecutor
from npukb_twin.launch.launching import Checker
from npukernelbench.nouns import DType, Outcome, RunRequest
from tests.twin.openings import fresh, on_buffer, on_global, put
from tests.twin.running import Twin, kernel, task_for

OUTPUTS = {"y": ((64 * 16,), DType.INT32)}
CORES = 48
WORK = "volatile int32_t sum = 0;\nfor (int32_t i = 0; i < count; ++i) sum = sum + i;\n"
OPENING = """
    const int32_t me = GetBlockIdx(), count = *(__gm__ int32_t*)x;
    volatile __gm__ int32_t* flags = (volatile __gm__ int32_t*)y;
"""
TRANSFERS = on_buffer("int32_t", "t", 16) + on_global("int32_t", ys="y, 1024")
#: What precedes the work of a core, and what follows it.
CHAINS = {
    "raw": ("if (me > 0) while (flags[me - 1] != 7) {}", "flags[me] = 7;"),
    "element": (
        on_global("int32_t", ys="y, 1024") + "if (me > 0) while (ys.GetValue(me * 16 - 16) != 7) {}",
        "ys.SetValue(me * 16, 7);",
    ),
    "transfer": (
        TRANSFERS + "if (me > 0) do { DataCopy(t, ys[me * 16 - 16], 8); PipeBarrier<PIPE_ALL>(); }"
        " while (t.GetValue(0) != 7);",
        "Duplicate(t, 7, 8); PipeBarrier<PIPE_ALL>(); DataCopy(ys[me * 16], t, 8);",
    ),
    "clean": (
        on_global("int32_t", ys="y, 1024") + f"if (me > 0) while ({fresh('ys', 'me * 16 - 16')} != 7) {{}}",
        put("ys", "me * 16", "7"),
    ),
    "variable": ("if (me > 0) while (told[me - 1] != 7) {}", "told[me] = 7;"),
}
FREE = {
    "own words": ("flags[me] = 1;", "if (flags[me] == 1) flags[me + 64] = 2;"),
    "behind a barrier": ("", "flags[me] = 1;\nSyncAll();\nif (flags[(me + 1) % 48] == 1) flags[me + 64] = 2;"),
}


@pytest.fixture(scope="module", params=[1, 2])
def twin(request: pytest.FixtureRequest) -> Iterator[Twin]:
    executor = TwinExecutor(TwinArgs(threads=request.param, checker=Checker.OFF))
    yield Twin(executor)
    executor.close()


def times(twin: Twin, before_work: str, after_work: str, *, work: str = WORK, before: str = "") -> list[float]:
    """Predicted times with little work per core and with more; every run has to be sound."""
    source = kernel(f"{OPENING}{before_work}\n{work}{after_work}", ("x", "y", "workspace"), before=before, block=None)
    task = task_for({"x": np.zeros(8, np.int32)}, OUTPUTS)
    compiled = twin.compile(source, task)
    assert compiled.artifact is not None, compiled.diagnostics
    found = []
    for count in (500, 3500):
        inputs = {"x": np.full(8, count, np.int32)}
        request = RunRequest(task, task.cases[0], compiled.artifact, inputs, 7, 30.0)
        for repeat in (0, 1):
            seen = twin.executor.run(replace(request, repeat=repeat, seed=7 + repeat))
            assert seen.outcome is Outcome.OK, seen.diagnostics
            assert seen.profile is not None
            found.append(seen.profile.time_us)
    first, first_again, second, second_again = found
    assert (first, second) == pytest.approx((first_again, second_again), rel=0.02)  # cores began in other orders
    return [first, second]


def test_a_chain_takes_as_long_as_its_links(twin: Twin) -> None:
    alone = times(twin, "", "flags[me] = 7;")
    link = alone[1] - alone[0]
    assert link > 0
    for name, (before_work, after_work) in CHAINS.items():
        chain = times(twin, before_work, after_work, before="volatile int32_t told[64];")
        assert chain[1] - chain[0] == pytest.approx(CORES * link, rel=0.02), name


def test_a_chain_that_keeps_all_rules_takes_as_long() -> None:
    executor = TwinExecutor(TwinArgs(threads=2))
    try:
        alone, chain = (
            times(Twin(executor), before, CHAINS["clean"][1])
            for before in (
                "GlobalTensor<int32_t> ys;\nys.SetGlobalBuffer((__gm__ int32_t*)y, 1024);",
                CHAINS["clean"][0],
            )
        )
    finally:
        executor.close()
    assert chain[1] - chain[0] == pytest.approx(CORES * (alone[1] - alone[0]), rel=0.02)


def test_cores_that_do_not_wait_take_no_longer(twin: Twin) -> None:
    alone = times(twin, "", "flags[me] = 7;")
    for name, (before_work, after_work) in FREE.items():
        free = times(twin, before_work, after_work)
        assert free[1] - free[0] == pytest.approx(alone[1] - alone[0], rel=0.02), name


def test_looking_at_memory_in_between_makes_no_work_free(twin: Twin) -> None:
    alone = times(twin, "", "flags[me] = 7;")
    for place in ("*(volatile __gm__ int32_t*)x", "flags[me + 64]"):
        work = WORK.replace("sum = sum + i;", f"{{ sum = sum + i; (void){place}; }}")
        watched = times(twin, "", "flags[me] = 7;", work=work)
        assert watched[1] - watched[0] >= alone[1] - alone[0], place
