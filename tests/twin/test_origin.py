"""Planted mistakes in a golden kernel: the explanation names the line, and is the same every time."""

from __future__ import annotations

import pytest

from npukernelbench.generate.extract import candidate_of
from npukernelbench.judge.origin import explain_origin
from npukernelbench.judge.pipeline import Judge, JudgeSettings
from npukernelbench.nouns import Outcome, Track
from npukernelbench.prompts import GoldenKernels
from tests.judging import on_the_twin
from tests.suite import suite

#: What is planted: the text, what takes its place, and where the line has to be named.
MISTAKES = (
    ("Add(z, x, y, length);", "Sub(z, x, y, length);", "lines"),
    ("Add(z, x, y, length);", "Add(z, x, y, length / 2);", "lines"),
    ("begin = GetBlockIdx() * tiling.share;", "begin = (GetBlockIdx() + 1) * tiling.share;", "numbers"),
    ("yGlobal[offset], copy", "yGlobal[offset + 16], copy", "lines"),
)


def test_planted_mistakes_are_named():
    task = suite()["AddCustom"]
    case = task.usual_case
    with on_the_twin() as (executor, plugins), GoldenKernels() as goldens:
        judge = Judge.of(executor, plugins, JudgeSettings())
        [text] = goldens.kernel(task, case, Track.STATIC).values()
        for old, new, where in MISTAKES:
            assert old in text
            source = candidate_of({"kernel.cpp": text.replace(old, new)})
            verdict = judge.judge(task, [case], Track.STATIC, source)
            assert verdict.outcome in (Outcome.WRONG_VALUE, Outcome.NON_FINITE), (new, verdict.diagnostics)
            said = explain_origin(judge, plugins, task, [case], Track.STATIC, source, verdict)
            line = 1 + text[: text.index(old)].count("\n")
            assert line in {number for note in said for _, number in note.details[where]}, (new, said)
            assert said == explain_origin(judge, plugins, task, [case], Track.STATIC, source, verdict)


@pytest.mark.parametrize("wrong", ["Sub"])
def test_values_on_the_way_are_those_of_the_instruction(wrong):
    task = suite()["AddCustom"]
    case = task.usual_case
    with on_the_twin(checker="off") as (executor, plugins), GoldenKernels() as goldens:
        judge = Judge.of(executor, plugins, JudgeSettings())
        [text] = goldens.kernel(task, case, Track.STATIC).values()
        source = candidate_of({"kernel.cpp": text.replace("Add(z, x, y", f"{wrong}(z, x, y")})
        verdict = judge.judge(task, [case], Track.STATIC, source)
        note = explain_origin(judge, plugins, task, [case], Track.STATIC, source, verdict)[0]
        held = {word: float(note.message.split(f"{word} byte 0: ")[1].split(",")[0]) for word in ("x", "y")}
        result = float(note.message.split(" = ")[1].split(" ")[0])
        assert result == pytest.approx(held["x"] - held["y"], rel=1e-3)
