"""The Chinese pages: the same commands, headings, rows, links and numbers as the English ones."""

from __future__ import annotations

import re
from pathlib import Path

from npukernelbench.language.cells import cells
from tests.docs.shown import ROOT, in_blocks

PAGES = {"README.zh.md": "README.md", "docs/tutorial.zh.md": "docs/tutorial.md"}


def links(page: Path) -> set[str]:
    """What a page leads to, pages in its own language by their English names; not the page itself."""
    found = {link.replace(".zh.md", ".md") for link in re.findall(r"\]\(([\w./]+)\)", page.read_text("utf-8"))}
    return found - {page.name.replace(".zh.md", ".md")}


def test_both_languages_show_the_same() -> None:
    for chinese, english in PAGES.items():
        pages = (ROOT / english, ROOT / chinese)
        first, second = (page.read_text("utf-8") for page in pages)
        assert [shown.text for shown in in_blocks(pages[0])] == [shown.text for shown in in_blocks(pages[1])]
        for what in (r"^#+ ", r"^\|", r"<!-- .* -->"):
            assert re.findall(what, first, re.MULTILINE) == re.findall(what, second, re.MULTILINE), (chinese, what)
        assert links(pages[0]) <= links(pages[1]), chinese
        assert f"]({pages[1].name})" in first
        assert f"]({pages[0].name})" in second
        numbers = [{*re.findall(r"(?<![\w.])\d{2,}(?![\w.])", text)} for text in (first, second)]
        assert numbers[0] == numbers[1], chinese
        assert sum(cells(character) == 2 for character in second) > 500
