"""Synchronisation between cores: every primitive orders what it should, and a wait that cannot end is explained."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from npukb_twin.executor import TwinArgs, TwinExecutor
from npukernelbench.nouns import DType, Outcome
from tests.twin.openings import fresh, on_buffer, on_global, put
from tests.twin.running import Twin

BLOCKS = 48
OUTPUTS = {"y": ((BLOCKS * 16,), DType.INT32)}

#: Tensors on the output and on the workspace, which every block fills with zeros, as the documentation asks.
HEAD = f"""
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIV_1_0);
    {on_buffer("int32_t", "ub", 8192)}{on_global("int32_t", ys="y, 48 * 16", slots="workspace, 1024")}
    Duplicate(ub, 0, 1024);
    PipeBarrier<PIPE_ALL>();
    DataCopy(slots, ub, 1024);
    PipeBarrier<PIPE_ALL>();
    const int32_t me = GetBlockIdx(), all = GetBlockNum();
"""


@pytest.fixture(scope="module", params=[1, 2, 5])
def threaded(request: pytest.FixtureRequest) -> Iterator[Twin]:
    """A twin with that many host threads."""
    executor = TwinExecutor(TwinArgs(threads=request.param))
    yield Twin(executor)
    executor.close()


@pytest.mark.parametrize(
    "meeting",
    [
        "SyncAll();",
        "SyncAll<true>(slots, ub);\nSyncAll(slots, ub, 48);",
        "CrossCoreSetFlag<0, PIPE_MTE3>(4);\nCrossCoreWaitFlag(4);",
        "CrossCoreSetFlag<0, PIPE_MTE3>(4);\nCrossCoreWaitFlag<0, PIPE_S>(4);\nSyncAll();\nSyncAll(slots, ub);",
        "if (me == 0) IBSet(slots, ub, 0, 0); else IBWait(slots, ub, 0, 0);\nSyncAll();",
        "SyncAll();\nDataSyncBarrier<MemDsbT::ALL>();\nSetNextTaskStart();\nWaitPreTaskEnd();",
    ],
)
def test_after_a_meeting_blocks_see_what_others_wrote(threaded: Twin, meeting: str) -> None:
    body = f"""{HEAD}
        {put("ys", "me * 16", "me + 100")}
        {meeting}
        ys.SetValue(me * 16 + 1, {fresh("ys", "(me + 1) % all * 16")});
    """
    finished = threaded.run(body, {}, OUTPUTS, block=None)
    assert finished.found == []
    assert (finished.output().reshape(BLOCKS, 16)[:, 1] == (np.arange(BLOCKS) + 1) % BLOCKS + 100).all()


#: A block appends its index to a list whose length is the list's last element.
APPEND = f"int32_t n = {fresh('ys', '383')};\n{put('ys', 'n', 'me')}\n{put('ys', '383', 'n + 1')}"
#: Block 0 empties the list before the others look at it.
EMPTY = f"if (me == 0) {{ {put('ys', '383', '0')} }}\nSyncAll();\n"


@pytest.mark.parametrize(
    ("before", "turns", "rounds"),
    [
        ("", "if (me > 0) IBWait(slots, ub, me - 1, 0);\n{append}\nIBSet(slots, ub, me, 0);", 1),
        (
            "",
            """
            InitDetermineComputeWorkspace(slots, ub);
            for (int round = 0; round < 3; ++round) {{
                WaitPreBlock(slots, ub);
                {append}
                NotifyNextBlock(slots, ub);
            }}
            """,
            3,
        ),
        # a variable that all blocks share, and a loop that never calls Ascend C
        ("static volatile uint32_t g_turn[16] = {0};", "while (g_turn[0] != me) {{}}\n{append}\ng_turn[0]++;", 1),
        (
            "static volatile uint32_t g_turn[16] = {0};",
            "for (int32_t i = 0; i < 2147483647; i++) {{ if (g_turn[0] == me) break; }}\n{append}\ng_turn[0]++;",
            1,
        ),
        # polling global memory
        ("", f"while ({fresh('ys', '383')} != me) {{{{}}}}\n{{append}}", 1),
        (
            "",
            """
            LocalTensor<int32_t> mine = ub[1024];
            int32_t turn = -1;
            while (turn != me) {{
                DataCopy(mine, ys[376], 8);
                PipeBarrier<PIPE_ALL>();
                turn = mine.GetValue(7);
            }}
            {append}
            """,
            1,
        ),
    ],
)
def test_blocks_take_turns(threaded: Twin, before: str, turns: str, rounds: int) -> None:
    finished = threaded.run(HEAD + EMPTY + turns.format(append=APPEND), {}, OUTPUTS, before=before, block=None)
    seen = finished.output()
    assert finished.found == []
    assert seen[: BLOCKS * rounds].tolist() == list(range(BLOCKS)) * rounds


def test_some_blocks_meet_without_the_others(threaded: Twin) -> None:
    body = HEAD + "SyncAll();\nif (me < 10) {\n    SyncAll(slots, ub, 10);\n    SyncAll(slots, ub, 10);\n}"
    finished = threaded.run(body, {}, OUTPUTS, block=None)
    assert (finished.outcome, finished.found) == (Outcome.OK, [])


def test_a_block_may_run_ahead_of_the_others(threaded: Twin) -> None:
    body = """
        KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIV_1_0);
        for (int i = 0; i < 15; ++i) CrossCoreSetFlag<0, PIPE_V>(2);
        for (int i = 0; i < 15; ++i) CrossCoreWaitFlag(2);
        for (int i = 0; i < 40; ++i) {
            CrossCoreSetFlag<0, PIPE_V>(2);
            CrossCoreWaitFlag(2);
        }
    """
    finished = threaded.run(body, {}, OUTPUTS, block=None)
    assert (finished.outcome, finished.found) == (Outcome.OK, [])


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (
            "if (me >= 40) {\n    IBWait(slots, ub, 3, 0);  // here\n}",
            "IBWait: blocks 40, 41, 42, 43, 44, 45 and 2 more wait",
        ),
        (
            "if (me == 7) {\n    CrossCoreWaitFlag(3);  // here\n}",
            "CrossCoreWaitFlag(3): block 7 waits here for ever: the flag was raised 0 times and this is wait 1; 47 of",
        ),
        ("if (me < 2) {\n    SyncAll(slots, ub, 3);  // here\n}", "SyncAll: blocks 0, 1 wait here"),
        (
            "InitDetermineComputeWorkspace(slots, ub);\nif (me > 46) {\n    WaitPreBlock(slots, ub);  // here\n}",
            "WaitPreBlock: block 47 waits",
        ),
        (
            "if (me == 5) {\n    while (ys.GetValue(0) != 12345678) {}  // here\n}",
            "GlobalTensor::GetValue: block 5 waits",
        ),
    ],
)
def test_a_wait_that_cannot_end(threaded: Twin, body: str, said: str) -> None:
    finished = threaded.run(HEAD + body, {}, OUTPUTS, block=None)
    assert finished.outcome is Outcome.RULE_VIOLATION
    assert finished.found == [("deadlock", finished.marked)]
    assert said in finished.diagnostics[0].message


def test_every_place_where_blocks_wait_is_named(threaded: Twin) -> None:
    body = "if (me == 0) return;\nif (me < 20) {\n    SyncAll();\n} else {\n    CrossCoreWaitFlag(3);\n}"
    finished = threaded.run(HEAD + body, {}, OUTPUTS, block=None)
    lines = finished.source.splitlines()
    assert [(diagnostic.rule, lines[diagnostic.line - 1].strip()) for diagnostic in finished.diagnostics] == [
        ("deadlock", "SyncAll();"),
        ("deadlock", "CrossCoreWaitFlag(3);"),
    ]
    assert [diagnostic.count for diagnostic in finished.diagnostics] == [19, 28]


#: Blocks add to what block 0 has cleared, and the last one reads the sum. ``{}``: what keeps them apart.
SUM = """
    if (me == 0) DataCopy(ys, ub, 8);
    PipeBarrier<PIPE_ALL>();
    {0}
    Duplicate(ub, 2, 8);
    PipeBarrier<PIPE_ALL>();
    SetAtomicAdd<int32_t>();
    DataCopy(ys, ub, 8);
    SetAtomicNone();
    PipeBarrier<PIPE_ALL>();
    {1}
    if (me == 47) {{
        DataCopy(ub, ys, 8);
        PipeBarrier<PIPE_ALL>();
        DataCopy(ys[8], ub, 8);
    }}
"""


@pytest.mark.parametrize(
    ("meetings", "rules"),
    [
        (("SyncAll();", "SyncAll();"), []),
        (("SyncAll(slots, ub[1024]);", "CrossCoreSetFlag<0, PIPE_MTE3>(4);\nCrossCoreWaitFlag(4);"), []),
        (("", "SyncAll();"), ["core_race"]),
        (("SyncAll();", ""), ["core_race"]),
    ],
)
def test_sums_are_kept_apart_from_stores_and_loads(threaded: Twin, meetings: tuple[str, str], rules: list[str]) -> None:
    finished = threaded.run(HEAD + SUM.format(*meetings), {}, OUTPUTS, block=None)
    assert [diagnostic.rule for diagnostic in finished.diagnostics] == rules
    assert rules or finished.output()[[0, 8]].tolist() == [96, 96]
