"""Pages in the machine's own Chromium: what a reader sees, and what a screen reader is told."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

__all__ = ["Theme", "launched", "nameless", "opened", "picture"]

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
Theme = Literal["light", "dark"]
#: Where pictures of the pages are kept, to be looked at; none are taken without it.
PICTURES = os.environ.get("NPUKB_PICTURES")
#: What a screen reader must have a name for.
_NAMED = frozenset(("button", "link", "textbox", "searchbox", "combobox", "image", "img", "region", "navigation"))
_LOCAL = ("file:", "data:", "blob:", "http://127.0.0.1:")


@contextmanager
def launched() -> Iterator[Browser]:
    """Chromium without a window, where there is one: the test is skipped otherwise. Names of other machines are not
    resolved.
    """
    pytest.importorskip("playwright", reason="Playwright is not installed")
    if CHROMIUM is None:
        pytest.skip("no Chromium on this machine: apt-get install chromium")
    from playwright.sync_api import sync_playwright

    arguments = ["--no-sandbox", "--disable-dev-shm-usage", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=arguments)
        yield browser
        browser.close()


@contextmanager
def opened(
    browser: Browser,
    address: str,
    *,
    width: int = 1280,
    theme: Theme = "light",
    ready: str = 'body[data-ready="yes"]',
) -> Iterator[Page]:
    """A page once ``ready`` can be seen. In the end it has asked nobody for anything and complained of nothing."""
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=theme)
    complaints: list[str] = []
    asked: list[str] = []
    page = context.new_page()
    page.on("console", lambda said: complaints.append(said.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(address)
    page.wait_for_selector(ready, timeout=120_000)
    yield page
    assert complaints == []
    assert [url for url in asked if not url.startswith(_LOCAL)] == []
    context.close()


def nameless(page: Page) -> list[Any]:
    """Parts that can be used or looked at and that a screen reader has no name for."""
    tree = page.context.new_cdp_session(page).send("Accessibility.getFullAXTree")
    nodes = [node for node in tree["nodes"] if not node["ignored"] and node["role"]["value"] in _NAMED]
    assert len(nodes) > 5
    return [node for node in nodes if not node.get("name", {}).get("value", "").strip()]


def picture(page: Page, name: str) -> None:
    """Keep a picture where NPUKB_PICTURES names a folder."""
    if PICTURES:
        page.screenshot(path=Path(PICTURES) / f"{name}.png", full_page=True)
