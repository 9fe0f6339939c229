"""The other end of ``npukb serve-judge``: scores answers by asking a server.

A request may be sent again without harm, since the server remembers verdicts. So whatever is lost on the way is asked
again: a busy server for as long as the caller has patience, a connection that fails a few times, each time after a
longer pause of random length, so that many callers do not come back together.
"""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from http.client import HTTPException
from threading import Lock
from typing import Any, TypeAlias

from npukernelbench.errors import ExecutorError, NpukbError, UsageError
from npukernelbench.generate import Hints
from npukernelbench.nouns import Outcome, Owner, Stage
from npukernelbench.rewards.policy import DEFAULT_POLICY, RewardPolicy
from npukernelbench.rewards.race import Hedge, race
from npukernelbench.rewards.race import Outcome as Raced
from npukernelbench.rewards.reward import Reward
from npukernelbench.rewards.scoring import Answer, Terms, Turn
from npukernelbench.rewards.servers import TOKEN_VARIABLE, Server, open_servers
from npukernelbench.seed import draw_secret

__all__ = ["TOKEN_VARIABLE", "RemoteScorer"]

Rewards: TypeAlias = Sequence[Mapping[str, Any]]

_BATCH = 64
_PATIENCE_S = 600.0
#: How often a connection may fail before the server counts as gone, and how long the pauses are: up to the first one,
#: twice as long each time, never longer than the last.
_CONNECTIONS = 8
_FIRST_PAUSE_S = 0.1
_LONGEST_PAUSE_S = 10.0
#: A server that is busy, or a gateway whose server is.
_BUSY = (502, 503, 504)


@dataclass
class _Tries:
    """How often one request was sent to one server in vain, and when it may be sent there again."""

    failures: int = 0
    busy: int = 0
    rest_until: float = 0.0
    hopeless: bool = False


class _NotNow(Exception):  # noqa: N818
    """A server is busy. ``error`` is what to raise when nobody waits any longer."""

    def __init__(self, wish_s: float, error: NpukbError) -> None:
        super().__init__(wish_s)
        self.wish_s, self.error = wish_s, error


