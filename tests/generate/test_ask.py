"""Every request is answered exactly once, whatever a backend does."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing
from typing import ClassVar

import pytest
from pydantic import BaseModel, ConfigDict

from npukernelbench.errors import BackendError, PluginError, UsageError
from npukernelbench.generate import (
    Backend,
    Capabilities,
    GenerationRequest,
    GenerationResult,
    NoArgs,
    SamplingParams,
    TextBackend,
    answers,
    make_backend,
)
from npukernelbench.nouns import Completion, Prompt, SampleKey, Track
from npukernelbench.plugins import Registration
from npukernelbench.testing import FakeBackend
from npukernelbench.testing.tasks import tiny_task

TASK = tiny_task()


def request(index: int) -> GenerationRequest:
    key = SampleKey(TASK.name, "smoke", Track.STATIC, index)
    return GenerationRequest(key, TASK, TASK.case("smoke"), Prompt((), "t@1", "h"), SamplingParams(), index)


class Scripted:
    """Yields what its script says, noting when it is opened and closed."""

    Args: ClassVar[type[BaseModel]] = NoArgs
    capabilities = Capabilities()

    def __init__(self, *script: object) -> None:
        self.script = script
        self.calls: list[str] = []

    async def open(self) -> None:
        self.calls.append("open")

    async def close(self) -> None:
        self.calls.append("close")

    async def generate_many(self, requests: Sequence[GenerationRequest]) -> AsyncIterator[GenerationResult]:
        self.calls.append(f"ask {len(requests)}")
        for step in self.script:
            if isinstance(step, Exception):
                raise step
            if isinstance(step, int):
                yield GenerationResult(request(step), Completion(f"answer {step}"))
            else:
                yield step  # type: ignore[misc]


def ask(backend: Backend, *indices: int) -> dict[int, str]:
    async def collect() -> list[GenerationResult]:
        return [result async for result in answers(backend, [request(index) for index in indices])]

    results = asyncio.run(collect())
    texts = {
        result.request.key.index: str(getattr(result.answer, "text", getattr(result.answer, "message", "")))
        for result in results
    }
    assert len(texts) == len(results), "a key was answered twice"
    return texts


def test_answers_come_in_any_order_between_open_and_close() -> None:
    backend = Scripted(1, 0)
    assert ask(backend, 0, 1) == {1: "answer 1", 0: "answer 0"}
    assert backend.calls == ["open", "ask 2", "close"]


def test_without_requests_the_backend_is_never_opened() -> None:
    backend = Scripted()
    assert ask(backend) == {}
    assert backend.calls == []


def test_the_same_key_is_asked_and_answered_once() -> None:
    backend = Scripted(0, 0, 1, 0)
    assert ask(backend, 0, 1, 0) == {0: "answer 0", 1: "answer 1"}
    assert backend.calls[1] == "ask 2"


def test_answers_nobody_asked_for_are_ignored() -> None:
    assert ask(Scripted(7, 0), 0) == {0: "answer 0"}


def test_a_backend_that_breaks_off_costs_only_what_it_did_not_answer() -> None:
    backend = Scripted(0, RuntimeError("card fell off the bus"))
    answers = ask(backend, 0, 1, 2)
    assert answers[0] == "answer 0"
    assert answers[1] == answers[2] == "the backend stopped early with RuntimeError: card fell off the bus"
    assert backend.calls[-1] == "close"


def test_a_backend_that_forgets_a_request_is_noticed() -> None:
    assert ask(Scripted(0), 0, 1)[1] == "the backend ended without answering this request"


@pytest.mark.parametrize("nonsense", ["text", None, GenerationResult(request(0), "text")])  # type: ignore[arg-type]
def test_a_backend_that_yields_nonsense_is_noticed(nonsense: object) -> None:
    assert "yielded" in ask(Scripted(nonsense), 0)[0]


def test_a_backend_error_comes_through_after_what_was_answered() -> None:
    backend = Scripted(0, BackendError("no such model"))
    received: list[int] = []

    async def collect() -> None:
        async for result in answers(backend, [request(0), request(1)]):
            received.append(result.request.key.index)

    with pytest.raises(BackendError, match="no such model"):
        asyncio.run(collect())
    assert received == [0]
    assert backend.calls[-1] == "close"


def test_a_backend_that_cannot_open_is_a_backend_error() -> None:
    class Closed(Scripted):
        async def open(self) -> None:
            raise OSError("no device")

    with pytest.raises(BackendError, match="Closed could not be opened: OSError: no device"):
        ask(Closed(), 0)


def test_a_backend_that_cannot_close_loses_no_answer() -> None:
    class Stuck(Scripted):
        async def close(self) -> None:
            raise OSError("stuck")

    assert ask(Stuck(0), 0) == {0: "answer 0"}


def test_generate_many_must_be_an_iterator() -> None:
    class Plain(Scripted):
        async def generate_many(self, requests: Sequence[GenerationRequest]) -> list[GenerationResult]:  # type: ignore[override]
            return []

    with pytest.raises(BackendError, match="not an asynchronous iterator"):
        ask(Plain(), 0)  # type: ignore[arg-type]
    gc.collect()


class _Overlapping(FakeBackend):
    """Answers request 0 when request 3 has been answered, which is asked later; breaks off at request 9."""

    capabilities = Capabilities(overlapping=True)

    def __init__(self) -> None:
        super().__init__()
        self.last = asyncio.Event()

    async def generate_many(self, requests: Sequence[GenerationRequest]) -> AsyncIterator[GenerationResult]:
        for request in requests:
            if request.key.index == 9:
                raise BackendError("no more")
            if request.key.index == 0:
                await self.last.wait()
            if request.key.index == 3:
                self.last.set()
            yield GenerationResult(request, Completion(str(request.key.index)))


def _asked_in_steps(backend: Backend, *steps: tuple[int, ...]) -> list[int]:
    """The order of answers to requests, of which some follow others."""
    left = [tuple(request(index) for index in step) for step in steps]

    async def more() -> tuple[GenerationRequest, ...]:
        await asyncio.sleep(0)
        return left.pop(0) if left else ()

    async def main() -> list[int]:
        return [result.request.key.index async for result in answers(backend, left.pop(0), more)]

    return asyncio.run(asyncio.wait_for(main(), 60))


def test_a_slow_answer_holds_up_none_that_follows_another() -> None:
    backend = _Overlapping()
    assert _asked_in_steps(backend, (0,), (1, 2), (3,)) == [1, 2, 3, 0]
    assert backend.closed


def test_the_first_error_of_several_streams_comes_through() -> None:
    backend = _Overlapping()
    with pytest.raises(BackendError, match="no more"):
        _asked_in_steps(backend, (0,), (1,), (9,))
    assert backend.closed


def test_several_streams_lose_and_repeat_nothing() -> None:
    answers = _asked_in_steps(_Overlapping(), *((10 + 3 * i, 11 + 3 * i, 12 + 3 * i) for i in range(200)))
    assert sorted(answers) == list(range(10, 610))


def test_stopping_early_closes_the_backend() -> None:
    backend = Scripted(0, 1, 2)

    async def first() -> int:
        async with aclosing(answers(backend, [request(i) for i in range(3)])) as results:
            async for result in results:
                return result.request.key.index
        raise AssertionError("no answer")

    assert asyncio.run(first()) == 0
    assert backend.calls == ["open", "ask 3", "close"]


class Shout(TextBackend):
    class Args(BaseModel):
        model_config = ConfigDict(extra="forbid", frozen=True)
        volume: int = 1

    def complete(self, request: GenerationRequest) -> str:
        assert isinstance(self.args, self.Args)
        if request.key.index == 2:
            raise ValueError("hoarse")
        return "A" * self.args.volume


def registration(target: object) -> Registration:
    return Registration(
        name="shout", target=target, plugin="shouter", distribution="shouter", version="1", kind="backend"
    )


def test_a_text_backend_needs_only_complete() -> None:
    backend = make_backend(registration(Shout), {"volume": 3})
    assert ask(backend, 0, 2, 1) == {0: "AAA", 1: "AAA", 2: "ValueError: hoarse"}


def test_a_text_backend_may_stop_the_run() -> None:
    class Gone(TextBackend):
        def complete(self, request: GenerationRequest) -> str:
            raise BackendError("the model is gone")

    with pytest.raises(BackendError, match="the model is gone"):
        ask(Gone(NoArgs()), 0, 1)


@pytest.mark.parametrize(
    ("args", "field"), [({"volume": "loud"}, "model_args.volume"), ({"volum": 1}, "model_args.volum")]
)
def test_wrong_model_args_are_a_usage_error(args: dict[str, object], field: str) -> None:
    with pytest.raises(UsageError, match="arguments of this backend: volume") as caught:
        make_backend(registration(Shout), args)
    assert caught.value.field == field


class NoBackend:
    Args = NoArgs

    def __init__(self, args: BaseModel) -> None:
        self.args = args


class Fragile(Shout):
    def __init__(self, args: BaseModel) -> None:
        raise RuntimeError("fragile")


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("npukernelbench.errors:UsageError", "not a class with an Args model"),
        (NoBackend, "lacks capabilities, open, generate_many, close"),
        (Fragile, "cannot be constructed: RuntimeError: fragile"),
    ],
)
def test_a_target_that_is_no_backend_is_a_plugin_error(target: object, message: str) -> None:
    with pytest.raises(PluginError, match=message):
        make_backend(registration(target), {})
