"""Asking a backend: one session from open to close, every request answered exactly once, whatever the backend does."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING

from npukernelbench.errors import BackendError, NpukbError
from npukernelbench.generate.backend import Backend, GenerationFault, GenerationRequest, GenerationResult
from npukernelbench.nouns import Completion, SampleKey
from npukernelbench.plugins.arguments import Construction, with_arguments

if TYPE_CHECKING:
    from npukernelbench.plugins.registry import Registration

__all__ = ["More", "answers", "make_backend"]

_log = logging.getLogger(__name__)
#: Answers of several streams that may wait to be taken; beyond that the streams wait.
_MOST_WAITING = 64
_REMEDY = "derive from npukernelbench.generate.TextBackend, or see docs/plugins.md"


def make_backend(registration: Registration, model_args: Mapping[str, object]) -> Backend:
    """Load a registered backend class, validate its arguments, construct it (it is not opened yet).

    Raises PluginError when the target is no backend, UsageError when the arguments do not fit its ``Args`` model.
    """
    return _construct(registration, with_arguments(registration, model_args, field="model_args"))


#: Waits for the requests that follow those asked so far; none: there is nothing more to ask.
More = Callable[[], Awaitable[Sequence[GenerationRequest]]]


async def answers(
    backend: Backend, requests: Sequence[GenerationRequest], more: More | None = None
) -> AsyncGenerator[GenerationResult, None]:
    """Open ``backend``, ask everything, close it; yield answers as they arrive, exactly one per distinct key.

    With ``more`` the backend stays open and is asked again until there is nothing more: one stream after the other, or
    several at a time where the backend can.

    The caller neither opens nor closes the backend; with no requests it is never opened. BackendError (nothing more can
    be asked) is raised through after every answer already received was yielded. Any other failure of the backend
    mid-stream, and an answer that never came, become a GenerationFault of the requests concerned. Close the iterator
    (``contextlib.aclosing``) to stop early.
    """
    if not requests and more is not None:
        requests = await more()
    if not requests:
        return
    try:
        await _open(backend)
        # Where nothing follows there is one stream only.
        streams = _overlapping if backend.capabilities.overlapping and more is not None else _in_turn
        async with aclosing(streams(backend, requests, more)) as results:
            async for result in results:
                yield result
    finally:
        await _close(backend)


async def _in_turn(
    backend: Backend, requests: Sequence[GenerationRequest], more: More | None
) -> AsyncGenerator[GenerationResult, None]:
    """One stream after the other."""
    while requests:
        async with aclosing(_asked(backend, requests)) as results:
            async for result in results:
                yield result
        requests = () if more is None else await more()


async def _overlapping(
    backend: Backend, requests: Sequence[GenerationRequest], more: More | None
) -> AsyncGenerator[GenerationResult, None]:
    """A stream for every group of requests, as soon as it arrives. The first error ends all of them, after the answers
    that came before it.
    """
    # Bounded, so that a slow consumer slows the streams instead of filling memory.
    answers: asyncio.Queue[GenerationResult | Exception | None] = asyncio.Queue(_MOST_WAITING)
    streams: set[asyncio.Task[None]] = set()

    async def drain(some: Sequence[GenerationRequest]) -> None:
        """Boundary: what ends a stream reaches the consumer in its turn."""
        try:
            async with aclosing(_asked(backend, some)) as results:
                async for result in results:
                    await answers.put(result)
        except Exception as error:  # noqa: BLE001
            await answers.put(error)

    async def feed(some: Sequence[GenerationRequest]) -> None:
        """Boundary, as above."""
        try:
            while some:
                stream = asyncio.create_task(drain(some))
                streams.add(stream)
                # The event loop keeps weak references: a task that nobody holds may be collected while it runs.
                stream.add_done_callback(streams.discard)
                some = () if more is None else await more()
            await asyncio.gather(*streams)
        except Exception as error:  # noqa: BLE001
            await answers.put(error)
        await answers.put(None)

    feeding = asyncio.create_task(feed(requests))
    try:
        while (result := await answers.get()) is not None:
            if isinstance(result, Exception):
                raise result
            yield result
    finally:
        ending = (feeding, *streams)
        for task in ending:
            task.cancel()
        # A cancelled task still runs its own clean-up, which must end before the backend is closed.
        await asyncio.gather(*ending, return_exceptions=True)


async def _asked(backend: Backend, requests: Sequence[GenerationRequest]) -> AsyncGenerator[GenerationResult, None]:
    """One stream: an answer for each distinct key."""
    waiting: dict[SampleKey, GenerationRequest] = {}
    for request in requests:
        # Two requests with one key would leave the second waiting for ever.
        waiting.setdefault(request.key, request)
    stream = _stream(backend, tuple(waiting.values()))
    async with aclosing(_collect(stream, waiting)) as results:
        async for result in results:
            yield result


async def _collect(
    stream: AsyncIterator[GenerationResult], waiting: dict[SampleKey, GenerationRequest]
) -> AsyncGenerator[GenerationResult, None]:
    """Every answer of ``stream`` to a request still waiting; then a fault for each that is left."""
    try:
        # Not to the stream's end: when everything is answered, a backend need not end by itself.
        while waiting:
            outcome = await _next(stream)
            if isinstance(outcome, str):
                for request in waiting.values():
                    yield GenerationResult(request, GenerationFault(outcome))
                return
            asked = waiting.pop(outcome.request.key, None)
            if asked is None:
                _log.warning(
                    "ignored an answer to %s, which was not requested or already answered", outcome.request.key
                )
            else:
                yield GenerationResult(asked, outcome.answer)
    finally:
        await _quiet_close(stream)


async def _next(stream: AsyncIterator[GenerationResult]) -> GenerationResult | str:
    """Boundary: the next result of a plugin's stream, or in words why there is none. BackendError comes through."""
    try:
        result: object = await anext(stream)
    except StopAsyncIteration:
        return "the backend ended without answering this request"
    except BackendError:
        raise
    except Exception as error:  # noqa: BLE001
        _log.warning("the backend stopped early", exc_info=True)
        return f"the backend stopped early with {type(error).__name__}: {error}"
    if isinstance(result, GenerationResult) and isinstance(result.answer, Completion | GenerationFault):
        return result
    return f"the backend yielded {type(result).__name__} instead of a GenerationResult with a Completion or fault"


