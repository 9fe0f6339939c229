"""The reference backend answers with golden kernels."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from npukernelbench.generate import (
    GenerationFault,
    GenerationRequest,
    SamplingParams,
    answers,
    candidate_of,
    make_backend,
)
from npukernelbench.generate.extract import extract
from npukernelbench.nouns import PROMPTED_TRACKS, Completion, Golden, Prompt, SampleKey, Task, Track
from npukernelbench.plugins import Plugins
from npukernelbench.prompts import specialise
from npukernelbench.testing.tasks import tiny_task

GOLDEN = '#include "kernel_operator.h"\nextern "C" __global__ __aicore__ void tinysqrt(GM_ADDR x)\n{\n}\n'


def answer(task: Task, track: Track = Track.STATIC) -> Completion | GenerationFault:
    registration = Plugins.load(environ={"NPUKB_LOAD_PLUGINS": ""}).backends.find("reference")
    case = task.case("smoke") if track is Track.STATIC else None
    key = SampleKey(task.name, case.id if case else "", track, 0)
    request = GenerationRequest(key, task, case, Prompt((), "t@1", "h"), SamplingParams(), 0)

    async def first() -> Completion | GenerationFault:
        return [result.answer async for result in answers(make_backend(registration, {}), [request])][0]  # noqa: RUF015

    return asyncio.run(first())


def test_the_golden_kernel_is_specialised_and_survives_every_parser(tmp_path: Path) -> None:
    (tmp_path / "golden.cpp").write_text(GOLDEN)
    task = replace(tiny_task(), goldens=(Golden(Track.STATIC, tmp_path / "golden.cpp"),))
    completion = answer(task)
    assert isinstance(completion, Completion)
    expected = candidate_of({"kernel.cpp": specialise(task, task.case("smoke"), GOLDEN)})
    parsers = Plugins.load(autoload=False, environ={}).parsers
    for name in ("auto", "fenced"):
        assert extract(parsers.find(name), completion, task, Track.STATIC) == expected


def test_the_dynamic_golden_is_taken_as_it_is(tmp_path: Path) -> None:
    files = {"op_host/a_tiling.h": "// ```tiling```\n", "op_host/a.cpp": "// host\n", "op_kernel/a.cpp": GOLDEN}
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    task = replace(tiny_task(), goldens=(Golden(Track.DYNAMIC, tmp_path),))
    completion = answer(task, Track.DYNAMIC)
    assert isinstance(completion, Completion)
    parsers = Plugins.load(autoload=False, environ={}).parsers
    for name in ("auto", "fenced"):
        assert extract(parsers.find(name), completion, task, Track.DYNAMIC) == candidate_of(files)


@pytest.mark.parametrize("track", PROMPTED_TRACKS)
def test_a_task_without_a_golden_kernel_is_named(track: Track) -> None:
    assert answer(tiny_task("Bare"), track) == GenerationFault(
        f"task Bare has no golden kernel for the {track.value} track", retryable=False
    )


def test_a_golden_kernel_that_is_not_there_is_named(tmp_path: Path) -> None:
    fault = answer(replace(tiny_task(), goldens=(Golden(Track.STATIC, tmp_path / "gone.cpp"),)))
    assert isinstance(fault, GenerationFault)
    assert str(tmp_path / "gone.cpp") in fault.message


def test_golden_is_another_name_for_it() -> None:
    backends = Plugins.load(environ={"NPUKB_LOAD_PLUGINS": ""}).backends
    assert backends.find("golden") is backends.find("reference")
