"""What a model thinks aloud, told apart from what it answers."""

from __future__ import annotations

import re
from typing import NamedTuple

__all__ = ["Split", "split_thinking", "without_thinking"]

_THINKING = re.compile(r"<(/?)think(?:ing)?>", re.IGNORECASE)


class Split(NamedTuple):
    """A text in two: the answer, and the thinking in front of or inside it."""

    answer: str
    thinking: str


def split_thinking(text: str) -> Split:
    """Take ``<think>…</think>`` out of ``text``.

    Without an opening tag everything before the closing one is thinking (chat templates often open the block
    themselves), without a closing tag everything after the opening one.
    """
    answer: list[str] = []
    thinking: list[str] = []
    inside = False
    start = 0
    for tag in _THINKING.finditer(text):
        piece = text[start : tag.start()]
        if tag.group(1):
            if not inside:
                # Templates that open the block themselves leave only the closing tag in the answer.
                thinking.extend(answer)
                answer.clear()
            thinking.append(piece)
            inside, start = False, tag.end()
        elif not inside:
            answer.append(piece)
            inside, start = True, tag.end()
    (thinking if inside else answer).append(text[start:])
    return Split("".join(answer), "".join(thinking))


def without_thinking(text: str) -> str:
    """The answer alone."""
    return split_thinking(text).answer
