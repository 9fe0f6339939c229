"""A Chromium for the tests of pages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.report.html.browser import launched

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One for a module's tests, not for all: as long as Playwright runs, nothing else can run an event loop."""
    with launched() as browser:
        yield browser
