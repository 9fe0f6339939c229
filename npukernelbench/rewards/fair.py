"""Threads that serve their callers in turn: a trainer that asks for thousands of answers does not keep another waiting.

The next turn is that of the caller who holds the fewest threads; between equals, of whoever had none for longest. So
callers that wait share the threads evenly, however long their kernels run, and a caller alone has all of them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, TypeVar

__all__ = ["FairPool"]

T = TypeVar("T")


@dataclass
class _Line:
    """What one caller has to be done: what waits, in order, how much is being done, and when it last had its turn."""

    waiting: deque[tuple[Future[Any], Callable[[], Any]]] = field(default_factory=deque)
    running: int = 0
    turn: int = 0


class FairPool:
    """A pool of threads with a queue per caller. Callers are names; the queue of one with nothing to do is gone."""

    def __init__(self, threads: int) -> None:
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="score")
        self._lines: dict[str, _Line] = {}
        self._turns = 0
        self._lock = Lock()

    def submit(self, caller: str, call: Callable[[], T]) -> Future[T]:
        """Have ``call`` done when it is the caller's turn. RuntimeError after :meth:`shutdown`."""
        promised: Future[T] = Future()
        with self._lock:
            # Every thread that becomes free takes whatever is next then, not what it was woken for.
            self._threads.submit(self._serve)
            # Who comes anew stands behind those who wait for their next turn, and before whoever has just had one.
            self._lines.setdefault(caller, _Line(turn=self._turns - 1)).waiting.append((promised, call))
        return promised

    def shutdown(self) -> None:
        """Finish what is being done; what waits is cancelled."""
        self._threads.shutdown(wait=True, cancel_futures=True)
        with self._lock:
            left = [promised for line in self._lines.values() for promised, _ in line.waiting]
            self._lines.clear()
        for promised in left:
            promised.cancel()

    def _serve(self) -> None:
        with self._lock:
            # Something always waits: every entry came with one call of this method.
            caller, line = min(
                ((name, line) for name, line in self._lines.items() if line.waiting),
                key=lambda entry: (entry[1].running, entry[1].turn),
            )
            promised, call = line.waiting.popleft()
            self._turns += 1
            line.running, line.turn = line.running + 1, self._turns
        try:
            # False where its caller gave up meanwhile, as a coroutine that was cancelled does.
            if promised.set_running_or_notify_cancel():
                _keep(promised, call)
        finally:
            with self._lock:
                line.running -= 1
                if not line.running and not line.waiting:
                    self._lines.pop(caller, None)


def _keep(promised: Future[T], call: Callable[[], T]) -> None:
    """Boundary: what ``call`` raises, whoever waits for it gets."""
    try:
        promised.set_result(call())
    except BaseException as error:  # noqa: BLE001
        # An interruption, too: nobody else would ever complete the future.
        promised.set_exception(error)
