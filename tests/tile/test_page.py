"""docs/tile.md is true: its programs lower and run, its tables name what there is."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import npukb_tile
from npukb_tile.interpret import interpret
from npukb_tile.lowering import lower_dynamic
from npukb_tile.operations import OPERATIONS
from npukb_tile.parse import parse_program
from tests.tile.running import near
from tests.twin.running import Twin

ROOT = Path(__file__).resolve().parent.parent.parent
PAGE = (ROOT / "docs" / "tile.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
SOURCES = sorted(Path(npukb_tile.__file__).parent.glob("*.py"))


@pytest.mark.parametrize("text", BLOCKS, ids=[f"block{n}" for n in range(len(BLOCKS))])
def test_programs_lower(text: str) -> None:
    assert len(lower_dynamic(parse_program(text)).files) == 3


@pytest.mark.parametrize("dtype", ["float16", "float32"])
@pytest.mark.parametrize("shape", [(1, 1), (300, 17), (5, 1000)])
def test_rows_that_are_scaled(twin: Twin, dtype: str, shape: tuple[int, int]) -> None:
    from tests.tile.running import both

    [text] = [block for block in BLOCKS if "scale_rows" in block]
    x = np.random.default_rng(2).normal(0.0, 2.0, shape).astype(dtype)
    wide = x.astype(np.float64)
    expected = (wide / np.abs(wide).max(axis=1, keepdims=True)).astype(dtype)
    meant, seen = both(twin, text.replace("scale_rows", "probe"), {"x": x})
    limit = 2e-3 if dtype == "float16" else 1e-5
    near(expected, meant, limit)
    near(expected, seen, limit)


def test_every_rule_has_a_row() -> None:
    table = PAGE.split("| rule | what is wrong |")[1].split("\n\n")[0]
    told = {
        word for row in table.splitlines() for word in re.findall(r"`(\w+)`", row.split("|")[1] if "|" in row else "")
    }
    text = "\n".join(path.read_text(encoding="utf-8") for path in SOURCES)
    raised = set(re.findall(r'ProgramError\(\s*"(\w+)"', text))
    raised |= set(re.findall(r'fault\(\s*[\w.]+(?:\([^()]*\))?,\s*"(\w+)"', text))
    assert raised == told


def test_every_operation_is_named() -> None:
    named = set(re.findall(r"[a-z_0-9]+", " ".join(re.findall(r"`([^`]*)`", PAGE))))
    words = {
        name
        for name in OPERATIONS
        if name not in (["add", "sub", "mul", "div", "lt", "le", "gt", "ge", "eq", "ne", "and", "or", "not", "neg"])
    }
    assert words <= named


def test_links_lead_somewhere() -> None:
    for link in re.findall(r"\]\((\.\./[^)]*|[a-z]+\.md)\)", PAGE):
        assert (ROOT / "docs" / link).resolve().exists(), link


def test_the_interpreter_agrees_with_the_first_example() -> None:
    x = np.random.default_rng(0).normal(0.0, 2.0, (7, 301)).astype(np.float32)
    y = interpret(parse_program(BLOCKS[0]), {"x": x}, {"lambd": 0.75})["y"]
    expected = np.where(x > 0.75, x - 0.75, np.where(x < -0.75, x + 0.75, 0.0))
    np.testing.assert_allclose(y, expected, rtol=1e-5, atol=1e-6)
