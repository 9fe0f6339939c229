"""A judge that stays does not grow: what a kernel needs is removed with its verdict."""

from __future__ import annotations

from pathlib import Path

import npukb_twin
from npukb_twin.executor import TwinExecutor
from npukernelbench.judge.executor import make_executor
from npukernelbench.judge.pipeline import Judge, JudgeSettings
from npukernelbench.nouns import Outcome
from npukernelbench.plugins import Plugins
from npukernelbench.rewards import Answer, Question, Scorer
from tests.adversarial.candidates import right
from tests.suite import suite

_JUDGED = 60


def test_sixty_judgements_leave_no_files() -> None:
    """Slow, because a kernel's files are only there when it is really compiled and run."""
    plugins = Plugins.load(autoload=False)
    plugins.register(npukb_twin, "twin")
    executor = make_executor(plugins.executors.find("twin"), {"threads": 1})
    assert isinstance(executor, TwinExecutor)
    judge = Judge.of(executor, plugins, JudgeSettings(repeats=0, variations=0))
    seen: list[int] = []

    def files(outcome: Outcome) -> None:
        seen.append(sum(1 for _ in Path(executor._folder()).rglob("*")))
        outcomes.append(outcome)

    outcomes: list[Outcome] = []
    with Scorer(judge, suite(), plugins, jobs=2, on_close=executor.close) as scorer:
        for number in range(_JUDGED // 4):
            texts = [f"```cpp\n// {number} {part}\n{source}\n```" for part, source in enumerate(sources())]
            for scored in scorer.score_fully([Answer(Question("AddCustom"), text) for text in texts]):
                files(scored.reward.outcome)
        assert len(executor._built) == 0
    assert (outcomes.count(Outcome.OK), outcomes.count(Outcome.COMPILE_ERROR)) == (_JUDGED // 2, _JUDGED // 4)
    assert len(outcomes) == _JUDGED
    assert max(seen) == 0


def sources() -> tuple[str, ...]:
    """Two right kernels, one that does not compile, one that ends badly."""
    return right(), right(), right() + "\nthis is no C++", right().replace("op.Process(x, y, z);", "__builtin_trap();")
