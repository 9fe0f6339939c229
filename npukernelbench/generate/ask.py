"""Asking a backend: one session from open to close, every request answered exactly once, whatever the backend does."""

from __future__ import annotations

import inspect
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING

from pydantic import BaseModel, ValidationError

from npukernelbench.errors import BackendError, NpukbError, PluginError, UsageError
from npukernelbench.generate.backend import Backend, GenerationFault, GenerationRequest, GenerationResult
from npukernelbench.nouns import Completion, SampleKey

if TYPE_CHECKING:
    from npukernelbench.plugins import Registration

__all__ = ["answers", "make_backend"]

_log = logging.getLogger(__name__)
_REMEDY = "derive from npukernelbench.generate.TextBackend, or see docs/plugins.md"


def make_backend(registration: Registration, model_args: Mapping[str, object]) -> Backend:
    """Load a registered backend class, validate its arguments, construct it (it is not opened yet).

    Raises PluginError when the target is no backend, UsageError when the arguments do not fit its ``Args`` model.
    """
    target = registration.load()
    schema = getattr(target, "Args", None)
    if not (callable(target) and isinstance(schema, type) and issubclass(schema, BaseModel)):
        raise PluginError(
            f"backend '{registration.name}' of plugin '{registration.plugin}' is not a class with an Args model",
            remedy=_REMEDY,
        )
    try:
        args = schema.model_validate(dict(model_args))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        known = ", ".join(schema.model_fields) or "none"
        raise UsageError(
            f"{first['msg']} (backend '{registration.name}')",
            field=f"model_args.{where}" if where else "model_args",
            remedy=f"arguments of this backend: {known}",
        ) from None
    return _construct(registration, target, args)


async def answers(backend: Backend, requests: Sequence[GenerationRequest]) -> AsyncGenerator[GenerationResult, None]:
    """Open ``backend``, ask everything, close it; yield answers as they arrive, exactly one per distinct key.

    The caller neither opens nor closes the backend; with no requests it is never opened. BackendError (nothing more can
    be asked) is raised through after every answer already received was yielded. Any other failure of the backend
    mid-stream, and an answer that never came, become a GenerationFault of the requests concerned. Close the iterator
    (``contextlib.aclosing``) to stop early.
    """
    waiting: dict[SampleKey, GenerationRequest] = {}
    for request in requests:
        waiting.setdefault(request.key, request)
    if not waiting:
        return
    try:
        await _open(backend)
        stream = _stream(backend, tuple(waiting.values()))
        async with aclosing(_collect(stream, waiting)) as results:
            async for result in results:
                yield result
    finally:
        await _close(backend)


async def _collect(
    stream: AsyncIterator[GenerationResult], waiting: dict[SampleKey, GenerationRequest]
) -> AsyncGenerator[GenerationResult, None]:
    """Every answer of ``stream`` to a request still waiting; then a fault for each that is left."""
    try:
        while waiting:
            outcome = await _next(stream)
            if isinstance(outcome, str):
                for request in waiting.values():
                    yield GenerationResult(request, GenerationFault(outcome))
                return
            asked = waiting.pop(outcome.request.key, None)
            if asked is None:
                _log.warning("ignored an answer to %s, which was not asked or already answered", outcome.request.key)
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
        _log.warning("the backend broke off", exc_info=True)
        return f"the backend broke off with {type(error).__name__}: {error}"
    if isinstance(result, GenerationResult) and isinstance(result.answer, Completion | GenerationFault):
        return result
    return f"the backend yielded {type(result).__name__} where a GenerationResult with a Completion or fault belongs"


def _stream(backend: Backend, requests: tuple[GenerationRequest, ...]) -> AsyncIterator[GenerationResult]:
    stream: object = backend.generate_many(requests)
    if isinstance(stream, AsyncIterator):
        return stream
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


def _construct(registration: Registration, target: Callable[[BaseModel], object], args: BaseModel) -> Backend:
    """Boundary: a backend that cannot be constructed, or is none once it is, is a broken plugin."""
    who = f"backend '{registration.name}' of plugin '{registration.plugin}'"
    try:
        backend = target(args)
    except NpukbError:
        raise
    except Exception as error:
        raise PluginError(f"{who} cannot be constructed: {type(error).__name__}: {error}") from error
    if not isinstance(backend, Backend):
        missing = [name for name in ("capabilities", "open", "generate_many", "close") if not hasattr(backend, name)]
        raise PluginError(f"{who} lacks {', '.join(missing)}", remedy=_REMEDY)
    return backend
