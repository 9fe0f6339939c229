"""The other end of ``npukb serve-judge``: scores answers by asking a server."""

from __future__ import annotations

import asyncio
import json
import os
import time
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from typing import Any

from npukernelbench.errors import ExecutorError, UsageError
from npukernelbench.generate import Hints
from npukernelbench.nouns import Outcome, Owner, Stage
from npukernelbench.rewards.policy import DEFAULT_POLICY, RewardPolicy
from npukernelbench.rewards.reward import Reward
from npukernelbench.rewards.scoring import Answer, Turn

__all__ = ["TOKEN_VARIABLE", "RemoteScorer"]

#: Where the secret of a guarded server is read from.
TOKEN_VARIABLE = "NPUKB_JUDGE_TOKEN"

#: A batch of slow kernels takes minutes; a server that is gone is noticed at once, by the refused connection.
_TIMEOUT_S = 3600.0
_BATCH = 64
_PATIENCE_S = 600.0


class RemoteScorer:
    """Asks the server at ``url``. A busy server is asked again for ``patience_s``; then, and when it is gone, the fault
    is ours: ExecutorError, never a reward.
    """

    def __init__(
        self, url: str, *, policy: str | RewardPolicy = DEFAULT_POLICY, patience_s: float = _PATIENCE_S
    ) -> None:
        if not url.startswith(("http://", "https://")):
            raise UsageError(f"{url!r} is no address", field="judge", remedy="write http://127.0.0.1:8970")
        if isinstance(policy, RewardPolicy):
            raise UsageError("a server takes the name of a policy", field="policy", remedy=f"pass {policy.name!r}")
        self._url, self._policy, self._patience_s = url.rstrip("/"), policy, patience_s
        self._token = os.environ.get(TOKEN_VARIABLE, "")

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
        """Nothing is held."""

    def _turns(self, answers: Sequence[Answer], hints: Hints | None) -> list[Turn]:
        parts = (answers[start : start + _BATCH] for start in range(0, len(answers), _BATCH))
        return [turn for part in parts for turn in self._batch(part, hints)]

    def _batch(self, answers: Sequence[Answer], hints: Hints | None) -> list[Turn]:
        body = {
            "policy": self._policy,
            **({"hints": hints.value} if hints is not None else {}),
            "answers": [
                {"question": str(one.question), "text": one.text, "finish_reason": one.finish_reason.value}
                for one in answers
            ],
        }
        reply = self._ask(json.dumps(body).encode())
        rewards = reply.get("rewards")
        if not isinstance(rewards, list) or len(rewards) != len(answers):
            raise ExecutorError(f"{self._url} answered something else than {len(answers)} rewards")
        return [Turn(_reward(one), str(one.get("feedback", ""))) for one in rewards]

    def _ask(self, body: bytes) -> Mapping[str, Any]:
        headers = {"Content-Type": "application/json"}
        if self._token:
            headers["Authorization"] = f"Bearer {self._token}"
        request = urllib.request.Request(f"{self._url}/v1/score", body, headers, method="POST")
        until = time.monotonic() + self._patience_s
        while True:
            try:
                with urllib.request.urlopen(request, timeout=_TIMEOUT_S) as reply:
                    found: Mapping[str, Any] = json.load(reply)
                    return found
            except urllib.error.HTTPError as error:
                with error:
                    told = _told(error)
                    wait_s = float(error.headers.get("Retry-After", "1"))
                if error.code == 400:
                    raise UsageError(
                        str(told.get("message", "")),
                        field=str(told.get("field") or "request"),
                        remedy=str(told.get("remedy", "")),
                    ) from None
                if error.code != 503 or time.monotonic() + wait_s > until:
                    raise ExecutorError(
                        f"{self._url} answered {error.code}: {told.get('message', error.reason)}",
                        remedy=str(told.get("remedy") or "look at the server"),
                    ) from None
                time.sleep(wait_s)
            except (urllib.error.URLError, OSError, ValueError) as error:
                raise ExecutorError(
                    f"{self._url} cannot be asked: {getattr(error, 'reason', error)}",
                    remedy="start one with npukb serve-judge",
                ) from None


def _told(error: urllib.error.HTTPError) -> Mapping[str, Any]:
    """What a server said about an error; nothing when it was no server of ours."""
    try:
        found = json.load(error)
    except ValueError:
        return {}
    told = found.get("error") if isinstance(found, Mapping) else None
    return told if isinstance(told, Mapping) else {}


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
