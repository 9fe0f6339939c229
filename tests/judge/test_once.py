"""Equal candidates are judged once, also when they come at the same time; faults of ours are tried again."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Event

import pytest

from npukernelbench.judge.once import JudgedOnce
from npukernelbench.judge.score import stopped
from npukernelbench.nouns import Outcome, Stage, Tier, Track, Verdict

RIGHT = stopped(Track.STATIC, Tier.TWIN, Stage.DONE, Outcome.OK)
FAULT = stopped(Track.STATIC, Tier.TWIN, Stage.RUN, Outcome.INFRA_ERROR)


def test_whoever_comes_meanwhile_waits() -> None:
    once, begun, go_on = JudgedOnce(), Event(), Event()
    calls: list[int] = []

    def judge() -> Verdict:
        calls.append(1)
        begun.set()
        assert go_on.wait(10)
        return RIGHT

    with ThreadPoolExecutor(3) as pool:
        first = pool.submit(once.verdict, "key", judge)
        assert begun.wait(10)
        others = [pool.submit(once.verdict, "key", judge) for _ in range(2)]
        go_on.set()
        assert first.result() == (RIGHT, False)
        assert [other.result() for other in others] == [(RIGHT, True)] * 2
    assert len(calls) == 1


def test_a_fault_of_ours_is_not_remembered() -> None:
    once = JudgedOnce()
    assert once.verdict("key", lambda: FAULT) == (FAULT, False)
    assert once.verdict("key", lambda: RIGHT) == (RIGHT, False)


def test_what_the_judge_raises_comes_through_and_is_forgotten() -> None:
    def broken() -> Verdict:
        raise ValueError("broken")

    once = JudgedOnce()
    with pytest.raises(ValueError, match="broken"):
        once.verdict("key", broken)
    assert once.verdict("key", lambda: RIGHT) == (RIGHT, False)


def test_the_last_used_are_remembered() -> None:
    once = JudgedOnce(limit=2)
    once.remember("a", RIGHT)
    once.verdict("b", lambda: RIGHT)
    once.verdict("a", lambda: FAULT)
    once.verdict("c", lambda: RIGHT)
    assert once.verdict("a", lambda: FAULT) == (RIGHT, True)
    assert once.verdict("b", lambda: FAULT) == (FAULT, False)


def test_what_is_kept_may_be_less() -> None:
    once = JudgedOnce()
    small = stopped(Track.STATIC, Tier.TWIN, Stage.DONE, Outcome.OK, timings={"run": 1.0})
    assert once.verdict("key", lambda: RIGHT, kept=lambda _: small) == (RIGHT, False)
    assert once.verdict("key", lambda: RIGHT) == (small, True)
