"""The site: every page is in its navigation, what is made comes from the code, and MkDocs builds it strictly."""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml

from npukernelbench import hookspecs, nouns
from npukernelbench.errors import UsageError
from npukernelbench.nouns import Outcome
from npukernelbench.report.site import build_site, find_pages
from npukernelbench.tasks.schema import TaskModel
from tests.alone import script

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def site() -> ModuleType:
    return script("site.py")


def listed(part: Any) -> list[str]:
    """The pages of a part of the navigation."""
    if isinstance(part, str):
        return [part]
    parts = part.values() if isinstance(part, dict) else part
    return [page for one in parts for page in listed(one)]


def test_every_page_is_in_the_navigation_once(site: ModuleType) -> None:
    pages = listed(yaml.safe_load((ROOT / "mkdocs.yml").read_text("utf-8"))["nav"])
    written = [path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")]
    assert sorted(pages) == sorted([*written, *site.PAGES])


def test_what_is_made_holds_what_the_code_holds(site: ModuleType) -> None:
    for page, words in {
        "reference/outcomes.md": [f"| `{outcome.value}` | {outcome.owner.value} |" for outcome in Outcome],
        "reference/rules.md": ["`misaligned`", "### deadlock\n", "[queue_misuse]\n  remedy: ", "--checker full`"],
        "reference/task.md": [f"| `{field}` |" for field in TaskModel.model_fields],
        "reference/hooks.md": [f"## {name}\n" for name in dir(hookspecs) if name.startswith(("register_", "on_"))],
        "reference/api.md": [f"### {name}\n" for name in nouns.__all__ if isinstance(getattr(nouns, name), type)],
    }.items():
        text = site.PAGES[page]()
        missing = [word for word in words if word not in text]
        assert not missing, (page, missing)
        assert words


def test_links_out_of_the_pages_become_paths(site: ModuleType) -> None:
    made = site.on_page_markdown("[the file](../examples/scale/run.yaml), [cli](cli.md#x), [up](../metrics.md#who)")
    assert made == "the file (`examples/scale/run.yaml`), [cli](cli.md#x), [up](../metrics.md#who)"
    assert site.on_page_markdown("[Chinese](../README.zh.md)") == "Chinese (`README.zh.md`)"


def test_an_installed_package_says_where_pages_are(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there are no pages"):
        find_pages(tmp_path)


@pytest.mark.skipif(find_spec("material") is None, reason="MkDocs Material is not installed")
def test_the_site_is_built_strictly_and_loads_nothing_from_a_network(tmp_path: Path) -> None:
    start = build_site(find_pages(), tmp_path / "site")
    assert start is not None
    for page in start.parent.rglob("*.html"):
        text = page.read_text("utf-8")
        assert not re.search(r'<(script|img|iframe)[^>]* src="https?:|<link[^>]* href="https?:[^"]*\.css', text), page
