"""The documentation site as a newcomer meets it: served from this machine, read, searched and walked through.

MkDocs Material has an environment of its own, so that the site is built before: ``NPUKB_SITE`` names its folder.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.report.html.browser import launched, nameless, opened, picture

if TYPE_CHECKING:
    from playwright.sync_api import Browser

SITE = os.environ.get("NPUKB_SITE")
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(not SITE, reason="NPUKB_SITE names no site: mkdocs build --strict --site-dir FOLDER"),
]


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *said: object) -> None:
        """Nothing: a test's output is its own."""


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    assert SITE is not None
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=SITE))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with launched() as browser:
        yield browser


def test_a_newcomer_gets_from_the_start_to_the_tutorial(browser: Browser, address: str) -> None:
    with opened(browser, f"{address}/index.html", ready="main h1") as page:
        assert "npukernelbench" in page.title()
        # The theme's icons stand beside the words that name them.
        assert [node for node in nameless(page) if node["role"]["value"] != "image"] == []
        picture(page, "site-start")
        page.locator("article").get_by_role("link", name="Your first evaluation").click()
        page.wait_for_url("**/tutorial.html*")
        page.locator("article .highlight").nth(2).wait_for()
        picture(page, "site-tutorial")
        page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        block = page.locator("article .highlight").first
        block.hover()
        block.get_by_role("button").click()
        page.wait_for_selector(".md-dialog--active")
        copied = page.evaluate("navigator.clipboard.readText()")
        assert copied == "npukb doctor\nnpukb ls tasks --level 1"  # without prompts, for a shell to take


def test_a_word_is_found(browser: Browser, address: str) -> None:
    with opened(browser, f"{address}/index.html", ready="main h1") as page:
        page.get_by_role("textbox", name="Search").fill("queue_misuse")
        locator = page.locator(".md-search-result__link")
        locator.first.wait_for()
        assert any("reference/rules" in (link.get_attribute("href") or "") for link in locator.all())


def test_every_page_is_read_without_a_complaint(browser: Browser, address: str) -> None:
    """No error, no request to a network, no picture that is missing or says nothing, nothing wider than its window."""
    assert SITE is not None
    pages = sorted(path.relative_to(SITE).as_posix() for path in Path(SITE).rglob("*.html"))
    assert len(pages) > 30
    with opened(browser, f"{address}/index.html", ready="main h1") as page:
        for name in pages:
            page.goto(f"{address}/{name}")
            assert page.locator("main h1").count() >= 1, name
            missing = page.evaluate("[...document.images].filter(i => !i.naturalWidth || !i.alt).map(i => i.src)")
            assert missing == [], name
            wide = page.evaluate("document.documentElement.scrollWidth > window.innerWidth")
            assert not wide, name
    with opened(browser, f"{address}/twin.html", theme="dark", width=390, ready="main h1") as page:
        assert not page.evaluate("document.documentElement.scrollWidth > window.innerWidth")
        picture(page, "site-telephone")
