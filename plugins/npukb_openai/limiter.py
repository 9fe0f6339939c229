"""How many requests are under way: halved when the server says it is too busy, grown slowly while it does not."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

__all__ = ["Limiter"]


class Limiter:
    """A semaphore with a moving limit between 1 and ``most`` (additive increase, multiplicative decrease).

    A burst of refusals belongs to one decision: only a request that started after the last halving may halve again.
    Waiters are served in the order in which they came. Not for use from several event loops.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self._limit = float(most)
        self._under_way = 0
        self._epoch = 0
        self._waiting: deque[asyncio.Future[None]] = deque()

    @property
    def limit(self) -> int:
        """Requests that may be under way now."""
        return max(1, int(self._limit))

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[int]:
        """Hold one of the slots. Yields the epoch to hand to :meth:`too_busy`."""
        await self._acquire()
        try:
            yield self._epoch
        finally:
            self._under_way -= 1
            self._wake()

    def too_busy(self, epoch: int) -> None:
        """The server refused a request that started in ``epoch``."""
        if epoch == self._epoch:
            self._limit = max(1.0, self._limit / 2)
            self._epoch += 1

    def answered(self) -> None:
        """The server answered: one more slot after about as many answers as there are slots."""
        self._limit = min(float(self.most), self._limit + 1 / self._limit)
        self._wake()

    async def _acquire(self) -> None:
        # A newcomer must not overtake those that wait.
        if self._under_way < self.limit and not self._waiting:
            self._under_way += 1
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await turn  # what completes the future has counted the slot
        except asyncio.CancelledError:
            # Cancelled after its turn had come: the slot that was counted for it must be given on.
            if turn.done() and not turn.cancelled():
                self._under_way -= 1
                self._wake()
            else:
                self._waiting.remove(turn)
            raise

    def _wake(self) -> None:
        while self._waiting and self._under_way < self.limit:
            turn = self._waiting.popleft()
            if not turn.done():
                self._under_way += 1
                turn.set_result(None)
