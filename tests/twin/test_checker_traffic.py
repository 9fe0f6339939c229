"""Races between cores under the full checker: what is one, what is none, and that every run finds the same. And the
golden kernels, about which the full checker has nothing to say.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

import pytest

from npukb_twin.executor import TwinArgs, TwinExecutor
from npukb_twin.launch.launching import Checker
from npukernelbench.generate.extract import candidate_of
from npukernelbench.nouns import CompileRequest, DType, Outcome, RunRequest, Track
from npukernelbench.prompts import golden_kernel
from npukernelbench.tasks import generate_inputs
from npukernelbench.tasks.goldens import golden_of
from npukernelbench.tasks.sizes import smallest_case
from tests.suite import suite
from tests.twin.openings import on_buffer, on_global
from tests.twin.running import Twin

OUTPUTS = {"y": ((48 * 64,), DType.FLOAT32)}
HEAD = f"""{on_buffer("float", "a", 8192)}{on_global("float", ys="y, 48 * 64", spare="workspace, 1024")}
    const int32_t me = GetBlockIdx();
    Duplicate(a, static_cast<float>(me), 1024);
    PipeBarrier<PIPE_ALL>();
"""

HARMLESS = {
    "every block has its own part": "DataCopy(ys[me * 64], a, 64);",
    "pieces between pieces": "DataCopy(ys[me * 8], a, {8, 1, 0, 47});",
    "small moves at equal distances": "for (int i = 0; i < 8; ++i) DataCopy(ys[i * 384 + me * 8], a, 8);",
    "one block writes, the others read later": "if (me == 0) DataCopy(ys, a, 64);\nSyncAll();\nDataCopy(a, ys, 64);",
    "others read first": "DataCopy(a, ys, 64);\nSyncAll();\nif (me == 3) DataCopy(ys, a, 64);",
    "sums": "SetAtomicAdd<float>();\nDataCopy(ys, a, 64);\nSetAtomicNone();",
    "everyone clears, then one writes": """
        Duplicate(a, 0.0f, 64);
        PipeBarrier<PIPE_ALL>();
        DataCopy(ys, a, 64);
        SyncAll();
        if (me == 1) DataCopy(ys, a[64], 64);
    """,
    "flags between cores": """
        KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIV_1_0);
        if (me == 5) DataCopy(ys, a, 64);
        CrossCoreSetFlag<0, PIPE_MTE3>(3);
        CrossCoreWaitFlag(3);
        if (me == 6) DataCopy(ys, a, 64);
    """,
    "scalar stores to lines of their own": "ys.SetValue(me * 64, 1.0f);",
}

RACES = {
    "the last block reaches into nothing, every other into the next": (
        "DataCopy(ys[me * 64], a, me < 47 ? 72 : 64);  // here",
        True,
    ),
    "a meeting that some blocks have behind them": (
        "SyncAll();\nif (me == 2 || me == 40) {\n    DataCopy(ys, a, 64);  // here\n}",
        True,
    ),
    "equal values": (
        "DataCopy(ys, a[0], 0);\nDuplicate(a, 7.0f, 8);\nPipeBarrier<PIPE_ALL>();\nDataCopy(ys, a, 8);  // here",
        False,
    ),
}


@pytest.fixture(scope="module", params=[1, 3])
def full(request: pytest.FixtureRequest) -> Iterator[Twin]:
    """A full checker with that many host threads."""
    executor = TwinExecutor(TwinArgs(checker=Checker.FULL, threads=request.param))
    yield Twin(executor)
    executor.close()


@pytest.mark.parametrize("name", HARMLESS)
def test_no_race(full: Twin, name: str) -> None:
    finished = full.run(textwrap.dedent(HEAD) + textwrap.dedent(HARMLESS[name]), {}, OUTPUTS, block=None)
    # some read the output, or add to it, before it is written: no race
    said = [str(diagnostic) for diagnostic in finished.diagnostics if diagnostic.rule != "uninitialized_read"]
    assert (finished.outcome, said) == (Outcome.OK, [])


@pytest.mark.parametrize("name", RACES)
def test_race(full: Twin, name: str) -> None:
    body, breaks = RACES[name]
    for _ in range(3):
        finished = full.run(textwrap.dedent(HEAD) + body, {}, OUTPUTS, block=None)
        assert finished.found == [("core_race", finished.marked)], [
            str(diagnostic) for diagnostic in finished.diagnostics
        ]
        assert (finished.outcome is Outcome.RULE_VIOLATION) is breaks


def test_blocks_that_share_a_variable_are_believed(full: Twin) -> None:
    body = "while (g_turn[0] != me) {}\nDataCopy(ys, a, 64);\nPipeBarrier<PIPE_ALL>();\ng_turn[0]++;"
    before = "static volatile uint32_t g_turn[16] = {0};"
    finished = full.run(textwrap.dedent(HEAD) + body, {}, OUTPUTS, before=before, block=None)
    assert (finished.outcome, finished.found) == (Outcome.OK, [])
    assert (finished.output()[:64] == 47).all()


def test_golden_kernels_are_beyond_reproach() -> None:
    executor = TwinExecutor(TwinArgs(checker=Checker.FULL))
    tried = 0
    tasks = suite()
    for task in (tasks[name] for name in tasks):
        if golden_of(task, Track.STATIC) is None:
            continue
        case = smallest_case(task)
        candidate = candidate_of(golden_kernel(task, case, Track.STATIC))
        request = CompileRequest(task, case, Track.STATIC, candidate, 60.0)
        compiled = executor.compile(request)
        assert compiled.artifact is not None, task.name
        inputs = generate_inputs(task, case, 0)
        seen = executor.run(RunRequest(task, case, compiled.artifact, inputs, 1, 60.0))
        assert (seen.outcome, [str(diagnostic) for diagnostic in seen.diagnostics]) == (Outcome.OK, []), task.name
        tried += 1
    executor.close()
    assert tried >= 12


def test_hashes_of_contents_tell_values_apart(full: Twin) -> None:
    """Equal sums of different bytes are different contents."""
    body = """
        Duplicate(a, 0.0f, 8);
        PipeBarrier<PIPE_ALL>();
        a.SetValue(me % 2, 1.0f);
        PipeBarrier<PIPE_ALL>();
        if (me < 2) {
            DataCopy(ys, a, 8);  // here
        }
    """
    finished = full.run(textwrap.dedent(HEAD) + textwrap.dedent(body), {}, OUTPUTS, block=None)
    assert finished.found == [("core_race", finished.marked)]
    assert "different values" in finished.diagnostics[0].message
