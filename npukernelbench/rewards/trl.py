"""Rewards for TRL: ``GRPOTrainer(reward_funcs=kernel_reward, …)``, or on its command line
``--reward_funcs npukernelbench.rewards.trl.kernel_reward``.

A dataset needs the column ``npukb_task`` with questions (see :mod:`npukernelbench.rewards.question`); ``npukb rewards
dataset`` writes one. Needs nothing of TRL itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from statistics import fmean
from typing import Any, TypeAlias

from npukernelbench.errors import UsageError
from npukernelbench.nouns import FinishReason
from npukernelbench.rewards.ahead import Ahead, Figures
from npukernelbench.rewards.policy import DEFAULT_POLICY, load_policy
from npukernelbench.rewards.question import Question
from npukernelbench.rewards.reward import METRIC_NAMES, Reward
from npukernelbench.rewards.scoring import Answer
from npukernelbench.rewards.texts import reasoning_of, rewards_for, shared_ahead, text_of

__all__ = ["AsyncKernelReward", "KernelReward", "kernel_reward", "make_async_reward", "make_reward"]

LogMetric: TypeAlias = Callable[[str, float], object]
LogExtra: TypeAlias = Callable[[str, list[Any]], object]
#: None where the fault is ours.
Values: TypeAlias = list[float | None]


class _Settings:
    """What every reward function for TRL is made of."""

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
        # For its errors: the first call comes only after a whole rollout.
        load_policy(policy)
        if component and component not in METRIC_NAMES:
            raise UsageError(f"there is no component {component!r}", field="component", remedy=", ".join(METRIC_NAMES))
        self._policy, self._judge, self._component, self._settings = policy, judge, component, settings
        # TRL names a reward function in its logs by `__name__`, which an instance does not have by itself.
        self.__name__ = self.__qualname__ = name

    def _values(self, rewards: Sequence[Reward], log_metric: LogMetric | None, log_extra: LogExtra | None) -> Values:
        if log_metric is not None:
            for name in METRIC_NAMES:
                # `fmean` raises for an empty batch.
                log_metric(f"npukb/{name}", fmean(reward.metrics[name] for reward in rewards) if rewards else 0.0)
        if log_extra is not None:
            log_extra("npukb_outcome", [reward.outcome.value for reward in rewards])
            log_extra("npukb_seed", [reward.seed for reward in rewards])
        if self._component:
            return [None if reward.value is None else reward.metrics[self._component] for reward in rewards]
        return [reward.value for reward in rewards]

    def __reduce__(self) -> tuple[Callable[..., object], tuple[object, ...]]:
        made = {
            "policy": self._policy,
            "judge": self._judge,
            "component": self._component,
            "name": self.__name__,
            **self._settings,
        }
        return _remake, (type(self), made)


class KernelReward(_Settings):
    """A reward function as TRL calls it: by keyword, one list per dataset column, a float or None per completion.

    None marks a fault of ours, a judge that cannot be reached among them: TRL leaves the row out. Can be pickled; each
    process opens its own scorer.
    """

    def __call__(
        self,
        *,
        completions: Sequence[object],
        npukb_task: Sequence[str] | None = None,
        truncated: Sequence[bool] | None = None,
        log_metric: LogMetric | None = None,
        log_extra: LogExtra | None = None,
        **columns: object,
    ) -> Values:
        """One reward per completion. UsageError when the column ``npukb_task`` is missing or names no task."""
        del columns
        answers = _answers(completions, npukb_task, truncated)
        rewards = rewards_for(answers, policy=self._policy, judge=self._judge, settings=self._settings)
        return self._values(rewards, log_metric, log_extra)


class AsyncKernelReward(_Settings):
    """The same as a coroutine, which TRL runs beside others, and with :meth:`begin`: a rollout hands over each
    completion as soon as it is complete, and it is judged while the rest is still being generated.

    It logs three figures more, of the time since its last call: ``npukb/rewards_per_s``, ``npukb/waited_s`` (how long
    training waited for rewards) and ``npukb/overlapped`` (the share of judging in which it did not).
    """

    def __init__(self, **settings: Any) -> None:
        """Arguments are those of :class:`KernelReward`."""
        super().__init__(**settings)
        self._before = Figures()

    def begin(
        self, completions: Sequence[object], npukb_task: Sequence[str], truncated: Sequence[bool] | None = None
    ) -> None:
        """Begin judging; returns at once. The call for the whole batch finds what is judged already."""
        self._ahead().begin(_answers(completions, npukb_task, truncated))

    async def __call__(
        self,
        *,
        completions: Sequence[object],
        npukb_task: Sequence[str] | None = None,
        truncated: Sequence[bool] | None = None,
        log_metric: LogMetric | None = None,
        log_extra: LogExtra | None = None,
        **columns: object,
    ) -> Values:
        """As :meth:`KernelReward.__call__`."""
        del columns
        ahead = self._ahead()
        rewards = await ahead.rewards_async(_answers(completions, npukb_task, truncated))
        figures = ahead.figures
        latest, self._before = figures.since(self._before), figures
        if log_metric is not None:
            for name in ("rewards_per_s", "waited_s", "overlapped"):
                log_metric(f"npukb/{name}", getattr(latest, name))
        return self._values(rewards, log_metric, log_extra)

    def _ahead(self) -> Ahead:
        return shared_ahead(self._policy, self._judge, self._settings)


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


def make_async_reward(
    *,
    policy: str = DEFAULT_POLICY,
    judge: str = "",
    component: str = "",
    name: str = "kernel_reward",
    **settings: object,
) -> AsyncKernelReward:
    """The same as a coroutine; see :class:`AsyncKernelReward`."""
    return AsyncKernelReward(policy=policy, judge=judge, component=component, name=name, **settings)


def _remake(kind: Callable[..., object], made: Mapping[str, Any]) -> object:
    return kind(**made)


def _answers(
    completions: Sequence[object], npukb_task: Sequence[str] | None, truncated: Sequence[bool] | None
) -> list[Answer]:
    if npukb_task is None:
        raise UsageError(
            "the dataset has no column npukb_task", field="npukb_task", remedy="npukb rewards dataset writes one"
        )
    cut = truncated if truncated is not None else [False] * len(completions)
    return [
        Answer(
            Question.parse(task),
            text_of(completion),
            FinishReason.LENGTH if short else FinishReason.STOP,
            reasoning_of(completion),
        )
        for task, completion, short in zip(npukb_task, completions, cut, strict=True)
    ]


#: With every setting as the configuration has it (``npukb.yaml``, ``NPUKB_…``).
kernel_reward = make_reward()
