"""The other end of ``npukb serve-judge``: scores answers by asking a server.

A request may be sent again without harm, since the server remembers verdicts. So whatever is lost on the way is asked
again: a busy server for as long as the caller has patience, a connection that fails a few times, each time after a
longer pause of random length, so that many callers do not come back together.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import time
import weakref
from collections.abc import Mapping, Sequence
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from npukernelbench.errors import ExecutorError, UsageError
from npukernelbench.generate import Hints
from npukernelbench.nouns import Outcome, Owner, Stage
from npukernelbench.rewards.policy import DEFAULT_POLICY, RewardPolicy
from npukernelbench.rewards.reward import Reward
from npukernelbench.rewards.scoring import Answer, Terms, Turn

__all__ = ["TOKEN_VARIABLE", "RemoteScorer"]

#: Where the secret of a guarded server is read from.
TOKEN_VARIABLE = "NPUKB_JUDGE_TOKEN"

#: A batch of slow kernels takes minutes; a server that is gone is noticed by its refused connections.
_TIMEOUT_S = 3600.0
_BATCH = 64
_PATIENCE_S = 600.0
#: How often a connection may fail before the server counts as gone, and how long the pauses are: up to the first one,
#: twice as long each time, never longer than the last.
_CONNECTIONS = 8
_FIRST_PAUSE_S = 0.1
_LONGEST_PAUSE_S = 10.0
#: A server that is busy, or a gateway whose server is.
_BUSY = (502, 503, 504)


class RemoteScorer:
    """Asks the server at ``url``. A busy server is asked again for ``patience_s``; then, and when it is gone, the fault
    is ours: ExecutorError, never a reward.

    Connections are kept for the next request. ``strategy`` and ``parser`` are the server's own unless given.
    """

    def __init__(
        self,
        url: str,
        *,
        policy: str | RewardPolicy = DEFAULT_POLICY,
        strategy: str = "",
        parser: str = "",
        patience_s: float = _PATIENCE_S,
    ) -> None:
        if not url.startswith(("http://", "https://")) or not urlsplit(url).hostname:
            raise UsageError(f"{url!r} is no address", field="judge", remedy="write http://127.0.0.1:8970")
        if isinstance(policy, RewardPolicy):
            raise UsageError("a server takes the name of a policy", field="policy", remedy=f"pass {policy.name!r}")
        self._url, self._patience_s = url.rstrip("/"), patience_s
        self._terms = Terms(policy, strategy, parser)
        self._connections = _Connections(self._url)
        self._random = random.Random()  # a pause is no result: it need not be the same twice

    def score(self, answers: Sequence[Answer]) -> list[Reward]:
        """One reward per answer, in their order."""
        return [turn.reward for turn in self._turns(answers, None)]

    def repair(self, answers: Sequence[Answer], hints: Hints) -> list[Turn]:
        """The same with what the model is told next."""
        return self._turns(answers, hints)

    async def score_async(self, answers: Sequence[Answer]) -> list[Reward]:
        """The same in a thread."""
        return await asyncio.to_thread(self.score, answers)

    def close(self) -> None:
        """Close the connections that are kept."""
        self._connections.close()

    def _turns(self, answers: Sequence[Answer], hints: Hints | None) -> list[Turn]:
        parts = (answers[start : start + _BATCH] for start in range(0, len(answers), _BATCH))
        return [turn for part in parts for turn in self._batch(part, hints)]

    def _batch(self, answers: Sequence[Answer], hints: Hints | None) -> list[Turn]:
        terms = {"policy": self._terms.policy, "strategy": self._terms.strategy, "parser": self._terms.parser}
        body = {
            **{name: value for name, value in terms.items() if value},
            **({"hints": hints.value} if hints is not None else {}),
            "answers": [_plain(answer) for answer in answers],
        }
        reply = self._ask(json.dumps(body).encode())
        rewards = reply.get("rewards")
        if not isinstance(rewards, list) or len(rewards) != len(answers):
            raise ExecutorError(f"{self._url} did not answer with {len(answers)} rewards")
        return [Turn(_reward(reward), str(reward.get("feedback", ""))) for reward in rewards]

    def _ask(self, body: bytes) -> Mapping[str, Any]:
        until, failures, busy = time.monotonic() + self._patience_s, 0, 0
        while True:
            try:
                reply = self._connections.post("/v1/score", body)
            except (OSError, HTTPException) as error:
                failures += 1
                if failures == _CONNECTIONS or time.monotonic() > until:
                    raise ExecutorError(
                        f"{self._url} cannot be asked: {error or type(error).__name__}",
                        remedy="start one with npukb serve-judge",
                    ) from None
                time.sleep(self._pause_s(failures))
                continue
            content = _content(reply.body)
            if reply.status == 200:
                return content
            wait_s = reply.retry_after_s + self._pause_s(busy := busy + 1)
            if reply.status not in _BUSY or time.monotonic() + wait_s > until:
                raise _refused(self._url, reply.status, content.get("error"))
            time.sleep(wait_s)

    def _pause_s(self, times: int) -> float:
        """How long to wait after so many failures: a random share of a pause that doubles."""
        return self._random.uniform(0.0, min(_LONGEST_PAUSE_S, _FIRST_PAUSE_S * 2.0 ** min(times, 20)))


class _Reply(NamedTuple):
    status: int
    retry_after_s: float
    body: bytes


class _Connections:
    """Connections to one server: as many as there are requests at the same time, kept for the next ones."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._secure, self._place, self._path = parts.scheme == "https", (parts.hostname or "", parts.port), parts.path
        self._token = os.environ.get(TOKEN_VARIABLE, "")
        self._idle: list[HTTPConnection] = []
        self._owner = os.getpid()
        self._finalizer = weakref.finalize(self, _close_all, self._idle)

    def post(self, path: str, body: bytes) -> _Reply:
        """Send a request. OSError or HTTPException when the connection fails.

        A kept connection may have been closed by the server meanwhile: that is no failure, a new one takes its place.
        """
        if self._owner != os.getpid():  # a forked trainer: the connections are its parent's
            self._idle, self._owner = [], os.getpid()
        try:
            return self._post(self._idle.pop(), path, body)
        except (IndexError, ConnectionError, HTTPException):
            pass
        return self._post(self._open(), path, body)

    def close(self) -> None:
        """Close those that are kept."""
        _close_all(self._idle)

    def _open(self) -> HTTPConnection:
        host, port = self._place
        made: HTTPConnection = (HTTPSConnection if self._secure else HTTPConnection)(host, port, timeout=_TIMEOUT_S)
        return made

    def _post(self, connection: HTTPConnection, path: str, body: bytes) -> _Reply:
        headers = {"Content-Type": "application/json"}
        if self._token:
            headers["Authorization"] = f"Bearer {self._token}"
        try:
            connection.request("POST", self._path + path, body, headers)
            response = connection.getresponse()
            reply = _Reply(response.status, _seconds(response.headers.get("Retry-After")), response.read())
        except BaseException:
            connection.close()
            raise
        if response.will_close:
            connection.close()
        else:
            self._idle.append(connection)
        return reply


