"""What a failed request means: stop the run, give this sample up, or wait and ask again.

Exceptions of the client are recognised by their attributes (a status code, a response) and the names of their classes,
so that this module needs no client and holds for all its versions.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from enum import Enum
from time import time
from typing import NamedTuple

from npukb_openai.pages import ForeignAnswer, is_html, page_title
from npukb_openai.protocol import MalformedAnswer
from npukb_openai.wire import ConnectionFailed
from npukernelbench.seed import derive

__all__ = ["Action", "Failure", "backoff_s", "classify", "wants_other_limit_field"]

_FATAL_STATUS: Mapping[int, str] = {
    401: "check the API key in the environment variable that api_key_env names",
    402: "the account behind the key must be paid up",
    403: "the key must be allowed to use this model",
    404: "check model and base_url (it usually ends in /v1)",
}
_ADDRESS = "check base_url: it is the address of the API, not of a page about it, and usually ends in /v1"
# 409: the official client asks again as well, since OpenAI answers so when it waited for a lock too long.
_TRANSIENT_STATUS = frozenset({408, 409, 425, 429})
_CONTEXT_LENGTH = (
    "context_length_exceeded",
    "context length",
    "context window",
    "maximum input length",
    "too many tokens",
)


class Action(Enum):
    """What to do about a failure."""

    STOP = "stop"  # no request can succeed: credentials, address or model name
    GIVE_UP = "give up"  # this request would fail again
    RETRY = "retry"  # later may help


class Failure(NamedTuple):
    """A failed request. ``retry_after_s`` is what the server asked for, None when it did not."""

    action: Action
    message: str
    remedy: str = ""
    busy: bool = False
    retry_after_s: float | None = None
    #: Nothing that speaks this protocol is there, at least for now.
    unreachable: bool = False


def classify(error: Exception) -> Failure:
    """What a client's exception means."""
    status = getattr(error, "status_code", None)
    if isinstance(status, int):
        return _of_status(status, error)
    if isinstance(error, asyncio.TimeoutError | TimeoutError) or "Timeout" in type(error).__name__:
        return Failure(Action.RETRY, "the server did not answer in time")
    if isinstance(error, ConnectionFailed):
        return Failure(Action.RETRY, f"the connection failed: {error}", unreachable=error.unreachable)
    if "Connection" in type(error).__name__:
        cause = error.__cause__ or error
        message = f"the connection failed: {type(cause).__name__}: {cause}".rstrip(": ")
        return Failure(Action.RETRY, message, unreachable=type(cause).__name__ == "ConnectError")
    if isinstance(error, ForeignAnswer):
        return Failure(Action.RETRY, f"the server sent {error}", remedy=_ADDRESS, unreachable=True)
    # Proxies under load send half of a body: the next answer may be whole.
    if isinstance(error, MalformedAnswer | ValueError):
        return Failure(Action.RETRY, f"the server sent no valid answer: {error}")
    return Failure(Action.GIVE_UP, f"the request cannot be made: {type(error).__name__}: {error}")


def backoff_s(seed: int, attempt: int, *, first_s: float, most_s: float) -> float:
    """Seconds before repetition ``attempt`` (from 0): doubling up to ``most_s``, of it a seeded half to whole."""
    # The exponent is bounded, as a float overflows with enough attempts.
    whole = min(most_s, first_s * 2.0 ** min(attempt, 30))
    return whole * (0.5 + 0.5 * derive(seed, "backoff", attempt) / 2**63)


def wants_other_limit_field(error: Exception) -> bool:
    """Whether the server refuses ``max_tokens``, as those do that want ``max_completion_tokens``."""
    text = _text(error)
    refused = any(
        word in text for word in ("unsupported", "not supported", "unrecognized", "unknown", "not permitted", "instead")
    )
    return getattr(error, "status_code", None) in (400, 422) and "max_tokens" in text and refused


def _of_status(status: int, error: Exception) -> Failure:
    message = f"HTTP {status}: {_message(error)}"
    if status in _FATAL_STATUS:
        return Failure(Action.STOP, message, remedy=_FATAL_STATUS[status])
    # OpenAI answers 429 for an empty account as well, which no waiting fills.
    if status == 429 and "insufficient_quota" in _text(error):
        return Failure(Action.STOP, message, remedy=_FATAL_STATUS[402])
    if status in _TRANSIENT_STATUS or status >= 500:
        return Failure(Action.RETRY, message, busy=status in (429, 503), retry_after_s=_retry_after_s(error))
    if status in (400, 413, 422) and any(phrase in _text(error) for phrase in _CONTEXT_LENGTH):
        return Failure(Action.GIVE_UP, f"the prompt and the answer do not fit the model's context: {message}")
    return Failure(Action.GIVE_UP, message)


def _retry_after_s(error: Exception) -> float | None:
    """Seconds out of ``Retry-After-Ms`` or ``Retry-After``, which is a number or a date."""
    headers: object = getattr(getattr(error, "response", None), "headers", None)
    if not isinstance(headers, Mapping):
        return None
    for name, scale in (("retry-after-ms", 1e-3), ("retry-after", 1.0)):
        value = headers.get(name)
        if value is None:
            continue
        try:
            seconds = float(value) * scale
        except ValueError:
            try:
                seconds = parsedate_to_datetime(value).timestamp() - time()
            except ValueError:
                continue
        if seconds == seconds:  # not NaN
            return max(0.0, seconds)
    return None


def _message(error: Exception) -> str:
    body: object = getattr(error, "body", None)
    if isinstance(body, Mapping):
        inner = body.get("error", body)
        text = inner.get("message") if isinstance(inner, Mapping) else inner
        if isinstance(text, str) and text:
            return text[:500]
    text = body if isinstance(body, str) else str(error)
    return page_title(text) if is_html(text) else text[:500]


def _text(error: Exception) -> str:
    """Everything the server said, lower case, to look for words in."""
    return f"{error} {getattr(error, 'body', '')} {getattr(error, 'code', '')}".lower()
