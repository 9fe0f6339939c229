"""The scripted agent repairs a kernel by what the judge tells it, and gives up where nothing is told."""

from __future__ import annotations

import random

from benchmarks.judge.mistakes import KINDS, mistakes
from benchmarks.judge.scripted import repaired, try_repair
from npukb_mcp.redact import told
from npukb_mcp.results import Note
from npukb_twin.executor import TwinArgs, TwinExecutor
from npukernelbench.generate.extract import candidate_of
from npukernelbench.judge.pipeline import Judge, JudgeSettings
from npukernelbench.nouns import Track
from npukernelbench.plugins import Plugins
from npukernelbench.prompts import GoldenKernels
from tests.suite import suite


def test_remedies_repair_mistakes():
    """One kernel, every kind of mistake that it has a place for: most are repaired, none without a message."""
    task = suite()["AddCustom"]
    case = task.usual_case
    golden = GoldenKernels().kernel(task, case, Track.STATIC)["kernel.cpp"]
    executor = TwinExecutor(TwinArgs())
    judge = Judge.of(executor, Plugins.load(), JudgeSettings(60, 60, 1))

    def tell(source):
        return told(judge.judge(task, (case,), Track.STATIC, candidate_of({"kernel.cpp": source})))

    made = mistakes(golden, random.Random(3))
    broken = [mistake for mistake in made if tell(mistake.source).outcome != "ok"]
    mended = {mistake.kind for mistake in broken if repaired(mistake.source, tell)[0]}
    executor.close()
    assert {mistake.kind for mistake in made} <= set(KINDS)
    assert len(broken) >= 4
    assert len(mended) >= 0.6 * len(broken), (mended, [mistake.kind for mistake in broken])


def test_what_nobody_tells_is_not_repaired():
    page = told_page(Note(severity="error", rule="wrong_value", message="wrong elements: y[3] = 1", line=0))
    assert list(try_repair("a\nb", page)) == []
    assert repaired("a", lambda source: page) == (False, 1)


def told_page(*notes):
    from npukb_mcp.results import Told

    return Told(
        outcome="wrong_value",
        meaning="",
        stage="check",
        fault_of="model",
        tier="twin",
        cases={},
        diagnostics=list(notes),
        left_out=0,
        metrics={},
    )
