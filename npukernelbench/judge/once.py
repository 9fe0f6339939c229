"""Equal candidates of one problem are judged once; later requests wait for that verdict."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from threading import Lock

from npukernelbench.nouns import Owner, Verdict

__all__ = ["JudgedOnce"]


class JudgedOnce:
    """Verdicts by key, the last used ``limit`` of them. Faults of ours are not remembered. Safe for several threads.

    Memory is that of the verdicts as :meth:`verdict` is told to keep them.
    """

    def __init__(self, limit: int | None = None) -> None:
        self._limit = limit
        self._known: OrderedDict[Hashable, Future[Verdict]] = OrderedDict()
        self._lock = Lock()

    def remember(self, key: Hashable, verdict: Verdict) -> None:
        """Take over a verdict that was reached elsewhere."""
        known: Future[Verdict] = Future()
        known.set_result(verdict)
        with self._lock:
            self._known[key] = known

    def verdict(
        self,
        key: Hashable,
        judge: Callable[[], Verdict],
        *,
        kept: Callable[[Verdict], Verdict] = lambda verdict: verdict,
    ) -> tuple[Verdict, bool]:
        """The verdict, and whether it was there already or somebody else was about to reach it.

        ``judge`` reaches it otherwise; what it raises, everybody who waits gets. ``kept`` is what of it is remembered.
        """
        with self._lock:
            known = self._known.get(key)
            if known is None:
                mine: Future[Verdict] = Future()
                self._known[key] = mine
                # One that is still being judged may go, too: whoever waits for it holds its future.
                while self._limit is not None and len(self._known) > self._limit:
                    self._known.popitem(last=False)
            else:
                self._known.move_to_end(key)
        if known is not None:
            return known.result(), True
        try:
            verdict = judge()
        except BaseException as error:
            # An interruption, too: nobody else would ever complete the future that others wait for.
            self._forget(key)
            mine.set_exception(error)
            raise
        # Before the result is set: whoever asks again because of it must not find it.
        if verdict.owner is Owner.INFRA:
            self._forget(key)
        mine.set_result(kept(verdict))
        return verdict, False

    def _forget(self, key: Hashable) -> None:
        with self._lock:
            self._known.pop(key, None)
