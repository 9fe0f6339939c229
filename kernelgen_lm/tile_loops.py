"""Pieces of tile programs that all writers share: a core's share of the elements, tile by tile, and the parts of all
cores put together. Lines are without indentation of their own.
"""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["SHARE", "by_tiles", "indented", "put_together"]

#: What of all elements is a core's.
SHARE = ("begin = core() * share", "count = min(share, total - begin)")


def indented(lines: Iterable[str], depth: int = 1) -> list[str]:
    """The lines inside of so many blocks."""
    return ["    " * depth + line for line in lines]


def by_tiles(loads: Iterable[str], computed: Iterable[str], stored: Iterable[str] = ()) -> list[str]:
    """The loop over a core's share: what is loaded, computed and, if anything, stored of every tile."""
    stored = list(stored)
    return [
        "for offset in range(0, count, tile):",
        "    length = min(tile, count - offset)",
        "    with copy_in:",
        *indented(loads, 2),
        "    with compute(length):",
        *indented(computed, 2),
        *(["    with copy_out:"] if stored else []),
        *indented(stored, 2),
    ]


def put_together(computed: Iterable[str], stored: str) -> list[str]:
    """Every core's part, ``own``, goes to memory; then one core computes with ``every`` part and stores the result."""
    return [
        "with copy_out:",
        "    store(parts[core()], own, 1)",
        # Core 0 reads what the others have stored.
        "sync_all()",
        "if core() == 0:",
        "    with copy_in:",
        "        load(every, parts[0], lanes)",
        "    with compute(lanes):",
        *indented(computed, 2),
        "    with copy_out:",
        f"        {stored}",
    ]
