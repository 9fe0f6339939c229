"""Scorers with the fake executor: the answer's source says what happens to it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from npukernelbench.judge.pipeline import Judge, JudgeSettings
from npukernelbench.plugins import Plugins
from npukernelbench.rewards import Scorer
from npukernelbench.testing import FakeExecutor, FakeExecutorArgs, tiny_case, tiny_task

MakeScorer = Callable[..., Scorer]


def answer(word: str = "ok") -> str:
    """A model's answer whose kernel fares as ``word`` says."""
    return f"Here it is.\n```cpp\n__global__ void tiny() {{}} // fake: {word}\n```\n"


@pytest.fixture
def executor() -> FakeExecutor:
    return FakeExecutor()


@pytest.fixture
def make_scorer(executor: FakeExecutor) -> Iterator[MakeScorer]:
    """Makes scorers of two tiny tasks; closes them."""
    made: list[Scorer] = []

    def make(policy: str = "shaped", jobs: int = 2, delay_s: float = 0.0, seed: int | None = None) -> Scorer:
        executor.args = FakeExecutorArgs(delay_s=delay_s)
        plugins = Plugins.load(autoload=False, environ={})
        judge = Judge(
            executor, checkers=plugins.checkers, guards=plugins.guards, settings=JudgeSettings(infra_retries=0)
        )
        cases = (tiny_case("a"), tiny_case("b", shape=(3, 7)))
        tasks = {name: tiny_task(name, cases=cases) for name in ("TinyOne", "TinyTwo")}
        scorer = Scorer(judge, tasks, plugins, policy=policy, jobs=jobs, seed=seed)
        made.append(scorer)
        return scorer

    yield make
    for scorer in made:
        scorer.close()
