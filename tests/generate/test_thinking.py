"""Thinking told apart from the answer."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npukernelbench.generate import split_thinking


@pytest.mark.parametrize(
    ("text", "answer", "thinking"),
    [
        ("int a;", "int a;", ""),
        ("<think>hm</think>int a;", "int a;", "hm"),
        ("hm</think>int a;", "int a;", "hm"),
        ("<think>hm", "", "hm"),
        ("a<THINKING>b</Thinking>c<think>d</think>e", "ace", "bd"),
        ("<think>a<think>b</think>c", "c", "a<think>b"),
    ],
)
def test_what_is_answer_and_what_is_thinking(text: str, answer: str, thinking: str) -> None:
    assert split_thinking(text) == (answer, thinking)


_PIECES = ["<think>", "</think>", "x", "\n", "<thin", "k>"]


@given(st.lists(st.sampled_from(_PIECES)))
def test_nothing_is_lost_but_tags(pieces: list[str]) -> None:
    text = "".join(pieces)
    split = split_thinking(text)
    kept = Counter(split.answer) + Counter(split.thinking)
    lost = Counter(text) - kept
    assert kept <= Counter(text)
    opening, closing = lost["k"] - lost["/"], lost["/"]
    assert lost == Counter("<think>" * opening + "</think>" * closing)
    assert closing == text.count("</think>")
