"""What every adapter needs: the text of a completion in any form that trainers use, and one scorer per process."""

from __future__ import annotations

import atexit
from collections.abc import Mapping, Sequence
from threading import Lock
from typing import Any

from npukernelbench.errors import UsageError
from npukernelbench.rewards.opening import open_scorer
from npukernelbench.rewards.scoring import Scoring

__all__ = ["shared_scorer", "text_of"]

_OPEN: dict[str, Scoring] = {}
_LOCK = Lock()


def text_of(completion: object) -> str:
    """The answer in a completion: text as it is, of a conversation the last assistant message.

    UsageError for anything else.
    """
    if isinstance(completion, str):
        return completion
    if isinstance(completion, Mapping):
        completion = [completion]
    if isinstance(completion, Sequence):
        for message in reversed(completion):
            if isinstance(message, Mapping) and message.get("role", "assistant") == "assistant":
                return _content(message.get("content"))
        return ""
    raise UsageError(
        f"a completion is {type(completion).__name__}", field="completions", remedy="pass text or lists of messages"
    )


def shared_scorer(policy: str, judge: str, settings: Mapping[str, Any]) -> Scoring:
    """The scorer of this process for these settings; opened once, closed when the process ends."""
    key = repr((policy, judge, sorted(settings.items(), key=lambda item: item[0])))
    with _LOCK:
        if key not in _OPEN:
            scorer = open_scorer(policy=policy, judge=judge, **settings)
            atexit.register(scorer.close)
            _OPEN[key] = scorer
        return _OPEN[key]


def _content(content: object) -> str:
    """Text, or the text parts of a list of parts."""
    if isinstance(content, str):
        return content
    if isinstance(content, Sequence):
        parts = (part.get("text", "") for part in content if isinstance(part, Mapping))
        return "".join(part for part in parts if isinstance(part, str))
    return ""
