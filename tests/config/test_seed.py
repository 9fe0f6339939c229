"""Derived seeds: stable for ever, and different for different purposes."""

from __future__ import annotations

import hashlib
import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npukernelbench.nouns import SampleKey, Track
from npukernelbench.seed import derive

PARTS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary(),
    lambda inner: st.lists(inner, max_size=3),
    max_leaves=6,
)


def test_values_never_change() -> None:
    # Committed results depend on these: a change of the encoding changes every input of every case.
    assert derive("a", 1) == int.from_bytes(hashlib.sha256(b"l8:s1:ai1:1").digest()[:8], "big") >> 1
    assert derive() == 493553212553617080
    assert derive(0, "inputs", "sqrt", "0") == 7837544311750985383
    assert derive(True, None, 1.5, b"x", ("a", 1)) == 7695392109901676881


@given(PARTS, PARTS)
def test_equal_purposes_only(left: object, right: object) -> None:
    assert (derive(left) == derive(right)) == (repr(left) == repr(right))


@given(st.lists(PARTS))
def test_63_bits(parts: list[object]) -> None:
    assert 0 <= derive(*parts) < 2**63


def test_look_alikes_differ() -> None:
    seeds = [derive(1), derive(1.0), derive(True), derive("1"), derive(b"1"), derive((1,)), derive(1, ""), derive("")]
    assert all(left != right for left, right in itertools.combinations(seeds, 2))
    assert derive("ab", "c") != derive("a", "bc") != derive("abc")


def test_nouns_are_parts() -> None:
    key = SampleKey("sqrt", "0", Track.STATIC, 3)
    assert derive(key) == derive(("sqrt", "0", "static", 3, 0))


def test_what_has_no_stable_text_is_refused() -> None:
    with pytest.raises(TypeError, match="cannot derive a seed from object"):
        derive("x", object())
