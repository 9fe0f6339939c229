"""Callers take turns, and a caller has room for so many answers."""

from __future__ import annotations

import threading
from concurrent.futures import CancelledError
from functools import partial
from pathlib import Path

import pytest

from npukernelbench.errors import UsageError
from npukernelbench.rewards.callers import Admission, Caller, Callers
from npukernelbench.rewards.fair import FairPool

A, B = "0123456789abcdef", "fedcba9876543210"


def test_whoever_comes_later_with_little_does_not_wait_for_much() -> None:
    pool, begun, go = FairPool(1), threading.Event(), threading.Event()
    order: list[str] = []
    first = pool.submit("greedy", lambda: (begun.set(), go.wait(20)))
    assert begun.wait(20)
    calls = [pool.submit(name, partial(order.append, name)) for name in ["greedy"] * 6 + ["small"] * 2 + ["other"]]
    go.set()
    assert [call.result(20) for call in calls] == [None] * 9
    assert first.done()
    assert not pool._lines  # callers with nothing to do are not remembered
    pool.shutdown()
    assert order == ["small", "other", "greedy", "small", *["greedy"] * 5]


def test_a_caller_whose_calls_take_long_holds_no_more_threads_than_others() -> None:
    pool, both, first, rest = FairPool(2), threading.Barrier(3, timeout=20), threading.Event(), threading.Event()
    long = [pool.submit("long", lambda go=go: (both.wait(), go.wait(20))) for go in (first, rest)]
    both.wait()  # both threads are taken
    waiting = [pool.submit("long", lambda: rest.wait(20)) for _ in range(4)]
    quick = [pool.submit("quick", lambda: None) for _ in range(5)]
    first.set()
    # Of the two threads one still has a long call: the other does all of the quick ones before it takes the next.
    assert [call.result(20) for call in quick] == [None] * 5
    assert not long[1].done()
    rest.set()
    assert [call.result(20) for call in waiting] == [True] * 4
    pool.shutdown()


def test_what_a_call_raises_its_caller_gets_and_shutdown_cancels_what_waits() -> None:
    pool, begun, go = FairPool(1), threading.Event(), threading.Event()
    broken = pool.submit("a", lambda: 1 // 0)
    with pytest.raises(ZeroDivisionError):
        broken.result(20)
    held = pool.submit("a", lambda: (begun.set(), go.wait(20)))
    assert begun.wait(20)
    left = pool.submit("b", lambda: None)
    ending = threading.Thread(target=pool.shutdown)
    ending.start()
    while not pool._threads._shutdown:
        pass
    go.set()
    ending.join()
    assert held.done()
    with pytest.raises(CancelledError):
        left.result(0)


def test_a_caller_that_filled_its_room_leaves_that_of_others() -> None:
    admission, greedy, small = Admission(10), Caller("greedy"), Caller("small", 3)
    assert admission.enter(greedy, 40)  # a batch is taken whole when nothing else waits
    assert not admission.enter(greedy, 1)
    assert admission.enter(small, 2)
    assert not admission.enter(small, 2)
    assert (admission.of(greedy), admission.of(small), admission.total) == (40, 2, 42)
    admission.leave(greedy, 40)
    assert admission.enter(greedy, 1)
    many = [Caller(str(number)) for number in range(40)]
    assert sum(admission.enter(caller, 10) for caller in many) == 16  # what waits of all is bounded, too


def test_a_file_gives_every_caller_a_token(tmp_path: Path) -> None:
    path = tmp_path / "callers.yaml"
    path.write_text(f"one: {{token: {A}, most: 7}}\ntwo: {{token: {B}}}\n")
    callers = Callers.read(path)
    assert callers.guarded
    assert callers.find(f"Bearer {A}", "two", "::1") == Caller("one", 7)  # no caller passes for another
    assert callers.find(f"Bearer {B}", "", "::1") == Caller("two", 0)
    for given in ("", "Bearer ", f"Basic {A}", "Bearer é"):
        assert callers.find(given, "one", "::1") is None
    for text, told in {
        f"one: {{token: {A}}}\ntwo: {{token: {A}}}": "two callers have the same token",
        "{}": "no caller is named",
        "one: {token: short}": "one.token: String should have at least 16",
        f"one: {{token: {A}, mots: 3}}": "one.mots: Extra",
        "- one": "the file: Input should be a valid dict",
        "one: [": "callers.yaml",
    }.items():
        path.write_text(text)
        with pytest.raises(UsageError, match=told) as caught:
            Callers.read(path)
        assert A not in str(caught.value)


def test_without_a_file_callers_name_themselves() -> None:
    assert Callers().find("", "trainer", "::1") == Caller("trainer")
    assert Callers().find("", "", "::1") == Caller("::1")
    assert len(Callers().find("", "x" * 1000, "::1").name) == 64
    guarded = Callers("secret")
    assert guarded.find("Bearer secret", "trainer", "::1") == Caller("trainer")
    assert guarded.find("", "trainer", "::1") is None
    assert (Callers().guarded, guarded.guarded) == (False, True)
