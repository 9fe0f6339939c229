"""``npukb rewards check``: is every adapter called as its trainer calls it, and does it answer as it must?

One right and one wrong answer to one question go through each adapter with the trainer's whole set of keywords.
"""

from __future__ import annotations

import asyncio
import importlib.util
import pickle
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from npukernelbench.errors import NpukbError, UsageError
from npukernelbench.rewards.golden import golden_answer
from npukernelbench.rewards.question import Question
from npukernelbench.rewards.reward import METRIC_NAMES
from npukernelbench.rewards.scorer import Scorer
from npukernelbench.rewards.trl import make_reward
from npukernelbench.rewards.verl import compute_score

__all__ = ["Finding", "Probe", "check_adapters", "probe_for"]


class Finding(NamedTuple):
    """One line: an adapter or a part of it, whether it holds (None: not tried), what was seen."""

    what: str
    holds: bool | None
    detail: str


class Probe(NamedTuple):
    """A question with a right and a wrong answer."""

    question: str
    right: str
    wrong: str


def probe_for(scorer: Scorer, question: Question) -> Probe:
    """Our own kernel, and the same without its last third. UsageError when there is none for the question."""
    asked = scorer.resolve(question)
    right = golden_answer(asked.task, asked.case, question.track)
    if right is None:
        raise UsageError(
            f"{asked.task.name} has no golden kernel of track {question.track.value}",
            field="--question",
            remedy="name another task, for instance Sqrt",
        )
    # With a closing fence, or the parser would find no code to judge.
    return Probe(str(asked.question), right, right[: len(right) * 2 // 3] + "\n```\n")


def check_adapters(probe: Probe, *, policy: str, judge: str, settings: Mapping[str, Any]) -> Iterator[Finding]:
    """Try every adapter on the probe."""
    for what, check in (("trl", _trl), ("verl", _verl), ("verifiers", _verifiers)):
        try:
            yield from check(probe, policy, judge, settings)
        except NpukbError as error:
            yield Finding(what, False, str(error))


def _trl(probe: Probe, policy: str, judge: str, settings: Mapping[str, Any]) -> Iterator[Finding]:
    reward = make_reward(policy=policy, judge=judge, **settings)
    metrics: dict[str, float] = {}
    extra: dict[str, list[Any]] = {}
    chat = [[{"role": "assistant", "content": text}] for text in (probe.right, probe.wrong)]
    for form, completions in (("text", [probe.right, probe.wrong]), ("conversation", chat)):
        values = reward(
            prompts=["write it"] * 2,
            completions=completions,
            completion_ids=[[1], [2]],
            npukb_task=[probe.question] * 2,
            trainer_state=None,
            log_extra=extra.__setitem__,
            log_metric=metrics.__setitem__,
            environments=None,
        )
        yield Finding(f"trl: {form}", _ordered(values), f"right {values[0]}, wrong {values[1]}")
    yield Finding("trl: metrics", set(metrics) == {f"npukb/{name}" for name in METRIC_NAMES}, f"{len(metrics)} metrics")
    copy = pickle.loads(pickle.dumps(reward))
    yield Finding("trl: pickle", copy.__name__ == reward.__name__, copy.__name__)


def _verl(probe: Probe, policy: str, judge: str, settings: Mapping[str, Any]) -> Iterator[Finding]:
    def ask(text: str) -> dict[str, float | None]:
        return compute_score(
            data_source="npukernelbench",
            solution_str=text,
            ground_truth=probe.question,
            extra_info={"num_turns": 1, "rollout_reward_scores": {}},
            reward_router_address=None,
            reward_model_tokenizer=None,
            policy=policy,
            judge=judge,
            **settings,
        )

    right, wrong = ask(probe.right), ask(probe.wrong)
    yield Finding(
        "verl: score", _ordered([right["score"], wrong["score"]]), f"right {right['score']}, wrong {wrong['score']}"
    )
    yield Finding("verl: the same keys", right.keys() == wrong.keys() == {"score", *METRIC_NAMES}, ", ".join(right))


def _verifiers(probe: Probe, policy: str, judge: str, settings: Mapping[str, Any]) -> Iterator[Finding]:
    if importlib.util.find_spec("verifiers") is None:
        yield Finding("verifiers", None, "not tried: pip install verifiers")
        return
    adapter: Any = importlib.import_module("npukernelbench.rewards.verifiers")
    config = adapter.KernelTaskConfig(policy=policy, judge=judge, executor=str(settings.get("executor", "twin")))
    rewards = []
    for text in (probe.right, probe.wrong):
        data = adapter.KernelData(question=probe.question, golden=text, prompt="write it")
        rewards.append(asyncio.run(adapter.KernelTask(data, config).validate(None)))
    right, wrong = rewards
    yield Finding("verifiers: validate", (right, wrong) == (True, False), f"right {right}, wrong {wrong}")


def _ordered(values: list[float | None] | list[float]) -> bool:
    """Whether both were judged, and the right answer is worth more."""
    right, wrong = values
    return right is not None and wrong is not None and right > wrong
