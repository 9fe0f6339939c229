"""Rewards for verl: ``reward.custom_reward_function.path=pkg://npukernelbench.rewards.verl``.

The ground truth of a row is its question (see :mod:`npukernelbench.rewards.question`); ``npukb rewards dataset --format
verl`` writes such rows. Settings go through ``reward.custom_reward_function.reward_kwargs``. Needs nothing of verl.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping

from npukernelbench.errors import ExecutorError, UsageError
from npukernelbench.rewards.policy import DEFAULT_POLICY
from npukernelbench.rewards.question import Question
from npukernelbench.rewards.reward import METRIC_NAMES
from npukernelbench.rewards.scoring import Answer
from npukernelbench.rewards.texts import rewards_for

__all__ = ["compute_score"]

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
    if on_fault not in _ON_FAULT:
        raise UsageError(f"on_fault is {on_fault!r}", field="on_fault", remedy=f"write {', '.join(_ON_FAULT)}")
    if not isinstance(ground_truth, str):
        raise UsageError(
            f"the ground truth is {type(ground_truth).__name__}", field="ground_truth", remedy="write Sqrt/0"
        )
    known = {name: value for name, value in settings.items() if name not in _FOREIGN}
    answer = Answer(Question.parse(ground_truth), solution_str)
    for _ in range(max(attempts, 1)):
        [reward] = rewards_for([answer], policy=policy, judge=judge, settings=known)
        if reward.value is not None:
            return {"score": reward.value, **{name: reward.metrics[name] for name in METRIC_NAMES}}
    if on_fault == "raise":
        raise ExecutorError(f"{ground_truth} could not be judged: {reward.message}", remedy="see npukb doctor")
    _log.warning("%s could not be judged: %s", ground_truth, reward.message)
    return {"score": 0.0 if on_fault == "flag" else None, **{name: reward.metrics[name] for name in METRIC_NAMES}}