def _close_all(connections: list[HTTPConnection]) -> None:
    while connections:
        connections.pop().close()


def _seconds(text: str | None) -> float:
    """A Retry-After in seconds; a date, or nothing, is no wish."""
    return float(text) if text is not None and text.isdecimal() else 0.0


def _plain(answer: Answer) -> dict[str, str]:
    reasoning = {"reasoning": answer.reasoning} if answer.reasoning else {}
    question, reason = str(answer.question), answer.finish_reason.value
    return {"question": question, "text": answer.text, "finish_reason": reason, **reasoning}


def _content(body: bytes) -> Mapping[str, Any]:
    """The object in a reply; empty when it was no server of ours that answered."""
    try:
        content = json.loads(body)
    except ValueError:
        return {}
    return content if isinstance(content, Mapping) else {}


def _refused(url: str, status: int, error: object) -> UsageError | ExecutorError:
    """What a server said about a request that it did not answer."""
    told = error if isinstance(error, Mapping) else {}
    message, remedy = str(told.get("message", "")), str(told.get("remedy", ""))
    if status == 400:
        return UsageError(message, field=str(told.get("field") or "request"), remedy=remedy)
    return ExecutorError(f"{url} answered {status}: {message}", remedy=remedy or "check the server")


def _reward(value: Any) -> Reward:
    try:
        return Reward(
            None if value["value"] is None else float(value["value"]),
            Stage(value["stage"]),
            Outcome(value["outcome"]),
            Owner(value["fault"]),
            str(value["policy"]),
            {str(name): float(number) for name, number in value["metrics"].items()},
            str(value["message"]),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise ExecutorError(f"a reward cannot be read: {error!r}", remedy="use one version on both ends") from None
