from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npukernelbench.tasks.extent import evaluate, names, substitute


@pytest.mark.parametrize(
    ("extent", "value"),
    [
        (7, 7),
        ("7", 7),
        ("d", 12),
        ("d / 2", 6),
        ("2 * d + 1", 25),
        ("(h - 3) // 2 + 1", 4),
        ("-d + h", -2),
        ("d // 5", 2),
    ],
)
def test_extents_are_arithmetic_on_axes(extent: int | str, value: int) -> None:
    assert evaluate(extent, {"d": 12, "h": 10}) == value


@pytest.mark.parametrize(
    "text",
    [
        "",
        "d +",
        "f(d)",
        "d ** 2",
        "d.real",
        "d[0]",
        "1.5",
        "'d'",
        "d if d else 1",
        "d < 2",
        "lambda: 0",
        "d\n",
        "True",
        "d" * 99,
    ],
)
def test_anything_else_is_refused_without_being_run(text: str) -> None:
    if text == "d\n":
        assert evaluate(text, {"d": 3}) == 3
        return
    with pytest.raises(ValueError, match="is no extent"):
        names(text)


def test_what_cannot_be_computed_says_why() -> None:
    with pytest.raises(ValueError, match=r"there is no axis 'e'; there are d"):
        evaluate("d + e", {"d": 1})
    with pytest.raises(ValueError, match="7 / 2 leaves a remainder; state multiple_of"):
        evaluate("d / 2", {"d": 7})
    with pytest.raises(ValueError, match="7 is divided by 0"):
        evaluate("d // (d - 7)", {"d": 7})


def test_names_are_those_of_axes() -> None:
    assert names("(h - k) / s + 1") == {"h", "k", "s"}
    assert names(4) == names("4") == set()


@given(st.integers(-99, 99), st.integers(1, 99), st.sampled_from("+-*"), st.sampled_from("+-*"))
def test_extents_compute_as_python_does(a: int, b: int, first: str, second: str) -> None:
    text = f"a {first} b {second} 3"
    assert evaluate(text, {"a": a, "b": b}) == eval(text, {"a": a, "b": b})
    assert evaluate("a // b", {"a": a, "b": b}) == a // b
    assert evaluate("(a * b) / b", {"a": a, "b": b}) == a


def test_substitution_replaces_extents_and_nothing_else() -> None:
    raw = {"integers": [0, "n"], "derived": "row_sums", "literal": ["n", "n / 2", 3], "flag": True}
    assert substitute(raw, {"n": 8}) == {"integers": [0, 8], "derived": "row_sums", "literal": [8, 4, 3], "flag": True}
