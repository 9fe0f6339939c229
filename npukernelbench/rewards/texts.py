"""What every adapter needs: the answer in a completion in any form that trainers use, one scorer per process, and
rewards in which a fault of ours is no exception.
"""

from __future__ import annotations

import atexit
import logging
import os
from collections.abc import Mapping, Sequence
from functools import partial
from threading import Lock
from typing import Any

from npukernelbench.errors import NpukbError, UsageError
from npukernelbench.nouns import Owner
from npukernelbench.rewards.ahead import Ahead
from npukernelbench.rewards.opening import open_scorer
from npukernelbench.rewards.reward import Reward, unjudged
from npukernelbench.rewards.scoring import Answer, Scoring

__all__ = ["reasoning_of", "rewards_for", "shared_ahead", "shared_scorer", "text_of"]

_log = logging.getLogger(__name__)

_OPEN: dict[tuple[int, str], Scoring] = {}
_AHEAD: dict[tuple[int, str], Ahead] = {}
_LOCK = Lock()


def text_of(completion: object) -> str:
    """The answer in a completion: text as it is, of a conversation the last assistant message.

    UsageError for anything else.
    """
    return completion if isinstance(completion, str) else _content(_last_message(completion).get("content"))


def reasoning_of(completion: object) -> str:
    """What that message holds apart from its content, as servers return it; empty for text."""
    if isinstance(completion, str):
        return ""
    message = _last_message(completion)
    # Servers differ in the name.
    return _content(message.get("reasoning") or message.get("reasoning_content"))


def rewards_for(answers: Sequence[Answer], *, policy: str, judge: str, settings: Mapping[str, Any]) -> list[Reward]:
    """Boundary: one reward per answer. Where no judge can be had for a reason of ours, or judging raises what it never
    should, all are without a value, and the log says why; what the caller asked for wrongly is raised.
    """
    try:
        return shared_scorer(policy, judge, settings).score(answers)
    except NpukbError as error:
        if error.owner is not Owner.INFRA:
            raise
        _log.error("%d answers are not judged: %s", len(answers), error)
        return [unjudged(policy, error.message)] * len(answers)
    except Exception as error:  # noqa: BLE001
        # A fault in the harness: days of training must not end with it.
        _log.exception("%d answers are not judged", len(answers))
        return [unjudged(policy, f"{type(error).__name__}: {error}")] * len(answers)


def shared_scorer(policy: str, judge: str, settings: Mapping[str, Any]) -> Scoring:
    """The scorer of this process for these settings; opened once, closed when the process ends. Its threads do not come
    along when a trainer forks.
    """
    key = os.getpid(), _key(policy, judge, settings)
    # Held while it opens: otherwise two threads could open a scorer each.
    with _LOCK:
        if key not in _OPEN:
            scorer = open_scorer(policy=policy, judge=judge, **settings)
            # Trainers do not know of a scorer, so they cannot close it.
            atexit.register(scorer.close)
            _OPEN[key] = scorer
        return _OPEN[key]


def shared_ahead(policy: str, judge: str, settings: Mapping[str, Any]) -> Ahead:
    """What judges ahead with that scorer, in this process: its threads do not come along when a trainer forks."""
    key = os.getpid(), _key(policy, judge, settings)
    with _LOCK:
        if key not in _AHEAD:
            _AHEAD[key] = Ahead(partial(rewards_for, policy=policy, judge=judge, settings=settings))
        return _AHEAD[key]


def _key(policy: str, judge: str, settings: Mapping[str, Any]) -> str:
    return repr((policy, judge, sorted(settings.items(), key=lambda item: item[0])))


def _last_message(completion: object) -> Mapping[str, Any]:
    """The last message of the assistant; empty when there is none. UsageError for what is no conversation."""
    messages = [completion] if isinstance(completion, Mapping) else completion
    if not isinstance(messages, Sequence):
        raise UsageError(
            f"a completion is {type(completion).__name__}", field="completions", remedy="pass text or lists of messages"
        )
    said = (message for message in reversed(messages) if isinstance(message, Mapping))
    return next((message for message in said if message.get("role", "assistant") == "assistant"), {})


def _content(content: object) -> str:
    """Text, or the text parts of a list of parts."""
    if isinstance(content, str):
        return content
    if isinstance(content, Sequence):
        # The form of chat interfaces for messages of several kinds: `{"type": "text", "text": …}`.
        parts = (part.get("text", "") for part in content if isinstance(part, Mapping))
        return "".join(part for part in parts if isinstance(part, str))
    return ""
