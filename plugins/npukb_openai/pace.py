"""Limits per minute, kept before a server has to refuse: requests and tokens are sent at an even pace.

Each limit is a clock that runs ahead with every request by the time the request uses up; a request waits until its
clock is no more than a short burst ahead of the real one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from time import monotonic

__all__ = ["Pace", "estimated_tokens"]

#: How far requests may run ahead of an even pace, in seconds.
_BURST_S = 6.0
#: Characters per token before the server has counted any.
_CHARACTERS_PER_TOKEN = 3.5


class Pace:
    """``requests`` and ``tokens`` per minute, None for no limit. Waiters go in the order in which they came."""

    def __init__(
        self,
        requests: float | None,
        tokens: float | None,
        *,
        clock: Callable[[], float] = monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._per_request_s = 60.0 / requests if requests else 0.0
        self._per_token_s = 60.0 / tokens if tokens else 0.0
        self._clock, self._sleep = clock, sleep
        self._ahead: list[float] = [float("-inf"), float("-inf")]

    async def wait(self, tokens: float) -> None:
        """Wait for the turn of a request that may take ``tokens`` tokens."""
        now = self._clock()
        delay = max(self._advance(0, now, self._per_request_s), self._advance(1, now, self._per_token_s * tokens))
        if delay > 0:
            await self._sleep(delay)

    def used(self, estimated: float, counted: float) -> None:
        """A request took ``counted`` tokens where ``estimated`` were set aside; what was not used is free again."""
        if counted:
            self._ahead[1] -= self._per_token_s * max(0.0, estimated - counted)

    def _advance(self, which: int, now: float, cost_s: float) -> float:
        if cost_s <= 0:
            return 0.0
        # Time that was not used does not add up beyond the burst.
        begin = max(self._ahead[which], now - _BURST_S)
        self._ahead[which] = begin + cost_s
        return max(0.0, begin - now)


def estimated_tokens(characters: int, max_tokens: int | None) -> float:
    """Tokens to set aside: servers count the longest answer a request allows before they know how long it gets."""
    return characters / _CHARACTERS_PER_TOKEN + (max_tokens or 0)
