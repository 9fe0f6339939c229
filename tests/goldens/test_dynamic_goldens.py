"""Golden operators of the dynamic track, host and device code: right on every case, with nothing said about them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from npukb_reference.backend import ReferenceBackend
from npukernelbench.generate import GenerationFault, GenerationRequest, NoArgs, SamplingParams, candidate_of
from npukernelbench.generate.parsers import fenced
from npukernelbench.judge.pipeline import Judge, JudgeSettings
from npukernelbench.nouns import Case, Completion, Outcome, Prompt, SampleKey, Task, Track, Verdict
from npukernelbench.tasks.goldens import read_golden
from tests.goldens.test_goldens import assert_faultless, assert_times_as_recorded
from tests.judging import all_said, on_the_twin
from tests.suite import suite
from tests.tables import read_table

Edit = Callable[[Mapping[str, str]], Mapping[str, str]]

SUITE = {task.name: task for task in suite().values() if any(golden.track is Track.DYNAMIC for golden in task.goldens)}


@pytest.fixture(scope="module")
def judge() -> Iterator[Callable[..., Verdict]]:
    """Judges a task's golden operator, edited by a function, on cases. Edited ones may not end."""
    with on_the_twin() as (executor, plugins):
        checkers, guards = plugins.checkers, plugins.guards
        patient, hasty = (
            Judge(executor, checkers=checkers, guards=guards, settings=JudgeSettings(run_timeout_s=limit))
            for limit in (120.0, 1.0)
        )

        def verdict(task: Task, cases: list[Case], edit: Edit = dict, static: str = "") -> Verdict:
            if static:
                return patient.judge(task, cases, Track.STATIC, candidate_of({"kernel.cpp": static}))
            [golden] = [golden for golden in task.goldens if golden.track is Track.DYNAMIC]
            chosen = patient if edit is dict else hasty
            return chosen.judge(task, cases, Track.DYNAMIC, candidate_of(edit(read_golden(golden))))

        yield verdict


def cases_of(task: Task) -> list[Case]:
    return [case for case in task.cases if case.profiles & {"smoke", "cpu"}]


def edited(name: str, old: str, new: str) -> Edit:
    def edit(files: Mapping[str, str]) -> Mapping[str, str]:
        [file] = [file for file in files if file.endswith(name)]
        assert old in files[file]
        return {**files, file: files[file].replace(old, new, 1)}

    return edit


#: All tests of an operator follow each other, in one worker: it compiles the host side once.
EACH = pytest.mark.parametrize("name", sorted(SUITE), scope="module")


@EACH
def test_cases(judge: Callable[..., Verdict], ragged_tasks: Mapping[str, Task], name: str) -> None:
    """Public and ragged ones in one judgement: most of its time is compiling."""
    task, ragged = SUITE[name], ragged_tasks[name].cases if name in ragged_tasks else ()
    assert not {case.id for case in task.cases} & {case.id for case in ragged}
    verdict = judge(replace(task, cases=(*task.cases, *ragged)), [*cases_of(task), *ragged])
    assert_faultless(verdict)
    assert_times_as_recorded(verdict, task, Track.DYNAMIC)


def test_files_are_readable() -> None:
    for name, task in SUITE.items():
        [golden] = [golden for golden in task.goldens if golden.track is Track.DYNAMIC]
        files = read_golden(golden)
        expected = {f"op_host/{task.kernel}.cpp", f"op_kernel/{task.kernel}.cpp"}
        assert expected <= set(files), name  # beside headers of its own and those that it shares with others
        for file, text in files.items():
            assert text.startswith("// "), f"{name}: {file}"
            assert "\t" not in text, f"{name}: {file}"
            assert max(map(len, text.splitlines())) <= 120, f"{name}: {file}"


MISTAKES = read_table(Path(__file__).with_name("swish_mistakes.yaml"))


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_are_told_apart(judge: Callable[..., Verdict], mistake: str) -> None:
    file, old, new, outcome = MISTAKES[mistake].values()
    task = SUITE["Swish"]
    verdict = judge(task, [task.case("5"), task.case("smoke")], edited(file, old, new))
    said = all_said(verdict)
    assert verdict.outcome is Outcome(outcome), [str(diagnostic) for diagnostic in said]
    if outcome != "wrong_value":
        assert any(diagnostic.file.startswith("op_") and diagnostic.line for diagnostic in said), [
            str(diagnostic) for diagnostic in said
        ]


@pytest.fixture(scope="module")
def backend() -> Iterator[ReferenceBackend]:
    """It keeps the host side of an operator that it has compiled."""
    backend = ReferenceBackend(NoArgs())
    yield backend
    asyncio.run(backend.close())


@EACH
def test_static_kernels_are_derived_from_them(
    judge: Callable[..., Verdict], backend: ReferenceBackend, name: str
) -> None:
    """What the backend ``reference`` answers where there is no static golden. Smoke cases are the README's command."""
    task = SUITE[name]
    alone = replace(task, goldens=tuple(golden for golden in task.goldens if golden.track is Track.DYNAMIC))
    assert backend.refuses(alone, Track.STATIC) is None
    case = sorted(cases_of(task), key=lambda case: case.id in ("2", "4"))[-1]
    answer = ask(backend, alone, case)
    assert isinstance(answer, Completion), answer
    [text] = fenced(answer.text).values()  # type: ignore[union-attr]
    assert "tiling function" not in text
    assert_faultless(judge(task, [case], static=text))


def ask(backend: ReferenceBackend, task: Task, case: Case) -> Completion | GenerationFault:
    key = SampleKey(task.name, case.id, Track.STATIC, 0)
    request = GenerationRequest(key, task, case, Prompt((), "t@1", "h"), SamplingParams(), 0)

    async def talk() -> Completion | GenerationFault:
        [result] = [result async for result in backend.generate_many([request])]
        return result.answer

    return asyncio.run(talk())
