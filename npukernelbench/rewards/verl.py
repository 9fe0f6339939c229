"""Rewards for verl: ``reward.custom_reward_function.path=pkg://npukernelbench.rewards.verl``.

The ground truth of a row is its question (see :mod:`npukernelbench.rewards.question`); ``npukb rewards dataset --format
verl`` writes such rows. Settings go through ``reward.custom_reward_function.reward_kwargs``. Needs nothing of verl.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from typing import Any, NamedTuple

from npukernelbench.errors import ExecutorError, UsageError
from npukernelbench.rewards.policy import DEFAULT_POLICY
from npukernelbench.rewards.question import Question
from npukernelbench.rewards.reward import METRIC_NAMES, Reward
from npukernelbench.rewards.scoring import Answer
from npukernelbench.rewards.texts import rewards_for, shared_ahead

__all__ = ["compute_score", "compute_score_async"]

_log = logging.getLogger(__name__)

#: What becomes of a fault of ours.
_ON_FAULT = ("none", "flag", "raise")
#: What verl may hand over that is not a setting of ours.
_FOREIGN = ("reward_router_address", "reward_model_tokenizer")


def compute_score(
    data_source: str,
    solution_str: str,
    ground_truth: object,
    extra_info: Mapping[str, object] | None = None,
    **settings: Any,
) -> dict[str, float | None]:
    """``score`` and one number per metric of :data:`METRIC_NAMES`, the same keys for every sample.

    ``settings`` are ``policy``, ``judge``, ``attempts`` (2), ``on_fault`` ("none"), and any of the configuration. A
    fault of ours is tried again ``attempts`` times in all. Then ``infra`` is 1 and the score is None: nothing is
    known about the answer. A reward manager that needs a number masks such samples and asks for ``on_fault="flag"``,
    a score of 0; ``on_fault="raise"`` ends the step with ExecutorError.
    """
    del data_source, extra_info
    asked = _asked(solution_str, ground_truth, **settings)
    for _ in range(asked.attempts):
        [reward] = rewards_for([asked.answer], policy=asked.policy, judge=asked.judge, settings=asked.settings)
        if reward.value is not None:
            break
    return _told(asked, reward)


async def compute_score_async(
    data_source: str,
    solution_str: str,
    ground_truth: object,
    extra_info: Mapping[str, object] | None = None,
    **settings: Any,
) -> dict[str, float | None]:
    """The same as a coroutine: each sample is judged as soon as its rollout ends, while others are still generated, and
    samples that end together go to the judge together. No thread waits for a sample.

    Two keys more: ``judged_s``, how long this sample waited for its reward, and ``rewards_per_s`` of this process since
    its start.
    """
    del data_source, extra_info
    asked = _asked(solution_str, ground_truth, **settings)
    ahead, start = shared_ahead(asked.policy, asked.judge, asked.settings), time.monotonic()
    for _ in range(asked.attempts):
        # A fault is forgotten by the time that it is told, so that asking again judges again.
        [reward] = await ahead.rewards_async([asked.answer])
        if reward.value is not None:
            break
    judged_s = time.monotonic() - start
    return {**_told(asked, reward), "judged_s": judged_s, "rewards_per_s": ahead.figures.rewards_per_s}


class _Asked(NamedTuple):
    """An answer, and how it is to be judged. ``settings`` are those of the configuration."""

    answer: Answer
    policy: str
    judge: str
    attempts: int
    on_fault: str
    settings: Mapping[str, object]


def _asked(
    solution_str: str,
    ground_truth: object,
    *,
    policy: str = DEFAULT_POLICY,
    judge: str = "",
    attempts: int = 2,
    on_fault: str = "none",
    **settings: object,
) -> _Asked:
    """UsageError for what cannot be read."""
    if on_fault not in _ON_FAULT:
        raise UsageError(f"on_fault is {on_fault!r}", field="on_fault", remedy=f"write {', '.join(_ON_FAULT)}")
    if not isinstance(ground_truth, str):
        raise UsageError(
            f"the ground truth is {type(ground_truth).__name__}", field="ground_truth", remedy="write Sqrt/0"
        )
    # A name that nobody knows would be refused as a setting of the configuration.
    known = {name: value for name, value in settings.items() if name not in _FOREIGN}
    answer = Answer(Question.parse(ground_truth), solution_str)
    # Once at least, whatever is asked: there is no reward otherwise.
    return _Asked(answer, policy, judge, max(attempts, 1), on_fault, known)


def _told(asked: _Asked, reward: Reward) -> dict[str, float | None]:
    """The reward as verl takes it. ExecutorError for a fault of ours when that is wished."""
    metrics = {name: reward.metrics[name] for name in METRIC_NAMES}
    if reward.value is not None:
        return {"score": reward.value, **metrics}
    if asked.on_fault == "raise":
        raise ExecutorError(f"{asked.answer.question} could not be judged: {reward.message}", remedy="see npukb doctor")
    _log.warning("%s could not be judged: %s", asked.answer.question, reward.message)
    return {"score": 0.0 if asked.on_fault == "flag" else None, **metrics}
