"""The examples and the picture of the first page are what the program says today."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path
from types import ModuleType

import pytest

from tests.alone import script

ROOT = Path(__file__).resolve().parents[2]
RENEW = "run scripts/pictures"


@pytest.fixture(scope="module")
def pictures() -> ModuleType:
    return script("pictures.py")


def test_the_examples_get_the_verdicts_that_their_page_shows(pictures: ModuleType) -> None:
    """Five kernels through the compiler and the twin: nothing less shows what a reader will see."""
    text = pictures.PAGE.read_text("utf-8")
    outcomes = re.findall(r"^[✓✗] (\w+)", text, re.MULTILINE)
    assert outcomes == ["ok", "wrong_value", "rule_violation", "ok"]
    assert pictures.page(text) == text, RENEW


def test_the_picture_is_a_verdict_of_the_examples_and_needs_no_network(pictures: ModuleType) -> None:
    svg = pictures.PICTURE.read_text("utf-8")
    page = pictures.PAGE.read_text("utf-8")
    shown = page.split(f"$ {pictures.SHOWN}\n")[1].split("```")[0]
    # rich cuts lines to its width; words and their order are what must agree.
    words = unescape("".join(re.findall(r"<text[^>]*>([^<]*)</text>", svg))).replace("\xa0", " ").split()
    assert "".join(words).endswith("".join(shown.split())), RENEW
    assert not re.search(r"url\(\s*[\"']?http|@font-face|<image|<script", svg)
    assert 'src="docs/images/verdict.svg"' in (ROOT / "README.md").read_text("utf-8")


def test_a_picture_of_another_text_differs(pictures: ModuleType) -> None:
    first, second = (pictures.picture("npukb x", text) for text in ("a \x1b[31mred\x1b[0m word\n", "another\n"))
    assert first != second
    assert "another" in second
    assert "@font-face" not in first
