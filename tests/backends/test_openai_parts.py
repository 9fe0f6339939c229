"""The limiter and the arithmetic of repetition, without a server."""

from __future__ import annotations

import asyncio

import pytest

from npukb_openai.faults import Action, backoff_s, classify
from npukb_openai.limiter import Limiter


class StatusError(Exception):
    """Looks like a client's status error."""

    def __init__(self, status_code: int, headers: dict[str, str] | None = None) -> None:
        super().__init__("no")
        self.status_code = status_code
        self.response = type("Response", (), {"headers": headers or {}})()


def test_the_limit_is_halved_once_per_burst_and_grows_back_slowly() -> None:
    async def scenario() -> list[int]:
        limiter = Limiter(16)
        limits = []
        async with limiter.slot() as first, limiter.slot() as second:
            limiter.too_busy(first)
            limiter.too_busy(second)  # the same burst: no second halving
            limits.append(limiter.limit)
        for _ in range(10):
            async with limiter.slot() as epoch:
                limiter.too_busy(epoch)
        limits.append(limiter.limit)
        for _ in range(4):
            limiter.answered()
        limits.append(limiter.limit)
        for _ in range(1000):
            limiter.answered()
        return [*limits, limiter.limit]

    assert asyncio.run(scenario()) == [8, 1, 3, 16]


def test_slots_are_given_in_order_and_never_beyond_the_limit() -> None:
    async def scenario() -> tuple[list[int], int]:
        limiter = Limiter(2)
        order: list[int] = []
        under_way = most = 0

        async def work(number: int) -> None:
            nonlocal under_way, most
            async with limiter.slot():
                order.append(number)
                under_way += 1
                most = max(most, under_way)
                await asyncio.sleep(0)
                under_way -= 1

        await asyncio.gather(*(work(number) for number in range(20)))
        return order, most

    assert asyncio.run(scenario()) == (list(range(20)), 2)


def test_a_cancelled_waiter_takes_no_slot_with_it() -> None:
    async def scenario() -> str:
        limiter = Limiter(1)

        async def work() -> str:
            async with limiter.slot():
                return "done"

        async with limiter.slot():
            waiting = [asyncio.create_task(work()) for _ in range(3)]
            await asyncio.sleep(0)
            waiting[0].cancel()  # while it waits
            await asyncio.sleep(0)
        waiting[1].cancel()  # when it was just given the slot
        assert isinstance((await asyncio.gather(*waiting[:2], return_exceptions=True))[1], asyncio.CancelledError)
        return await asyncio.wait_for(waiting[2], 5)

    assert asyncio.run(scenario()) == "done"


def test_waits_double_up_to_the_cap_with_jitter_that_repeats() -> None:
    waits = [backoff_s(7, attempt, first_s=1.0, most_s=8.0) for attempt in range(6)]
    assert waits == [backoff_s(7, attempt, first_s=1.0, most_s=8.0) for attempt in range(6)]
    assert waits != [backoff_s(8, attempt, first_s=1.0, most_s=8.0) for attempt in range(6)]
    for wait, whole in zip(waits, [1, 2, 4, 8, 8, 8], strict=True):
        assert whole / 2 <= wait <= whole


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "2.5"}, 2.5),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after": "nan"}, None),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0.0),
        ({"retry-after": "soon"}, None),
    ],
)
def test_retry_after(headers: dict[str, str], seconds: float | None) -> None:
    assert classify(StatusError(429, headers)).retry_after_s == seconds


@pytest.mark.parametrize(
    ("error", "action"),
    [
        (StatusError(401), Action.STOP),
        (StatusError(418), Action.GIVE_UP),
        (StatusError(429), Action.RETRY),
        (StatusError(529), Action.RETRY),
        (asyncio.TimeoutError(), Action.RETRY),
        (ValueError("no JSON"), Action.RETRY),
        (TypeError("unexpected argument"), Action.GIVE_UP),
    ],
)
def test_what_errors_mean(error: Exception, action: Action) -> None:
    assert classify(error).action is action
