"""Interfaces in one line: what is quoted where it is wrong."""

from __future__ import annotations

import pytest

from npukb_suites.signature import Axis, parse_axes
from npukernelbench.errors import UsageError


def test_axes_have_multiples() -> None:
    assert parse_axes("n=1..4096, d=16..8192/16") == {"n": Axis(1, 4096), "d": Axis(16, 8192, 16)}


@pytest.mark.parametrize("axes", ["n=1..4096/0", "n=0..4", "n=5..4", "n"])
def test_axes_that_are_none_are_quoted(axes: str) -> None:
    with pytest.raises(UsageError, match=f"{axes!r} is no axis"):
        parse_axes(axes)