class RemoteScorer:
    """Asks the server at ``url``, or of several the one that is judging the fewest answers for us. A server that fails
    is left out for a while, and its answers go to another; one that takes far longer than usual is overtaken. Busy
    servers are asked again for ``patience_s``; then, and when none is left, the fault is ours: ExecutorError, never a
    reward.

    Connections are kept for the next request. ``strategy`` and ``parser`` are the servers' own unless given.
    """

    def __init__(
        self,
        url: str | Sequence[str],
        *,
        policy: str | RewardPolicy = DEFAULT_POLICY,
        strategy: str = "",
        parser: str = "",
        patience_s: float = _PATIENCE_S,
    ) -> None:
        self._servers, self._patience_s = open_servers(url), patience_s
        if isinstance(policy, RewardPolicy):
            raise UsageError("a server takes the name of a policy", field="policy", remedy=f"pass {policy.name!r}")
        self._terms = Terms(policy, strategy, parser)
        self._lock, self._hedge = Lock(), Hedge()
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
        for server in self._servers:
            server.close()

    def _turns(self, answers: Sequence[Answer], hints: Hints | None) -> list[Turn]:
        # Rounded up: no more parts than servers, so that a small batch takes one round.
        size = min(_BATCH, -(-len(answers) // len(self._servers)) or 1)
        parts = [answers[start : start + size] for start in range(0, len(answers), size)]
        # All of a batch is judged on the same inputs, whichever server gets which part of it.
        seed = draw_secret() if len(answers) > 1 else None
        if len(self._servers) == 1 or len(parts) < 2:
            return [turn for part in parts for turn in self._batch(part, hints, seed)]
        with ThreadPoolExecutor(len(self._servers), thread_name_prefix="ask") as pool:
            return [turn for turns in pool.map(lambda part: self._batch(part, hints, seed), parts) for turn in turns]

    def _batch(self, answers: Sequence[Answer], hints: Hints | None, seed: int | None) -> list[Turn]:
        terms = {"policy": self._terms.policy, "strategy": self._terms.strategy, "parser": self._terms.parser}
        body = {
            **{name: value for name, value in terms.items() if value},
            **({"hints": hints.value} if hints is not None else {}),
            **({"seed": seed} if seed is not None else {}),
            "answers": [_plain(answer) for answer in answers],
        }
        rewards = self._ask(json.dumps(body).encode(), len(answers))
        return [Turn(_reward(reward), str(reward.get("feedback", ""))) for reward in rewards]

    def _ask(self, body: bytes, count: int) -> Rewards:
        until = time.monotonic() + self._patience_s
        tries = {server: _Tries() for server in self._servers}
        while True:
            for outcome in self._race(tries, body, count):
                if outcome.error is None:
                    assert outcome.answer is not None
                    return outcome.answer
                error = _note(outcome.server, tries[outcome.server], outcome.error, self._pause_s)
            # A busy server stays hopeful; only the caller's patience ends that.
            hopeful = [other for other in tries.values() if not other.hopeless]
            if not hopeful or min(other.rest_until for other in hopeful) > until:
                raise error from None

    def _race(self, tries: Mapping[Server, _Tries], body: bytes, count: int) -> Iterator[Raced[Server, Rewards]]:
        """Send the request to the server that is best for it, and to a second one if that takes too long."""

        def ask(server: Server) -> Rewards:
            try:
                start = time.monotonic()
                rewards = _rewards(server, body, count)
                # After an answer only: a refused connection is quick, and says nothing of how long judging takes.
                self._hedge.note(count, time.monotonic() - start)
                return rewards
            finally:
                with self._lock:
                    # In this thread: the loser of a race ends when nobody waits for it any longer.
                    server.load -= count

        def second() -> Server | None:
            others = {
                server: tried for server, tried in tries.items() if server is not first and _is_free(server, tried)
            }
            return self._take(others, count) if others and self._hedge.may() else None

        first = self._take(tries, count)
        if (wait_s := tries[first].rest_until - time.monotonic()) > 0:
            time.sleep(wait_s)
        delay_s = self._hedge.delay_s(count) if len(self._servers) > 1 else None
        return race(first, ask, delay_s, second)

    def _take(self, tries: Mapping[Server, _Tries], count: int) -> Server:
        """The server to send a request to: one that this request need not wait for, that has not just failed, and that
        has the least to do. Chance decides between equals, so that many callers do not all take the first."""
        now = time.monotonic()

        def rank(server: Server) -> tuple[float, bool, int, float]:
            return (max(0.0, tries[server].rest_until - now), server.is_aside, server.burden, self._random.random())

        with self._lock:
            server = min((server for server, tried in tries.items() if not tried.hopeless), key=rank)
            server.load += count
        return server

    def _pause_s(self, times: int) -> float:
        """How long to wait after so many failures: a random share of a pause that doubles."""
        # Busy servers are counted without limit, and 2.0 ** 1024 is an OverflowError.
        return self._random.uniform(0.0, min(_LONGEST_PAUSE_S, _FIRST_PAUSE_S * 2.0 ** min(times, 20)))


def _is_free(server: Server, tried: _Tries) -> bool:
    """Whether a server may be asked at once."""
    return not (tried.hopeless or server.is_aside) and tried.rest_until <= time.monotonic()


def _note(server: Server, tried: _Tries, failure: Exception, pause_s: Callable[[int], float]) -> NpukbError:
    """Remember that a server did not answer; what to raise when nobody else can be asked. What the caller did wrong is
    raised at once."""
    if isinstance(failure, _NotNow):
        tried.busy += 1
        rest_s, error = failure.wish_s + pause_s(tried.busy), failure.error
    elif isinstance(failure, (OSError, HTTPException)):
        tried.failures += 1
        rest_s = pause_s(tried.failures)
        server.set_aside(rest_s)
        tried.hopeless = tried.failures == _CONNECTIONS
        reason = f"{server.url} cannot be asked: {failure or type(failure).__name__}"
        error = ExecutorError(reason, remedy="start one with npukb serve-judge")
    elif isinstance(failure, ExecutorError):
        # What it says makes no sense, or it refuses: asking the same server again would not help.
        rest_s, error, tried.hopeless = _LONGEST_PAUSE_S, failure, True
        server.set_aside(rest_s)
    else:
        raise failure
    tried.rest_until = time.monotonic() + rest_s
    return error


def _rewards(server: Server, body: bytes, count: int) -> Rewards:
    """What the server answers. OSError or HTTPException when it cannot be reached, _NotNow when it is busy."""
    reply = server.post("/v1/score", body)
    content = _content(reply.body)
    if reply.status != 200:
        error = _refused(server.url, reply.status, content.get("error"))
        if reply.status in _BUSY:
            raise _NotNow(reply.retry_after_s, error)
        raise error
    rewards = content.get("rewards")
    if not isinstance(rewards, list) or len(rewards) != count:
        raise ExecutorError(f"{server.url} did not answer with {count} rewards")
    return rewards


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
            value.get("seed"),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise ExecutorError(f"a reward cannot be read: {error!r}", remedy="use one version on both ends") from None
