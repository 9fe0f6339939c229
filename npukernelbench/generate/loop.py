"""The event loop: uvloop where that is installed, else asyncio's own."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

__all__ = ["run_fast"]

_T = TypeVar("_T")


def run_fast(main: Coroutine[Any, Any, _T]) -> _T:
    """``asyncio.run`` on the fastest loop there is."""
    try:
        from uvloop import run
    except ImportError:
        return asyncio.run(main)
    result: _T = run(main)
    return result
