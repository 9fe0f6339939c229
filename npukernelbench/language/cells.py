"""Lines that fit a terminal: Chinese characters take two cells, and a line may break between any two of them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from unicodedata import east_asian_width

__all__ = ["cells", "wrap"]

_ESCAPE = re.compile(r"\x1b\[[0-9;]*m")
#: Marks that begin no line, and marks that end none.
_NOT_FIRST = "，。、；：！？）》」』】”’…·,.;:!?)]}%"
_NOT_LAST = "（《「『【“‘([{"


def cells(text: str) -> int:
    """How many columns a text takes, colours left out."""
    # Ambiguous characters count one cell, as in terminals that are not set to an East Asian width.
    return sum(2 if east_asian_width(character) in "WF" else 1 for character in _ESCAPE.sub("", text))


def wrap(text: str, width: int, *, first: str = "", rest: str = "") -> list[str]:
    """The lines of one paragraph, ``first`` and ``rest`` in front of them, none wider than ``width`` where the text
    can be broken.
    """
    lines, held, used = [], first, cells(first)
    is_fresh = True
    for piece in _pieces(text):
        length = cells(piece.rstrip(" "))
        if used + length > width and not is_fresh:
            lines.append(held.rstrip(" "))
            held, used, is_fresh = rest, cells(rest), True
        if is_fresh:
            piece = piece.lstrip(" ")
        held, used = held + piece, used + cells(piece)
        is_fresh = is_fresh and not piece
    return [*lines, held.rstrip(" ")]


def _pieces(text: str) -> Iterator[str]:
    """What is not broken: words of letters with the blanks after them, wide characters with the marks beside them."""
    piece = ""
    for character in text:
        if piece and _may_break(piece[-1], character):
            yield piece
            piece = ""
        piece += character
    if piece:
        yield piece


def _may_break(before: str, after: str) -> bool:
    if after == " " or after in _NOT_FIRST or before in _NOT_LAST:
        return False
    return before == " " or any(east_asian_width(character) in "WF" for character in (before, after))
