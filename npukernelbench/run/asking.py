"""Asking a backend beside the judging: an event loop in a thread of its own.

Requests may follow others while the conversation lasts: :meth:`Asker.ask` adds some, :meth:`Asker.no_more` says that
none will. What has gathered is asked at once where the backend can answer several streams at a time, else when it has
answered everything it was asked before.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from contextlib import aclosing
from functools import partial
from threading import Event, Lock, Semaphore, Thread

from npukernelbench.generate.ask import answers
from npukernelbench.generate.backend import Backend, GenerationRequest, GenerationResult
from npukernelbench.generate.loop import run_fast

__all__ = ["Asker", "Post"]

#: Hands a function to the thread that is to call it.
Post = Callable[["partial[None]"], None]

# Short beside any answer of a model, long enough to cost no processor time.
_POLL_S = 0.005
_STOP_TIMEOUT_S = 10.0

_log = logging.getLogger(__name__)


class Asker:
    """Asks the backend in an event loop in a thread of its own, and posts each answer as it comes.

    Answers wait while there is no room for them; ``on_end`` is posted last, with the error that ended it, if any.
    """

    def __init__(
        self,
        backend: Backend,
        requests: tuple[GenerationRequest, ...],
        room: Semaphore,
        post: Post,
        on_answer: Callable[[GenerationResult], None],
        on_end: Callable[[BaseException | None], None],
    ) -> None:
        self._backend, self._room = backend, room
        # `append` and `popleft` of a deque are safe between threads, so that `ask` needs no lock.
        self._requests: deque[GenerationRequest] = deque(requests)
        # An event rather than a last item: requests may still be added while earlier ones are answered.
        self._complete = Event()
        self._post, self._on_answer, self._on_end = post, on_answer, on_end
        self._cancelled = Event()
        self._lock = Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[None] | None = None
        # A daemon: `join` gives up after a while, and the process must be able to end then.
        self._thread = Thread(target=self._main, name="ask", daemon=True)

    def ask(self, request: GenerationRequest) -> None:
        """One more request; from any thread, before :meth:`no_more`."""
        self._requests.append(request)

    def no_more(self) -> None:
        """No request will follow those that are here. Safe to say twice."""
        self._complete.set()

    def start(self) -> None:
        """Begin asking."""
        self._thread.start()

    def cancel(self) -> None:
        """Stop asking soon; safe at any time."""
        self._cancelled.set()
        with self._lock:
            if self._loop is not None and self._task is not None:
                # A task may be cancelled in its own thread only.
                self._loop.call_soon_threadsafe(self._task.cancel)

    def join(self) -> None:
        """Wait for the end, for a while: a backend that does not react must not keep the run from ending."""
        # A thread that was never started cannot be joined.
        if self._thread.ident is not None:
            self._thread.join(_STOP_TIMEOUT_S)
            if self._thread.is_alive():
                _log.warning("the backend does not stop; the run continues without it")

    def _main(self) -> None:
        """Boundary: whatever ends the conversation is posted."""
        error: BaseException | None = None
        try:
            run_fast(self._converse())
        # Only `cancel` does that, and it is no error.
        except asyncio.CancelledError:
            pass
        except BaseException as caught:  # noqa: BLE001
            error = caught
        self._post(partial(self._on_end, error))

    async def _converse(self) -> None:
        with self._lock:
            self._loop, self._task = asyncio.get_running_loop(), asyncio.current_task()
        try:
            await self._ask()
        finally:
            # Else `cancel` would call into a loop that is closed.
            with self._lock:
                self._loop = None

    async def _ask(self) -> None:
        # `cancel` may have come before there was a task to cancel.
        if self._cancelled.is_set():
            return
        async with aclosing(answers(self._backend, self._gathered(), self._more)) as stream:
            async for result in stream:
                # Polled: waiting for the semaphore would stop the event loop, and with it all requests under way.
                while not self._room.acquire(blocking=False):
                    await asyncio.sleep(_POLL_S)
                self._post(partial(self._on_answer, result))

    async def _more(self) -> tuple[GenerationRequest, ...]:
        """The requests that have gathered, as soon as there are any; none when there will be no more."""
        while True:
            complete = self._complete.is_set()  # read first: whoever says so has added all before
            gathered = self._gathered()
            if gathered or complete:
                return gathered
            await asyncio.sleep(_POLL_S)

    def _gathered(self) -> tuple[GenerationRequest, ...]:
        # As many as there are now: `ask` may add others meanwhile, from any thread.
        return tuple(self._requests.popleft() for _ in range(len(self._requests)))
