"""Words of reports."""

from __future__ import annotations

__all__ = ["count"]


def count(number: int, noun: str) -> str:
    """``1 task``, ``2 tasks``."""
    return f"{number} {noun}{'' if number == 1 else 's'}"
