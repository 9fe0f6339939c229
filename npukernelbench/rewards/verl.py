"""Rewards for verl: ``reward.custom_reward_function.path=pkg://npukernelbench.rewards.verl``.

The ground truth of a row is its question (see :mod:`npukernelbench.rewards.question`); ``npukb rewards dataset --format
verl`` writes such rows. Settings go through ``reward.custom_reward_function.reward_kwargs``. Needs nothing of verl.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping

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
    *,
    policy: str = DEFAULT_POLICY,
    judge: str = "",
    attempts: int = 2,
    on_fault: str = "none",
    **settings: object,
) -> dict[str, float | None]:
    """``score`` and one number per metric of :data:`METRIC_NAMES`, the same keys for every sample.

    A fault of ours is tried again ``attempts`` times in all. Then ``infra`` is 1 and the score is None: nothing is
    known about the answer. A reward manager that needs a number masks such samples and asks for ``on_fault="flag"``,
    a score of 0; ``on_fault="raise"`` ends the step with ExecutorError.
    """
    del data_source, extra_info
    answer, known = _asked(solution_str, ground_truth, on_fault, settings)
    # Once at least, whatever is asked: there is no reward otherwise.
    for _ in range(max(attempts, 1)):
        [reward] = rewards_for([answer], policy=policy, judge=judge, settings=known)
        if reward.value is not None:
            break
    return _told(answer, reward, on_fault)


async def compute_score_async(
    data_source: str,
    solution_str: str,
    ground_truth: object,
    extra_info: Mapping[str, object] | None = None,
    *,
    policy: str = DEFAULT_POLICY,
    judge: str = "",
    attempts: int = 2,
    on_fault: str = "none",
    **settings: object,
) -> dict[str, float | None]:
    """The same as a coroutine: each sample is judged as soon as its rollout ends, while others are still generated, and
    samples that end together go to the judge together. No thread waits for a sample.

    Two keys more: ``judged_s``, how long this sample waited for its reward, and ``rewards_per_s`` of this process since
    its start.
    """
    del data_source, extra_info
    answer, known = _asked(solution_str, ground_truth, on_fault, settings)
    ahead, start = shared_ahead(policy, judge, known), time.monotonic()
    for _ in range(max(attempts, 1)):
        # A fault is forgotten by the time that it is told, so that asking again judges again.
        [reward] = await ahead.rewards_async([answer])
        if reward.value is not None:
            break
    judged_s = time.monotonic() - start
    return {**_told(answer, reward, on_fault), "judged_s": judged_s, "rewards_per_s": ahead.figures.rewards_per_s}


def _asked(
    solution_str: str, ground_truth: object, on_fault: str, settings: Mapping[str, object]
) -> tuple[Answer, dict[str, object]]:
    """The answer, and the settings that are ours. UsageError for what cannot be read."""
    if on_fault not in _ON_FAULT:
        raise UsageError(f"on_fault is {on_fault!r}", field="on_fault", remedy=f"write {', '.join(_ON_FAULT)}")
    if not isinstance(ground_truth, str):
        raise UsageError(
            f"the ground truth is {type(ground_truth).__name__}", field="ground_truth", remedy="write Sqrt/0"
        )
    # A name that nobody knows would be refused as a setting of the configuration.
    known = {name: value for name, value in settings.items() if name not in _FOREIGN}
    return Answer(Question.parse(ground_truth), solution_str), known


def _told(answer: Answer, reward: Reward, on_fault: str) -> dict[str, float | None]:
    """The reward as verl takes it. ExecutorError for a fault of ours when that is wished."""
    metrics = {name: reward.metrics[name] for name in METRIC_NAMES}
    if reward.value is not None:
        return {"score": reward.value, **metrics}
    if on_fault == "raise":
        raise ExecutorError(f"{answer.question} could not be judged: {reward.message}", remedy="see npukb doctor")
    _log.warning("%s could not be judged: %s", answer.question, reward.message)
    return {"score": 0.0 if on_fault == "flag" else None, **metrics}
