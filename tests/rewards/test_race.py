"""A straggler is overtaken, and few requests are sent twice."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from npukernelbench.rewards.race import Hedge, race


def asked(first: str, second: str | None, behave: dict[str, Callable[[], int]], delay_s: float | None = 0.0):
    return [
        (outcome.server, outcome.answer, type(outcome.error))
        for outcome in race(first, lambda server: behave[server](), delay_s, lambda: second)
    ]


def test_who_answers_first_wins_and_a_failure_is_waited_out() -> None:
    go = threading.Event()
    answers = race("slow", lambda server: go.wait(20) if server == "slow" else 7, 0.0, lambda: "quick")
    assert next(answers)[:2] == ("quick", 7)
    go.set()
    assert next(answers)[:2] == ("slow", True)
    none = type(None)
    release = threading.Event()
    behave = {"slow": lambda: int(release.wait(20)), "broken": lambda: (release.set(), 1 // 0)[1]}
    assert asked("slow", "broken", behave)[-1] in {("slow", 1, none), ("broken", None, ZeroDivisionError)}
    assert asked("slow", None, behave) == [("slow", 1, none)]
    assert asked("broken", "slow", behave, delay_s=20.0) == [("broken", None, ZeroDivisionError)]
    assert asked("broken", "slow", behave, delay_s=None) == [("broken", None, ZeroDivisionError)]


def test_a_straggler_is_slower_than_others_of_its_size() -> None:
    hedge = Hedge()
    for number in range(19):
        assert hedge.delay_s(4) is None
        hedge.note(4, float(number))
    hedge.note(5, 100.0)  # of its size, roughly
    assert hedge.delay_s(4) == hedge.delay_s(7) == pytest.approx(150.0)
    assert hedge.delay_s(64) is None
    for _ in range(200):
        hedge.note(4, 0.01)
    assert hedge.delay_s(4) == 1.0  # what is fast anyway is not sent twice


def test_one_in_twenty_is_sent_twice_at_most() -> None:
    hedge, sent = Hedge(), 0
    for _ in range(1000):
        hedge.note(1, 1.0)
        sent += hedge.may()
    assert 49 <= sent <= 51
    assert [hedge.may() for _ in range(2)] == [False, False]
    for _ in range(1000):
        hedge.note(1, 1.0)
    assert [hedge.may() for _ in range(6)] == [True] * 4 + [False] * 2  # little is saved up