def _stream(backend: Backend, requests: tuple[GenerationRequest, ...]) -> AsyncIterator[GenerationResult]:
    stream: object = backend.generate_many(requests)
    if isinstance(stream, AsyncIterator):
        return stream
    # Closed here, as Python warns of a coroutine that was never awaited.
    if inspect.iscoroutine(stream):
        stream.close()
    raise BackendError(
        f"{type(backend).__name__}.generate_many returned {type(stream).__name__}, not an asynchronous iterator",
        remedy="write it as an asynchronous generator: 'async def' with 'yield'",
    )


async def _open(backend: Backend) -> None:
    """Boundary: whatever keeps a backend from opening is a BackendError."""
    try:
        await backend.open()
    except NpukbError:
        raise
    except Exception as error:
        raise BackendError(f"{type(backend).__name__} could not be opened: {type(error).__name__}: {error}") from error


async def _close(backend: Backend) -> None:
    """Boundary: a backend that cannot close has already answered; its failure is logged, no answer is lost."""
    try:
        await backend.close()
    except Exception:  # noqa: BLE001
        _log.warning("%s could not be closed", type(backend).__name__, exc_info=True)


async def _quiet_close(stream: AsyncIterator[GenerationResult]) -> None:
    """Boundary: the same for the stream of a plugin that is not read to its end."""
    close = getattr(stream, "aclose", None)
    if close is None:
        return
    try:
        await close()
    except Exception:  # noqa: BLE001
        _log.warning("a backend's stream could not be closed", exc_info=True)


def _construct(registration: Registration, construction: Construction) -> Backend:
    """A backend that cannot be constructed, or lacks the protocol once constructed, is a broken plugin."""
    backend = registration.construct(construction.target, construction.args)
    if not isinstance(backend, Backend):
        missing = [name for name in ("capabilities", "open", "generate_many", "close") if not hasattr(backend, name)]
        raise registration.broken(f"lacks {', '.join(missing)}", remedy=_REMEDY)
    return backend
