"""Limits on money, tokens and time: the run stops between two answers, keeps them, and the same command goes on."""

from __future__ import annotations

from dataclasses import replace

import pytest

from npukernelbench.config import resolve
from npukernelbench.errors import UsageError
from npukernelbench.nouns import Completion, FinishReason, TokenUsage
from npukernelbench.run.limits import Spending
from npukernelbench.run.runner import run
from npukernelbench.store import read_run
from npukernelbench.testing import FakeBackend, RecordingObserver


def config(**options):
    return resolve(environ={}, options=options)


def completion(prompt=100, answer=50, cached=False):
    return Completion("", FinishReason.STOP, usage=TokenUsage(prompt, answer), cached=cached)


class Counted(FakeBackend):
    """Counts 150 tokens per answer."""

    async def generate_many(self, requests):
        async for result in super().generate_many(requests):
            yield result._replace(answer=replace(result.answer, usage=TokenUsage(100, 50)))


def test_a_limit_on_tokens_stops_the_run_and_a_higher_one_continues_it(make_plan, plugins, fakes, watcher):
    fakes.backend = Counted
    words = {"delay_s": 0.01}
    first = make_plan(model_args=words, samples=8, config=config(max_tokens_total=200))
    summary = run(first, plugins, watcher)
    stored = read_run(first.directory).samples
    assert summary.stopped.startswith("--max_tokens_total 200 (")
    assert 2 <= len(stored) < 32
    assert any("is reached: no more questions" in message for message in watcher.messages)
    assert all(sample.verdict is not None for sample in stored.values()), "what was answered is judged"
    again = run(first, plugins, RecordingObserver())
    assert again.stopped, "the limit is over all sessions of the folder"
    assert len(read_run(first.directory).samples) == len(stored)
    whole = make_plan(model_args=words, samples=8, config=config(max_tokens_total=10**9))
    summary = run(whole, plugins, RecordingObserver())
    assert (summary.stopped, summary.valid, summary.total) == ("", 32, 32)


def test_a_run_without_time_asks_nothing(make_plan, plugins, watcher):
    plan = make_plan(config=config(max_time_s=1e-9))
    summary = run(plan, plugins, watcher)
    assert summary.stopped == "--max_time 1e-09 s"
    assert summary.valid == 0
    assert run(make_plan(config=config()), plugins, RecordingObserver()).valid == 4


def test_costs_need_a_price(make_plan):
    with pytest.raises(UsageError, match="price of fake is not known"):
        Spending(make_plan(config=config(max_cost=1.0)), ())
    plan = make_plan(config=config(max_cost=1.0), model="openai", model_args={"model": "gpt-4o"})
    spending = Spending(plan, [completion(cached=True, prompt=10**9)])
    assert spending.reached() == ""
    spending.add(completion(prompt=10**9))
    assert spending.reached().startswith("--max_cost 1 USD (")


def test_time_is_that_of_the_session(make_plan):
    now = [5.0]
    spending = Spending(make_plan(config=config(max_time_s=10.0)), (), clock=lambda: now[0])
    assert (spending.left_s, spending.reached()) == (10.0, "")
    now[0] = 15.0
    assert (spending.left_s, spending.out_of_time) == (0.0, True)
