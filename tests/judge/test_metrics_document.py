"""``docs/metrics.md`` says what the code does: every number and every name in its tables."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from npukernelbench.judge.check import METRICS
from npukernelbench.judge.guard import MAX_SOURCE_BYTES
from npukernelbench.judge.numerics import DEFAULT_LIMITS, FLOATS
from npukernelbench.judge.patterns import Pattern
from npukernelbench.nouns import DType
from npukernelbench.plugins import Plugins

TEXT = (Path(__file__).parents[2] / "docs" / "metrics.md").read_text()


def table(first_column):
    """Rows of the table whose header begins with ``first_column``, as lists of cells."""
    lines = TEXT[TEXT.index(f"| {first_column} |") :].split("\n\n")[0].splitlines()[2:]
    return [[cell.strip().replace(r"\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]


def number(text):
    base, _, power = text.partition("^")
    return float(base) ** int(power) if power else float(text)


def test_default_limits():
    rows = {DType(name): (number(atol), number(rtol)) for name, atol, rtol in table("element type | atol")}
    assert rows == {dtype: (limits.atol, limits.rtol) for dtype, limits in DEFAULT_LIMITS.items()}


def test_thresholds():
    rows = {DType(name): (number(mean), number(small)) for name, mean, small in table("element type | threshold")}
    assert rows == {dtype: (form.threshold, form.small) for dtype, form in FLOATS.items()}


def test_metrics():
    assert tuple(row[0].strip("`") for row in table("metric | meaning | over several outputs")) == METRICS


def test_patterns():
    named = [row[0].strip("`") for row in (*table("pattern of values"), *table("pattern of places"))]
    assert named == [pattern.value for pattern in Pattern]


@pytest.mark.parametrize("kind", ["checkers", "guards"])
def test_every_built_in_is_named(kind):
    for name in getattr(Plugins.load(autoload=False, environ={}), kind):
        assert f"`{name}`" in TEXT


def test_the_size_limit():
    assert MAX_SOURCE_BYTES == 1 << 20
    assert "at most 1 MiB" in TEXT
