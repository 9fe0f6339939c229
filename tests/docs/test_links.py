"""Links of the pages: every relative one names a file that exists and, after ``#``, a heading or anchor of it."""

from __future__ import annotations

import re
import subprocess
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def pages() -> list[Path]:
    """Every Markdown page of the repository."""
    listed = subprocess.run(["git", "ls-files", "*.md"], cwd=ROOT, capture_output=True, text=True, check=True)
    return [ROOT / name for name in listed.stdout.splitlines()]


def prose(text: str) -> str:
    """The text without blocks of code, which may hold anything that looks like a link."""
    return re.sub(r"^ *```.*?^ *```", "", text, flags=re.MULTILINE | re.DOTALL)


def anchor(heading: str) -> str:
    """The anchor that a heading gets, as code hosts derive it."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


@cache
def anchors(page: Path) -> frozenset[str]:
    text = prose(page.read_text(encoding="utf-8"))
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return frozenset(anchor(heading) for heading in headings) | frozenset(re.findall(r'<a id="([^"]+)">', text))


def broken(page: Path) -> list[str]:
    """The relative links of a page that lead nowhere."""
    dead = []
    text = re.sub(r"`[^`\n]*`", "", prose(page.read_text(encoding="utf-8")))
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        if "://" in link:
            continue
        path, _, name = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (name and name not in anchors(target)):
            dead.append(link)
    return dead


def test_every_link_of_every_page_leads_somewhere() -> None:
    assert len(pages()) > 30
    assert {str(page.relative_to(ROOT)): links for page in pages() if (links := broken(page))} == {}


def test_a_link_that_leads_nowhere_is_noticed(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# A page\n\n[a](#a-page) [b](#b) [c](missing.md) [d](page.md#a-page)\n```\n[e](e.md)\n```\n")
    assert broken(page) == ["#b", "missing.md"]
