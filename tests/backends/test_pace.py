"""Limits per minute on a clock of our own: never exceeded over any minute, and no slower than they must be."""

from __future__ import annotations

import asyncio

from hypothesis import given
from hypothesis import strategies as st

from npukb_openai.pace import Pace, estimated_tokens


def sent_at(requests: float | None, tokens: float | None, sizes: list[float], counted: float = 0.0) -> list[float]:
    """When each of a row of requests is sent, all of them wanting to go at once."""
    clock = [0.0]
    times: list[float] = []

    async def sleep(seconds: float) -> None:
        clock[0] += seconds

    async def send() -> None:
        pace = Pace(requests, tokens, clock=lambda: clock[0], sleep=sleep)
        for size in sizes:
            await pace.wait(size)
            times.append(clock[0])
            pace.used(size, counted)

    asyncio.run(send())
    return times


@given(st.floats(1, 1000), st.integers(1, 60))
def test_requests_keep_an_even_pace(limit: float, count: int) -> None:
    times = sent_at(limit, None, [1.0] * count)
    for start in times:
        assert sum(start <= time < start + 60 for time in times) <= limit * 1.1 + 2
    assert times[-1] <= count * 60 / limit + 1e-6


@given(st.lists(st.floats(1, 5000), min_size=1, max_size=40))
def test_tokens_keep_an_even_pace(sizes: list[float]) -> None:
    limit = 10_000.0
    times = sent_at(None, limit, sizes)
    for start in times:
        within = sum(size for size, time in zip(sizes, times, strict=True) if start <= time < start + 60)
        assert within <= limit * 1.1 + 2 * max(sizes)


def test_without_limits_nobody_waits() -> None:
    assert sent_at(None, None, [1e9] * 5) == [0.0] * 5


def test_tokens_that_were_not_used_are_free_again() -> None:
    reserved = sent_at(None, 1000.0, [500.0] * 10)
    used = sent_at(None, 1000.0, [500.0] * 10, counted=50.0)
    assert used[-1] < reserved[-1] / 4


def test_the_longest_answer_counts() -> None:
    assert estimated_tokens(350, 1000) == 1100
    assert estimated_tokens(350, None) == 100
