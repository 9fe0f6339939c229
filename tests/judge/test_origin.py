"""Where wrong elements come from: what an executor is asked, what is made of its answer, and who may ask."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path

import pytest

import npukernelbench
from npukernelbench.judge.origin import explain_origin
from npukernelbench.judge.pipeline import Judge, JudgeSettings
from npukernelbench.nouns import DType, RunRequest, Severity, Step, Track, Watched
from npukernelbench.plugins import Plugins
from npukernelbench.testing import FakeExecutor, candidate, tiny_case, tiny_task

SOURCE = "// fake: double\nuint32_t n = 3;\nAdd(y, x, x, n);\n"
STORE = Step(-1, "", "y", 0, DType.FLOAT32, None, 2.0, "DataCopy", "kernel.cpp", 4, 9, 0, "vector", "MTE3")
ADD = Step(0, "src", "UB", 64, DType.FLOAT32, 1.0, 2.0, "Add", "kernel.cpp", 3, 8, 0, "vector", "V", scalar=0.5)
INPUT = Step(1, "src0", "x", 0, DType.FLOAT32, None, 1.0)


class Telling(FakeExecutor):
    """Tells the same way for every place, and keeps what it was asked."""

    steps = (STORE, ADD, INPUT)

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[RunRequest] = []

    def run(self, request):
        self.asked.append(request)
        return replace(super().run(request), traces=(self.steps,) * len(request.watched))


@pytest.fixture
def explained():
    def explain(executor, source=SOURCE):
        plugins = Plugins.load(autoload=False)
        judge = Judge.of(executor, plugins, JudgeSettings())
        case = tiny_case(shape=(4, 8))
        task = tiny_task(cases=(case,))
        verdict = judge.judge(task, (case,), Track.STATIC, candidate(source))
        return explain_origin(judge, plugins, task, (case,), Track.STATIC, candidate(source), verdict)

    return explain


def test_the_way_back_has_places_values_and_the_lines_of_its_numbers(explained):
    [note] = explained(Telling())
    assert (note.severity, note.rule, note.file, note.line) == (Severity.NOTE, "origin", "kernel.cpp", 4)
    assert "was written last by DataCopy on block 0 (vector core, pipe MTE3)" in note.message
    assert "kernel.cpp:3 Add with the scalar 0.5 on block 0 (vector core, pipe V) left 2 at UB byte 64" in note.message
    assert "| Add(y, x, x, n);" in note.message
    assert "x byte 0: 1, from before the launch (the src0 of 2)" in note.message
    assert note.details["lines"] == [["kernel.cpp", 4], ["kernel.cpp", 3]]
    assert note.details["numbers"] == [["kernel.cpp", 2]]


def test_findings_follow_from_the_way_alone(explained):
    executor = Telling()
    narrow = replace(ADD, dtype=DType.FLOAT16, after=float("nan"))
    executor.steps = (STORE, narrow, INPUT, replace(STORE, parent=0, role="overwritten", block=3))
    [note] = explained(executor)
    assert "kernel.cpp:3 Add makes nan of finite operands" in note.message
    assert "kernel.cpp:3 Add computes in float16; the output is float32" in note.message
    assert "two blocks write this element: first block 3" in note.message


def test_an_element_that_nobody_wrote(explained):
    executor = Telling()
    executor.steps = (replace(INPUT, parent=-1), replace(STORE, parent=0, role="below", memory="y"))
    [note] = explained(executor)
    assert "no instruction wrote it" in note.message
    assert "nearest in front of it, at byte 0 of y, wrote kernel.cpp:4 DataCopy" in note.message


def test_the_executor_is_told_places_of_outputs_and_no_expected_value(explained):
    executor = Telling()
    explained(executor)
    asked = executor.asked[-1]
    assert asked.watched
    assert [field.name for field in fields(Watched)] == ["output", "offset", "nbytes", "dtype"]
    assert all(place.output == "y" and place.nbytes == 4 and 0 <= place.offset < 4 * 32 for place in asked.watched)
    assert asked == replace(executor.asked[-2], watched=asked.watched), "the run is the same but for that"


def test_what_cannot_be_explained_is_said(explained):
    assert "does not tell" in explained(FakeExecutor())[0].message
    assert "the outcome is crash" in explained(FakeExecutor(), "// fake: crash\n")[0].message


def test_only_the_command_for_people_asks():
    root = Path(npukernelbench.__file__).parents[1]
    sources = [*root.glob("npukernelbench/**/*.py"), *root.glob("plugins/**/*.py"), *root.glob("kernelgen_lm/**/*.py")]
    using = [str(path.relative_to(root)) for path in sources if "explain_origin" in path.read_text(encoding="utf-8")]
    assert sorted(using) == ["npukernelbench/cli/judging.py", "npukernelbench/judge/origin.py"]
