"""The canary: a string that stands in every task file and golden kernel of ours, and nowhere else.

A model that completes it was trained on these files; a corpus that holds it should leave them out. It is the last line
of a file, and no part of what is judged, shown or hashed.
"""

from __future__ import annotations

__all__ = ["CANARY", "canary_line", "without_canary"]

CANARY = "npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora"
_COMMENTS = {".yaml": "#", ".py": "#"}


def canary_line(suffix: str) -> str:
    """The line for files with this suffix."""
    return f"{_COMMENTS.get(suffix, '//')} {CANARY}"


def without_canary(text: str) -> str:
    """``text`` without the canary's line, where it ends with one."""
    body, newline, last = text.rstrip("\n").rpartition("\n")
    return body + newline if CANARY in last else text
