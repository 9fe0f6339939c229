"""A kernel cannot tell the run that is timed from those that check it: not by the order of blocks, by threads, by
addresses, by what lies in memory that nobody wrote, nor by clocks.

Every test is a kernel that reports what it sees through one of these; what it reports says nothing about the run.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from npukb_twin.executor import TwinArgs, TwinExecutor
from npukb_twin.launch.launching import run_case
from npukernelbench.judge.pipeline import Judge, JudgeSettings
from npukernelbench.nouns import DType, Outcome, RunRequest, Track
from npukernelbench.plugins import Plugins
from npukernelbench.testing import FakeExecutor, candidate, tiny_case, tiny_task
from tests.twin.running import Twin, kernel, task_for

CORES = 48
OUTPUTS = {"y": ((CORES * 8,), DType.UINT64)}
#: (repeat, seed, order) of the timed run, its repetition, a variation and two canaries of one judgement.
RUNS = ((0, 11, 5), (1, 12, 5), (0, 13, 5), (0, 14, 5), (0, 15, 5))


@pytest.fixture(scope="module")
def twin() -> Iterator[Twin]:
    executor = TwinExecutor(TwinArgs(threads=1))
    yield Twin(executor)
    executor.close()


def reports(twin: Twin, body: str, runs: tuple[tuple[int, int, int], ...], before: str = "") -> list[np.ndarray]:
    """What the kernel writes in each run, a row per block."""
    opening = "const int32_t me = GetBlockIdx();\n__gm__ uint64_t* row = (__gm__ uint64_t*)y + me * 8;\n"
    task = task_for({"x": np.zeros(64, np.float32)}, OUTPUTS)
    compiled = twin.compile(kernel(opening + body, ("x", "y", "workspace"), before=before, block=None), task)
    assert compiled.artifact is not None, compiled.diagnostics
    result = []
    for repeat, seed, order in runs:
        inputs = {"x": np.zeros(64, np.float32)}
        request = RunRequest(task, task.cases[0], compiled.artifact, inputs, seed, 30.0, repeat=repeat, order=order)
        seen = twin.executor.run(request)
        assert seen.outcome is Outcome.OK, seen.diagnostics
        result.append(np.asarray(seen.outputs["y"]).reshape(CORES, 8))
    return result


def test_the_order_of_blocks_is_drawn(twin: Twin) -> None:
    orders = ((0, 1, 5), (1, 1, 5), (0, 1, 6), (1, 1, 6), (0, 1, 7))
    seen = reports(twin, "row[0] = begun++;", orders, before="uint64_t begun = 0;")
    ranks = [array[:, 0].astype(int).tolist() for array in seen]
    for rank in ranks:
        assert sorted(rank) == list(range(CORES))
        assert rank not in (list(range(CORES)), list(range(CORES))[::-1])
    assert ranks[0] == [CORES - 1 - place for place in ranks[1]]  # every pair of blocks runs in both orders
    assert len({tuple(rank) for rank in ranks}) == len(ranks)
    assert len({rank[0] for rank in ranks}) > 2


def test_addresses_and_sizes_say_nothing(twin: Twin) -> None:
    body = """
        row[0] = (uint64_t)y - (uint64_t)x;
        row[1] = (uint64_t)workspace - (uint64_t)y;
        row[2] = (uint64_t)&me % 4096;
        row[3] = (uint64_t)y;
    """
    seen = reports(twin, body, RUNS)
    for other in seen[1:]:
        assert np.array_equal(other[:, :2], seen[0][:, :2])
        assert {int(one) for one in other[:, 2]} == {int(one) for one in seen[0][:, 2]}
    assert len({int(array[0, 3]) for array in seen}) == len(seen)


def test_what_lies_in_unwritten_memory_says_nothing(twin: Twin) -> None:
    body = """
        TPipe pipe;
        TBuf<TPosition::VECCALC> buffer;
        pipe.InitBuffer(buffer, 1024);
        row[0] = buffer.Get<uint32_t>().GetValue(3);
        row[1] = row[5];
        row[2] = ((__gm__ uint64_t*)workspace)[me];
    """
    seen = reports(twin, body, RUNS)
    for column in range(3):
        kinds = {tuple(array[:, column].tolist()) for array in seen}
        assert len(kinds) == len(seen), column  # each is drawn, and no two alike


def test_clocks_say_nothing(twin: Twin) -> None:
    body = """
        row[0] = GetSystemCycle();
        for (int32_t i = 0; i < 1000; ++i) row[1] = i;
        row[2] = GetSystemCycle();
    """
    first, *others = (report[:, [0, 2]] for report in reports(twin, body, RUNS))
    assert (first[:, 1] > first[:, 0]).all()
    assert all(np.array_equal(first, other) for other in others)


def test_every_run_has_the_same_threads_and_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def watching(request, plan, launcher, work):  # type: ignore[no-untyped-def]
        seen.append(launcher)
        return run_case(request, plan, launcher, work)

    monkeypatch.setattr("npukb_twin.executor.run_case", watching)
    executor = TwinExecutor(TwinArgs(threads=3))
    try:
        reports(Twin(executor), "row[0] = me;", RUNS)
    finally:
        executor.close()
    assert len(seen) == len(RUNS)
    assert all(launcher == seen[0] for launcher in seen)
    assert seen[0].threads == 3


def test_the_judge_asks_for_every_run_alike() -> None:
    seen = []

    class Watching(FakeExecutor):
        def run(self, request: RunRequest):  # type: ignore[no-untyped-def]
            seen.append(request)
            return super().run(request)

    plugins = Plugins.load(autoload=False)
    judge = Judge.of(Watching(), plugins, JudgeSettings(seed=3))
    judge.judge(tiny_task(), (tiny_case(),), Track.STATIC, candidate())
    timed, repeated, varied = seen
    assert timed.order == repeated.order == varied.order != 0
    assert (timed.repeat, repeated.repeat, varied.repeat) == (0, 1, 0)
    assert len({timed.seed, repeated.seed, varied.seed}) == 3
    assert {run_request.allocation for run_request in seen} == {timed.allocation}
