"""Tasks and rewards for verifiers 0.4: ``vf-eval npukb-verifiers``.

The one module of this package that needs the framework it is for: a taskset is a class of verifiers'.
"""

from __future__ import annotations

from collections.abc import Iterator

import verifiers.v1 as vf

from npukernelbench.errors import ExecutorError
from npukernelbench.nouns import FinishReason, Track
from npukernelbench.rewards.dataset import questions
from npukernelbench.rewards.golden import golden_answer
from npukernelbench.rewards.policy import DEFAULT_POLICY
from npukernelbench.rewards.question import Question
from npukernelbench.rewards.reward import METRIC_NAMES, Reward
from npukernelbench.rewards.scoring import Answer
from npukernelbench.rewards.texts import shared_scorer

__all__ = ["KernelTaskset"]


class KernelData(vf.TaskData):
    """A question (see :mod:`npukernelbench.rewards.question`) and the files of a right answer, if there is one."""

    question: str
    golden: str = ""


class KernelTaskConfig(vf.TaskConfig):
    """How answers are judged: a policy's name, a server's address (empty: in this process), an executor; how they are
    read: a strategy and a parser (empty: as configured).
    """

    policy: str = DEFAULT_POLICY
    judge: str = ""
    executor: str = "twin"
    strategy: str = ""
    parser: str = ""


class KernelTask(vf.Task[KernelData, vf.State, KernelTaskConfig]):
    """One kernel to write.

    A fault of ours is raised: verifiers records the exception as an error of that one sample, whose reward is then
    None. Its hooks have no other way to say so: they must return a number, and an empty mapping counts as 0.
    """

    async def _judged(self, text: str, cut_off: bool) -> Reward:
        config = self.config
        named = {"strategy": config.strategy, "parser": config.parser}
        settings = {name: value for name, value in named.items() if value}
        # A server has an executor of its own.
        if not config.judge:
            settings["executor"] = config.executor
        scorer = shared_scorer(config.policy, config.judge, settings)
        reason = FinishReason.LENGTH if cut_off else FinishReason.STOP
        reward = (await scorer.score_async([Answer(Question.parse(self.data.question), text, reason)]))[0]
        if reward.value is None:
            raise ExecutorError(f"{self.data.question} could not be judged: {reward.message}")
        return reward

    @vf.reward(weight=1.0)
    async def kernel(self, trace: vf.Trace) -> float:
        """What the answer is worth under the policy."""
        reward = await self._judged(trace.last_reply, trace.is_truncated)
        assert reward.value is not None
        return reward.value

    @vf.metric
    async def npukb(self, trace: vf.Trace) -> dict[str, float]:
        """The parts of the reward. The verdict is remembered, so that this judges nothing again."""
        reward = await self._judged(trace.last_reply, trace.is_truncated)
        return {f"npukb/{name}": reward.metrics[name] for name in METRIC_NAMES}

    async def validate(self, runtime: vf.Runtime) -> bool | None:
        """Whether our own kernel is right; None where there is none."""
        del runtime
        if not self.data.golden:
            return None
        return bool((await self._judged(self.data.golden, False)).metrics["correct"])


class KernelConfig(vf.TasksetConfig):
    """Which tasks, on which track, in which prompt style."""

    tasks: str = "all:smoke"
    track: str = Track.STATIC.value
    prompt_style: str = "default"
    task: KernelTaskConfig = KernelTaskConfig()


class KernelTaskset(vf.Taskset[KernelTask, KernelConfig]):
    """Every question of a selection."""

    def load(self) -> Iterator[KernelTask]:
        """One task per question."""
        from npukernelbench.config import resolve
        from npukernelbench.generate.strategy import load_strategy
        from npukernelbench.plugins import Plugins
        from npukernelbench.prompts import load_style
        from npukernelbench.tasks import load_registry

        settings = resolve()
        plugins = Plugins.load(disabled=settings.disabled_plugins)
        plugins.configure(settings)
        registry = load_registry(plugins, settings.include_path, cache_dir=settings.cache_dir)
        style = load_style(plugins.prompts.find(self.config.prompt_style), lambda: registry)
        strategy = load_strategy(plugins.strategies.find(self.config.task.strategy or settings.strategy))
        track = Track(self.config.track)
        for entry, question in questions(registry.select([self.config.tasks]), track):
            case = next((case for case in entry.cases if case.id == question.case), None)
            prompt = strategy.opening(entry.task, case, track, style, lambda: registry)
            yield KernelTask(
                KernelData(
                    name=str(question),
                    question=str(question),
                    system_prompt="\n\n".join(m.content for m in prompt.messages if m.role == "system") or None,
                    prompt="\n\n".join(m.content for m in prompt.messages if m.role != "system"),
                    golden=golden_answer(entry.task, case, track) or "",
                ),
                self.config.task,
            )
