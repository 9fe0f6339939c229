"""Judging that begins before anybody waits for it.

A trainer hands over each answer as soon as the model has ended it, and asks for the rewards when its batch is complete.
Answers that come close together go to the judge in one batch, ordered by task, so that inputs and references of a case
are made once; an answer that is there already is not sent again.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from hashlib import sha256
from typing import NamedTuple

from npukernelbench.rewards.reward import Reward
from npukernelbench.rewards.scoring import Answer

__all__ = ["Ahead", "Figures"]

#: How long an answer waits for others, and how many go together.
_LINGER_S = 0.05
_BATCH = 64
#: Batches that are judged at the same time, a thread each; a pool of judges limits itself.
_AT_ONCE = 32
#: Rewards that nobody has asked for yet, and verdicts of answers that may come again.
_KEPT = 20_000


class Figures(NamedTuple):
    """Since the start, or since others of these were taken: rewards that were asked for, answers that were judged for
    them, and seconds: that passed, in which at least one answer was being judged, and in which a trainer waited.
    """

    rewards: int = 0
    judged: int = 0
    passed_s: float = 0.0
    judging_s: float = 0.0
    waited_s: float = 0.0

    @property
    def rewards_per_s(self) -> float:
        """Over all of the time, generation included."""
        return self.rewards / self.passed_s if self.passed_s else 0.0

    @property
    def overlapped(self) -> float:
        """The share of judging in which nobody waited for it."""
        return max(0.0, 1.0 - self.waited_s / self.judging_s) if self.judging_s else 0.0

    def since(self, before: Figures) -> Figures:
        """What came after these."""
        return Figures(
            self.rewards - before.rewards,
            self.judged - before.judged,
            self.passed_s - before.passed_s,
            self.judging_s - before.judging_s,
            self.waited_s - before.waited_s,
        )


@dataclass
class _Spans:
    """How long at least one of several things went on."""

    total_s: float = 0.0
    open: int = 0
    since: float = 0.0

    def step(self, more: int, now: float) -> None:
        """One begins (1) or ends (-1)."""
        if self.open:
            self.total_s += now - self.since
        self.open, self.since = self.open + more, now

    def until(self, now: float) -> float:
        """All of it so far."""
        return self.total_s + (now - self.since if self.open else 0.0)


class _Fresh(NamedTuple):
    """An answer that nobody has judged yet."""

    answer: Answer
    key: bytes
    promised: Future[Reward]


class Ahead:
    """Judges with ``score`` (:class:`~npukernelbench.rewards.scoring.Scoring`'s, or any like it) while its callers do
    other things. Safe for several threads and for event loops.
    """

    def __init__(self, score: Callable[[Sequence[Answer]], list[Reward]]) -> None:
        self._score = score
        self._known: OrderedDict[bytes, Future[Reward]] = OrderedDict()
        self._fresh: list[_Fresh] = []
        self._pool = ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="ahead")
        self._timer: threading.Timer | None = None
        self._lock = threading.Lock()
        self._start = time.monotonic()
        self._judging, self._waiting = _Spans(), _Spans()
        self._rewards = self._judged = 0

    def begin(self, answers: Sequence[Answer]) -> list[Future[Reward]]:
        """Begin judging; returns at once. A future raises what ``score`` raised."""
        with self._lock:
            futures = [self._promised(answer) for answer in answers]
            full = len(self._fresh) >= _BATCH
            if self._fresh and self._timer is None and not full:
                self._timer = threading.Timer(_LINGER_S, self._send)
                # Python waits for other threads when it ends.
                self._timer.daemon = True
                self._timer.start()
        # Outside the lock, which `_send` takes itself.
        if full:
            self._send()
        return futures

    def rewards(self, answers: Sequence[Answer]) -> list[Reward]:
        """The rewards, waiting for those that are not there."""
        futures = self.begin(answers)
        # Without lingering: this caller brings nothing more while it waits.
        self._send()
        self._waits(1)
        try:
            return [future.result() for future in futures]
        finally:
            self._waits(-1, len(answers))

    async def rewards_async(self, answers: Sequence[Answer]) -> list[Reward]:
        """The same for an event loop. Whoever waits with one answer each has them judged together."""
        futures = self.begin(answers)
        self._waits(1)
        try:
            return list(await asyncio.gather(*(asyncio.wrap_future(future) for future in futures)))
        finally:
            self._waits(-1, len(answers))

    @property
    def figures(self) -> Figures:
        """What was done so far."""
        with self._lock:
            now = time.monotonic()
            spent = self._judging.until(now), self._waiting.until(now)
            return Figures(self._rewards, self._judged, now - self._start, *spent)

    def close(self) -> None:
        """Wait for what is being judged."""
        self._send()
        self._pool.shutdown(wait=True)

    def _waits(self, more: int, rewards: int = 0) -> None:
        """Somebody begins (1) to wait or ends (-1), with so many rewards."""
        with self._lock:
            self._waiting.step(more, time.monotonic())
            self._rewards += rewards

    def _promised(self, answer: Answer) -> Future[Reward]:
        # The text itself, of thousands of answers, would be much to keep.
        key = sha256(repr(answer).encode(errors="surrogatepass")).digest()
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = Future()
            # Others wait for it as well: whoever is cancelled cannot cancel it.
            known.set_running_or_notify_cancel()
            self._fresh.append(_Fresh(answer, key, known))
            while len(self._known) > _KEPT:
                # Also one that is not judged yet: whoever waits for it holds its future.
                self._known.popitem(last=False)
        else:
            self._known.move_to_end(key)
        return known

    def _send(self) -> None:
        """Have judged what has come together so far."""
        with self._lock:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None
            fresh = sorted(self._fresh, key=lambda pending: str(pending.answer.question))
            self._fresh = []
        for first in range(0, len(fresh), _BATCH):
            self._pool.submit(self._judge, fresh[first : first + _BATCH])

    def _judge(self, batch: Sequence[_Fresh]) -> None:
        """Boundary, in a thread of its own: whoever asks for a reward gets what went wrong."""
        with self._lock:
            self._judging.step(1, time.monotonic())
        try:
            rewards: list[Reward] | Exception = self._score([pending.answer for pending in batch])
        except Exception as error:  # noqa: BLE001
            rewards = error
        with self._lock:
            self._judging.step(-1, time.monotonic())
            self._judged += len(batch)
            for index, pending in enumerate(batch):
                # A fault says nothing of the answer: the next time it is judged again.
                faulty = isinstance(rewards, Exception) or rewards[index].value is None
                if faulty and self._known.get(pending.key) is pending.promised:
                    del self._known[pending.key]
        # Outside the lock: a future calls back in this thread, and whoever is called may ask for more.
        for index, pending in enumerate(batch):
            if isinstance(rewards, Exception):
                pending.promised.set_exception(rewards)
            else:
                pending.promised.set_result(rewards[index])
