"""Rewards for TRL: ``GRPOTrainer(reward_funcs=kernel_reward, …)``, or on its command line
``--reward_funcs npukernelbench.rewards.trl.kernel_reward``.

A dataset needs the column ``npukb_task`` with questions (see :mod:`npukernelbench.rewards.question`); ``npukb rewards
dataset`` writes one. Needs nothing of TRL itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from statistics import fmean
from typing import Any

from npukernelbench.errors import UsageError
from npukernelbench.nouns import FinishReason
from npukernelbench.rewards.policy import DEFAULT_POLICY, load_policy
from npukernelbench.rewards.question import Question
from npukernelbench.rewards.reward import METRIC_NAMES
from npukernelbench.rewards.scoring import Answer
from npukernelbench.rewards.texts import reasoning_of, rewards_for, text_of

__all__ = ["KernelReward", "kernel_reward", "make_reward"]


class KernelReward:
    """A reward function as TRL calls it: by keyword, one list per dataset column, a float or None per completion.

    None marks a fault of ours, a judge that cannot be reached among them: TRL leaves the row out. Can be pickled; each
    process opens its own scorer.
    """

    def __init__(
        self,
        *,
        policy: str = DEFAULT_POLICY,
        judge: str = "",
        component: str = "",
        name: str = "kernel_reward",
        **settings: object,
    ) -> None:
        """``component`` returns one metric of the reward (:data:`METRIC_NAMES`) in place of its value; the other
        arguments are those of :func:`~npukernelbench.rewards.opening.open_scorer`. UsageError for unknown names.
        """
        load_policy(policy)
        if component and component not in METRIC_NAMES:
            raise UsageError(f"there is no component {component!r}", field="component", remedy=", ".join(METRIC_NAMES))
        self._policy, self._judge, self._component, self._settings = policy, judge, component, settings
        self.__name__ = self.__qualname__ = name

    def __call__(
        self,
        *,
        completions: Sequence[object],
        npukb_task: Sequence[str] | None = None,
        prompts: Sequence[object] | None = None,
        completion_ids: Sequence[Sequence[int]] | None = None,
        truncated: Sequence[bool] | None = None,
        log_metric: Callable[[str, float], object] | None = None,
        log_extra: Callable[[str, list[Any]], object] | None = None,
        **columns: object,
    ) -> list[float | None]:
        """One reward per completion. UsageError when the column ``npukb_task`` is missing or names no task."""
        del prompts, completion_ids, columns
        if npukb_task is None:
            raise UsageError(
                "the dataset has no column npukb_task", field="npukb_task", remedy="npukb rewards dataset writes one"
            )
        cut = truncated if truncated is not None else [False] * len(completions)
        answers = [
            Answer(
                Question.parse(task),
                text_of(completion),
                FinishReason.LENGTH if short else FinishReason.STOP,
                reasoning_of(completion),
            )
            for task, completion, short in zip(npukb_task, completions, cut, strict=True)
        ]
        rewards = rewards_for(answers, policy=self._policy, judge=self._judge, settings=self._settings)
        if log_metric is not None:
            for name in METRIC_NAMES:
                log_metric(f"npukb/{name}", fmean(reward.metrics[name] for reward in rewards) if rewards else 0.0)
        if log_extra is not None:
            log_extra("npukb_outcome", [reward.outcome.value for reward in rewards])
        if self._component:
            return [None if reward.value is None else reward.metrics[self._component] for reward in rewards]
        return [reward.value for reward in rewards]

    def __reduce__(self) -> tuple[Callable[..., KernelReward], tuple[Mapping[str, object]]]:
        made = {
            "policy": self._policy,
            "judge": self._judge,
            "component": self._component,
            "name": self.__name__,
            **self._settings,
        }
        return _remake, (made,)


def make_reward(
    *,
    policy: str = DEFAULT_POLICY,
    judge: str = "",
    component: str = "",
    name: str = "kernel_reward",
    **settings: object,
) -> KernelReward:
    """A reward function with settings of its own; see :class:`KernelReward`."""
    return KernelReward(policy=policy, judge=judge, component=component, name=name, **settings)


def _remake(made: Mapping[str, Any]) -> KernelReward:
    return KernelReward(**made)


#: With every setting as the configuration has it (``npukb.yaml``, ``NPUKB_…``).
kernel_reward = make_reward()
