"""Answers by what they answer: what makes a hit, what does not, and files that are none."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path

import pytest

from npukernelbench.config import resolve
from npukernelbench.errors import StoreError
from npukernelbench.generate import GenerationRequest, GenerationResult, SamplingParams
from npukernelbench.generate.ask import answers
from npukernelbench.generate.cache import CachedBackend, CompletionCache, address, backend_facts
from npukernelbench.nouns import Completion, FinishReason, Message, TokenUsage
from npukernelbench.nouns.results import Tokens
from npukernelbench.run.runner import run
from npukernelbench.testing import FakeBackend, FakeBackendArgs, FakePlugin, RecordingObserver, fake_plugins, make_plan
from npukernelbench.testing.tasks import tiny_task
from tests.backends.asking import request

ANSWER = Completion(
    "text\ud800", FinishReason.LENGTH, "hm", TokenUsage(3, 4, 5), "m", {"temperature": 0.5, "stop": ["END"]}
)


def test_an_answer_comes_back_as_it_was_and_says_that_it_is_cached(tmp_path: Path) -> None:
    cache = CompletionCache(tmp_path / "deep" / "answers.db")
    assert cache.get("a") is None
    cache.put("a", ANSWER)
    cache.put("a", Completion("another"))
    cache.close()
    again = CompletionCache(tmp_path / "deep" / "answers.db")
    assert again.get("a") == replace(ANSWER, cached=True)
    again.close()


def test_a_file_that_is_no_cache_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "answers.db"
    path.write_text("no database, " * 100)
    with pytest.raises(StoreError, match="cannot be used"):
        CompletionCache(path)


def test_whatever_decides_an_answer_decides_its_address() -> None:
    base = request(tiny_task(), temperature=0.5)
    facts = {"backend": "fake", "args": {}, "facts": {}}
    here = address(facts, base)
    assert address(dict(facts), replace(base, task=tiny_task("Other"))) == here
    others = [
        address({**facts, "facts": {"checkpoint": "b"}}, base),
        address(facts, replace(base, seed=1)),
        address(facts, replace(base, params=SamplingParams(temperature=0.6))),
        address(facts, replace(base, params=replace(base.params, extra={"top_k": 5}))),
        address(facts, replace(base, key=replace(base.key, index=1))),
        address(facts, replace(base, prompt=replace(base.prompt, messages=(Message("user", "Else."),)))),
    ]
    assert len({here, *others}) == 7


def test_arguments_that_decide_nothing_take_no_part() -> None:
    from npukb_openai.args import OpenAIArgs
    from npukb_openai.backend import OpenAIBackend

    def facts(**args: object) -> object:
        return backend_facts("openai", OpenAIBackend(OpenAIArgs.model_validate({"model": "m", **args})))

    assert facts() == facts(concurrency=3, timeout_s=9.0, requests_per_minute=5.0, api_key_env="OTHER")
    assert facts() != facts(extra_body={"min_p": 0.1})
    assert facts() != facts(base_url="http://localhost:1/v1")


def test_a_second_run_pays_for_nothing_that_the_first_asked(tmp_path: Path) -> None:
    made: list[FakeBackend] = []
    fakes = FakePlugin()

    def backend(args: FakeBackendArgs) -> FakeBackend:
        first = not made

        def answer(request: GenerationRequest) -> str:
            return "fault: 503" if first and request.key.index else "```\nx\n```"

        made.append(FakeBackend(args, answer=answer))
        return made[-1]

    fakes.backend = backend
    config = resolve(environ={}, options={"use_cache": str(tmp_path / "answers.db")})
    plugins = fake_plugins(fakes)
    for number in range(3):
        plan = make_plan(tmp_path / str(number), config=config, samples=2)
        summary = run(plan, plugins, RecordingObserver())
    assert [len(backend.requests) for backend in made] == [8, 4, 0]
    assert [backend.opened for backend in made] == [True, True, False]
    assert made[1].closed
    assert summary.total == summary.valid == 8
    assert summary.results.spent.cached == 8
    assert summary.results.spent.tokens == Tokens()


def test_whoever_stops_early_ends_the_backends_stream_before_the_backend(tmp_path: Path) -> None:
    ended: list[str] = []

    class Streaming(FakeBackend):
        async def generate_many(self, requests: Sequence[GenerationRequest]) -> AsyncIterator[GenerationResult]:
            try:
                for one in requests:
                    yield GenerationResult(one, ANSWER)
            finally:
                ended.append("stream")

        async def close(self) -> None:
            ended.append("backend")

    async def first() -> GenerationResult:
        asked = [request(tiny_task()), request(tiny_task("Other"))]
        async with aclosing(answers(CachedBackend(Streaming(FakeBackendArgs()), tmp_path / "a.db", {}), asked)) as got:
            return await anext(got)

    assert asyncio.run(first()).answer == ANSWER
    assert ended == ["stream", "backend"]
