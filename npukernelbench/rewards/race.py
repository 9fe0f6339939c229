"""One request and two servers: a straggler is overtaken.

A request that takes longer than nearly all before it did is sent to a second server as well, and the first answer is
taken. Few are: a server that is slow because there is much to do would be slower still if everything were sent twice.
"""

from __future__ import annotations

import threading
from collections import defaultdict, deque
from collections.abc import Callable, Iterator
from queue import Empty, SimpleQueue
from typing import Generic, NamedTuple, TypeVar

__all__ = ["Hedge", "Outcome", "race"]

S = TypeVar("S")
T = TypeVar("T")

#: How much may be sent twice, and how much of that may be saved up.
_SHARE = 0.05
_MOST_SAVED = 4.0
#: Requests of a size that have to be known before any is a straggler, and how many of the last are remembered.
_KNOWN, _REMEMBERED = 20, 200
#: A request is a straggler when it takes so much longer than 95 of 100.
_LONGER = 1.5
#: And no sooner than this: what is faster is not worth it.
_SHORTEST_S = 1.0


class Hedge:
    """When a request is a straggler, from what others of its size took. Safe for several threads."""

    def __init__(self) -> None:
        # By powers of two: few requests have exactly the same size.
        self._took: defaultdict[int, deque[float]] = defaultdict(lambda: deque(maxlen=_REMEMBERED))
        # So that the first straggler can be overtaken.
        self._saved = 1.0
        self._lock = threading.Lock()

    def delay_s(self, size: int) -> float | None:
        """How long to wait for an answer before somebody else is asked, too; None while that is not known."""
        with self._lock:
            took = sorted(self._took[size.bit_length()])
        return max(_SHORTEST_S, _LONGER * took[len(took) * 19 // 20]) if len(took) >= _KNOWN else None

    def may(self) -> bool:
        """Whether one more may be sent twice. It counts as sent."""
        with self._lock:
            if self._saved < 1.0:
                return False
            self._saved -= 1.0
            return True

    def note(self, size: int, took_s: float) -> None:
        """A request was answered."""
        with self._lock:
            self._took[size.bit_length()].append(took_s)
            self._saved = min(_MOST_SAVED, self._saved + _SHARE)


class Outcome(NamedTuple, Generic[S, T]):
    """What a server answered, or why it did not."""

    server: S
    answer: T | None
    error: Exception | None


def race(
    first: S, ask: Callable[[S], T], delay_s: float | None, second: Callable[[], S | None]
) -> Iterator[Outcome[S, T]]:
    """What ``ask`` gives for ``first`` and, when that takes longer than ``delay_s``, for the server that ``second``
    names then, in the order in which they answer. Whoever has enough stops asking; the other's answer is lost.
    """
    if delay_s is None:
        yield _asked(first, ask)
        return
    ended: SimpleQueue[Outcome[S, T]] = SimpleQueue()

    def start(server: S) -> None:
        # No pool: a server that hangs would keep one of its threads, and the process waits for these at its end.
        threading.Thread(target=lambda: ended.put(_asked(server, ask)), name="ask", daemon=True).start()

    start(first)
    try:
        yield ended.get(timeout=delay_s)
        return
    except Empty:
        other = second()
    if other is not None:
        start(other)
        yield ended.get()
    yield ended.get()


def _asked(server: S, ask: Callable[[S], T]) -> Outcome[S, T]:
    """Boundary: what goes wrong is an outcome, since another thread decides what becomes of it."""
    try:
        return Outcome(server, ask(server), None)
    except Exception as error:  # noqa: BLE001
        return Outcome(server, None, error)
