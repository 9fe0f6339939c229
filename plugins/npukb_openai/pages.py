"""Web pages where an answer should be: what a wrong address, a login page or an overloaded proxy sends."""

from __future__ import annotations

import re
from html import unescape

__all__ = ["ForeignAnswer", "is_html", "page_title"]

_START = re.compile(r"\s*(<!--.*?-->\s*)*<(!doctype\s+html|html|head|body)\b", re.IGNORECASE | re.DOTALL)
_TITLE = re.compile(r"<(title|h1)\b[^>]*>(.*?)</\1", re.IGNORECASE | re.DOTALL)


class ForeignAnswer(Exception):  # noqa: N818 - named like the other kinds of answers
    """A web page came instead of JSON; the message says which."""


def is_html(text: str) -> bool:
    """Whether a text is a web page."""
    return _START.match(text) is not None


def page_title(text: str) -> str:
    """A page in a few words: ``a web page, "502 Bad Gateway", not JSON``."""
    match = _TITLE.search(text)
    title = " ".join(unescape(re.sub("<[^>]*>", " ", match.group(2))).split())[:80] if match else ""
    return f'a web page, "{title}", not JSON' if title else "a web page, not JSON"
