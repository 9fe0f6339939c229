"""Rewards that are judged before anybody waits for them."""

from __future__ import annotations

import asyncio
import inspect
import pickle
import threading
from collections.abc import Sequence
from typing import Any

import pytest

from npukernelbench.errors import UsageError
from npukernelbench.rewards import METRIC_NAMES, Answer, Question, Reward, ahead, texts
from npukernelbench.rewards.ahead import Ahead, Figures
from npukernelbench.rewards.reward import unjudged
from npukernelbench.rewards.trl import AsyncKernelReward, make_async_reward
from npukernelbench.rewards.verl import compute_score, compute_score_async
from tests.rewards.conftest import MakeScorer, answer


def asked(*texts: str, question: str = "TinyOne") -> list[Answer]:
    return [Answer(Question(question), text) for text in texts]


class Judging:
    """Gives every answer its number; keeps the batches."""

    def __init__(self) -> None:
        self.batches: list[list[tuple[str, str]]] = []
        self.go = threading.Event()
        self.go.set()
        self.begun = threading.Event()

    def __call__(self, answers: Sequence[Answer]) -> list[Reward]:
        self.batches.append([(answer.question.task, answer.text) for answer in answers])
        self.begun.set()
        assert self.go.wait(20)
        metrics = dict.fromkeys(METRIC_NAMES, 0.0)
        return [unjudged("p", "").__class__(float(one.text), *_REST, metrics) for one in answers]


_REST = (lambda one: (one.stage, one.outcome, one.fault, one.policy))(unjudged("p", ""))


@pytest.fixture
def judging() -> Judging:
    return Judging()


def test_judging_goes_on_before_anybody_waits(judging: Judging) -> None:
    early = Ahead(judging)
    early.begin(asked("1", "2"))
    assert judging.begun.wait(20)  # nobody has asked for a reward yet
    assert [reward.value for reward in early.rewards(asked("2", "3", "1"))] == [2.0, 3.0, 1.0]
    assert judging.batches == [[("TinyOne", "1"), ("TinyOne", "2")], [("TinyOne", "3")]]
    figures = early.figures
    assert (figures.rewards, figures.judged) == (3, 3)
    assert figures.passed_s >= figures.judging_s > 0
    early.close()


def test_answers_go_by_task_and_equal_ones_once(judging: Judging, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ahead, "_LINGER_S", 60.0)
    monkeypatch.setattr(ahead, "_BATCH", 4)
    early = Ahead(judging)
    for text in ("1", "2", "1"):
        early.begin([*asked(text), *asked(text, question="TinyTwo")])
    assert judging.begun.wait(20)  # four are a batch: they wait for no more
    early.close()
    assert judging.batches == [[("TinyOne", "1"), ("TinyOne", "2"), ("TinyTwo", "1"), ("TinyTwo", "2")]]


def test_samples_that_end_together_go_together(judging: Judging) -> None:
    early = Ahead(judging)

    async def all_of_them() -> list[list[Reward]]:
        return await asyncio.gather(*(early.rewards_async(asked(str(number))) for number in range(10)))

    assert [one.value for [one] in asyncio.run(all_of_them())] == [float(number) for number in range(10)]
    assert [len(batch) for batch in judging.batches] == [10]
    early.close()


def test_who_gives_up_takes_no_reward_from_others(judging: Judging) -> None:
    async def one_gives_up() -> list[Reward]:
        judging.go.clear()
        early = Ahead(judging)
        leaving, staying = (asyncio.create_task(early.rewards_async(asked(text, "3"))) for text in ("1", "2"))
        await asyncio.to_thread(judging.begun.wait, 20)
        leaving.cancel()
        await asyncio.wait([leaving])
        judging.go.set()
        return await asyncio.wait_for(staying, 20)

    assert [reward.value for reward in asyncio.run(one_gives_up())] == [2.0, 3.0]


def test_faults_are_tried_again_and_errors_reach_who_asks() -> None:
    failing = iter([UsageError("no such task", field="question", remedy="")])

    def score(answers: Sequence[Answer]) -> list[Reward]:
        for error in failing:
            raise error
        return [unjudged("p", str(len(answers)))] * len(answers)

    early = Ahead(score)
    with pytest.raises(UsageError, match="no such task"):
        early.rewards(asked("1"))
    for _ in range(2):
        assert early.rewards(asked("1"))[0].value is None
    assert early.figures.judged == 3  # nothing is known of the answer: it is judged each time
    early.close()


def test_figures_say_what_waiting_cost() -> None:
    first, second = Figures(10, 8, 10.0, 4.0, 1.0), Figures(30, 20, 20.0, 8.0, 4.0)
    latest = second.since(first)
    assert latest == Figures(20, 12, 10.0, 4.0, 3.0)
    assert (latest.rewards_per_s, latest.overlapped) == (2.0, 0.25)
    assert (Figures().rewards_per_s, Figures().overlapped) == (0.0, 0.0)


@pytest.fixture
def calls(make_scorer: MakeScorer, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Every adapter's scorer is the fake one; the sizes of its batches."""
    sizes: list[int] = []

    def opened(*, policy: str, judge: str, **settings: object) -> Any:
        scorer = make_scorer(policy)
        score = scorer.score
        monkeypatch.setattr(scorer, "score", lambda answers: sizes.append(len(answers)) or score(answers))
        return scorer

    monkeypatch.setattr(texts, "open_scorer", opened)
    monkeypatch.setattr(texts, "_OPEN", {})
    monkeypatch.setattr(texts, "_AHEAD", {})
    return sizes


def test_trl_gets_rewards_that_were_begun_during_generation(calls: list[int]) -> None:
    reward = make_async_reward(policy="binary", name="correct")
    assert inspect.iscoroutinefunction(reward.__call__)  # so TRL takes it for a coroutine
    completions = [answer("ok"), answer("zeros"), answer("raise"), answer("ok")]
    for early in completions[:2]:
        reward.begin([early], ["TinyOne/a"])
    metrics: dict[str, float] = {}
    keywords = {"npukb_task": ["TinyOne/a"] * 4, "prompts": ["p"] * 4, "log_metric": metrics.__setitem__}
    assert asyncio.run(reward(completions=completions, **keywords)) == [1.0, 0.0, None, 1.0]
    assert sum(calls) == 3
    assert set(metrics) == {f"npukb/{name}" for name in (*METRIC_NAMES, "rewards_per_s", "waited_s", "overlapped")}
    assert metrics["npukb/rewards_per_s"] > 0
    copy = pickle.loads(pickle.dumps(reward))
    assert isinstance(copy, AsyncKernelReward)
    assert copy.__name__ == "correct"


def test_verl_gets_the_same_from_the_coroutine(calls: list[int]) -> None:
    words = ["ok", "zeros", "crash", "ok", "raise"]

    async def all_of_them() -> list[dict[str, float | None]]:
        return await asyncio.gather(*(compute_score_async("", answer(word), "TinyOne/a") for word in words))

    done = asyncio.run(all_of_them())
    assert {tuple(one) for one in done} == {("score", *METRIC_NAMES, "judged_s", "rewards_per_s")}
    assert calls == [4, 1]  # the fault is tried again
    for word, one in zip(words, done, strict=True):
        assert {name: one[name] for name in ("score", *METRIC_NAMES)} == compute_score("", answer(word), "TinyOne/a")
    with pytest.raises(UsageError):
        asyncio.run(compute_score_async("", "x", "TinyOne/a", on_fault="shrug"))
