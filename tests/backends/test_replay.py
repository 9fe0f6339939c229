"""The replay backend on every layout it reads."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path

import pytest

import npukb_replay
from npukernelbench.errors import BackendError, UsageError
from npukernelbench.generate import (
    Described,
    GenerationFault,
    GenerationRequest,
    Hints,
    SamplingParams,
    answers,
    candidate_of,
    make_backend,
)
from npukernelbench.generate.extract import extract_with
from npukernelbench.generate.parsers import auto
from npukernelbench.nouns import Completion, FinishReason, Prompt, SampleKey, Track
from npukernelbench.plugins import Plugins
from npukernelbench.run.runner import run
from npukernelbench.store import Manifest, RunStore
from npukernelbench.testing import FakeBackend, FakePlugin, RecordingObserver, fake_plugins, make_plan
from npukernelbench.testing.tasks import tiny_case, tiny_task

TASK = tiny_task("Tiny-Sqrt", cases=(tiny_case("smoke"), tiny_case("0")))
PROMPT = Prompt((), "t@1", "h")


def request(index: int = 0, case: str = "smoke") -> GenerationRequest:
    key = SampleKey(TASK.name, case, Track.STATIC, index)
    return GenerationRequest(key, TASK, TASK.case(case), PROMPT, SamplingParams(), 0)


def replay(path: Path, *requests: GenerationRequest) -> list[Completion | GenerationFault]:
    registration = Plugins.load(environ={"NPUKB_LOAD_PLUGINS": ""}).backends.find("replay")
    backend = make_backend(registration, {"path": str(path)})

    async def collect() -> list[Completion | GenerationFault]:
        return [result.answer async for result in answers(backend, requests or (request(),))]

    return asyncio.run(collect())


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())
    return path


def text_of(answer: Completion | GenerationFault) -> str:
    assert isinstance(answer, Completion), answer
    return answer.text


def fault_of(answer: Completion | GenerationFault) -> str:
    assert isinstance(answer, GenerationFault), answer
    assert not answer.retryable
    return answer.message


@pytest.mark.parametrize(
    "name",
    [
        "Tiny-Sqrt/smoke/0.md",
        "tiny_sqrt/SMOKE/0.txt",
        "TINY_SQRT__smoke__0.md",
        "tiny-sqrt/0.md",
        "Tiny_Sqrt.md",
        "tiny-sqrt__smoke__00.txt",
    ],
)
def test_every_layout_is_found(tmp_path: Path, name: str) -> None:
    write(tmp_path / name, "I answer.")
    assert text_of(replay(tmp_path)[0]) == "I answer."


def test_the_kernels_name_stands_for_the_task(tmp_path: Path) -> None:
    write(tmp_path / "my_sqrt.txt", "by kernel")
    assert text_of(replay(tmp_path, replace(request(), task=replace(TASK, kernel="my_sqrt")))[0]) == "by kernel"


def test_a_task_and_its_kernel_name_may_not_compete(tmp_path: Path) -> None:
    write(tmp_path / "my_sqrt.txt", "by kernel")
    write(tmp_path / "tiny_sqrt.txt", "by task")
    message = fault_of(replay(tmp_path, replace(request(), task=replace(TASK, kernel="my_sqrt")))[0])
    assert "my_sqrt.txt" in message
    assert "tiny_sqrt.txt" in message


@pytest.mark.parametrize("source", ["int a;\n", "int a;\r\nint b;\n", "// ```cpp\n```\nint a;\n", "// ü — 张量\n"])
def test_a_kernel_file_comes_back_byte_for_byte(tmp_path: Path, source: str) -> None:
    write(tmp_path / "Tiny-Sqrt.cpp", source)
    answer = replay(tmp_path)[0]
    assert isinstance(answer, Completion)
    assert extract_with(auto, answer, TASK, Track.STATIC) == candidate_of({"kernel.cpp": source})


def test_the_more_specific_name_wins(tmp_path: Path) -> None:
    write(tmp_path / "Tiny-Sqrt/smoke/0.md", "case and index")
    write(tmp_path / "Tiny-Sqrt/0.md", "index, any case")
    write(tmp_path / "Tiny-Sqrt/1.md", "another index, any case")
    answers = replay(tmp_path, request(0), request(0, "0"), request(1))
    assert [text_of(answer) for answer in answers] == ["case and index", "index, any case", "another index, any case"]


def test_what_is_missing_is_a_fault_that_says_what_was_looked_for(tmp_path: Path) -> None:
    write(tmp_path / "Tiny-Sqrt.cpp", "int a;")
    message = fault_of(replay(tmp_path, request(1))[0])
    assert message == f"none under {tmp_path}; it could be, for instance, in Tiny-Sqrt/smoke/1.md or Tiny-Sqrt/1.cpp"


@pytest.mark.parametrize(
    "names", [("Tiny-Sqrt.cpp", "tiny_sqrt.md"), ("Tiny-Sqrt/smoke/0.md", "Tiny-Sqrt__smoke__0.md")]
)
def test_two_files_for_one_answer_are_an_error(tmp_path: Path, names: tuple[str, str]) -> None:
    for name in names:
        write(tmp_path / name, "int a;")
    with pytest.raises(BackendError, match="two answers") as caught:
        replay(tmp_path)
    assert all(str(tmp_path / name) in str(caught.value) for name in names)


def test_records_of_a_jsonl_file(tmp_path: Path) -> None:
    records = [
        {"task": "tiny_sqrt", "case": "smoke", "index": 0, "text": "zero", "score": 1},
        {"task": "Tiny-Sqrt", "case": "smoke", "index": 1, "text": "cut", "finish_reason": "length", "reasoning": "r"},
        {"task": "Tiny-Sqrt", "index": 2, "text": "any case"},
    ]
    file = write(tmp_path / "answers.jsonl", "\n".join(map(json.dumps, records)) + "\n\n")
    for path in (file, tmp_path):
        answers = replay(path, request(0), request(1), request(2))
        assert answers == [
            Completion("zero"),
            Completion("cut", FinishReason.LENGTH, reasoning="r"),
            Completion("any case"),
        ]


@pytest.mark.parametrize(
    "line",
    ["not json", "[]", '{"task": "a"}', '{"task": 1, "text": "x"}', '{"task": "a", "text": "x", "index": "one"}'],
)
def test_a_broken_record_is_an_error_with_its_line(tmp_path: Path, line: str) -> None:
    file = write(tmp_path / "answers.jsonl", f'{{"task": "a", "text": "x"}}\n{line}\n')
    with pytest.raises(BackendError, match="not an answer to replay") as caught:
        replay(file)
    assert str(caught.value).startswith(f"{file}:2: ")


def test_a_run_is_replayed_from_its_own_folder(tmp_path: Path) -> None:
    store = RunStore.open(tmp_path / "run", Manifest(identity={"model": "m"}, provenance={}))
    completion = Completion("from the run", FinishReason.LENGTH, reasoning="r", model="m")
    store.add_completion(request(0).key, PROMPT, completion)
    store.close()
    answers = replay(tmp_path / "run", request(0), request(1))
    assert answers[0] == completion
    assert "none under" in fault_of(answers[1])


def test_a_file_that_is_no_text_is_a_fault_with_its_place(tmp_path: Path) -> None:
    (tmp_path / "Tiny-Sqrt.cpp").write_bytes(b"int a;\xff")
    message = fault_of(replay(tmp_path)[0])
    assert "Tiny-Sqrt.cpp: is not UTF-8 text" in message
    assert "byte 6" in message


def test_a_path_with_nothing_to_replay_stops_the_run(tmp_path: Path) -> None:
    with pytest.raises(BackendError, match="there is nothing to replay at"):
        replay(tmp_path / "missing")
    (tmp_path / "notes.pdf").touch()
    with pytest.raises(BackendError, match="expected: <task>"):
        replay(tmp_path)


def test_what_is_replayed_is_part_of_a_runs_identity(tmp_path: Path) -> None:
    def described(path: Path) -> object:
        registration = Plugins.load(environ={"NPUKB_LOAD_PLUGINS": ""}).backends.find("replay")
        backend = make_backend(registration, {"path": str(path)})
        assert isinstance(backend, Described)
        return backend.describe()

    kernel = write(tmp_path / "Tiny-Sqrt.cpp", "int a;")
    before = described(tmp_path)
    write(tmp_path / "notes.rst", "is no answer")
    assert described(tmp_path) == before
    write(kernel, "int b;")
    assert described(tmp_path) != before
    with pytest.raises(BackendError, match="nothing to replay"):
        described(tmp_path / "missing")


def test_the_path_is_required() -> None:
    with pytest.raises(UsageError) as caught:
        make_backend(Plugins.load(environ={"NPUKB_LOAD_PLUGINS": ""}).backends.find("replay"), {})
    assert caught.value.field == "model_args.path"


def test_a_run_of_several_turns_is_replayed_turn_by_turn(tmp_path: Path) -> None:
    fakes = FakePlugin()
    words = ("compile_error", "double", "ok")
    fakes.backend = lambda args: FakeBackend(args, answer=lambda r: f"```cpp\n// fake: {words[r.key.turn]}\n```")
    plugins = fake_plugins(fakes)
    plugins.register(npukb_replay, "replay-of-the-test")
    first = make_plan(tmp_path / "first", turns=3)
    assert run(first, plugins, RecordingObserver()).ok == 4
    args = {"path": str(first.directory)}
    again = make_plan(tmp_path / "again", turns=3, model="replay", model_args=args)
    summary = run(again, plugins, RecordingObserver())
    assert summary.ok == 4
    assert [row.asked for row in summary.results.turns] == [4, 4, 4]
    longer = make_plan(tmp_path / "longer", turns=5, hints=Hints.FULL, model="replay", model_args=args)
    summary = run(longer, plugins, RecordingObserver())
    assert summary.ok == 4
    assert [row.asked for row in summary.results.turns] == [4, 4, 4, 0, 0]
