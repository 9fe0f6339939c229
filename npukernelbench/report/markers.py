"""Markers: the conditions behind a semicolon in a package's requirements, as the dependency specifiers of Python's
packages define them. ``packaging``, which also evaluates them, is no dependency.
"""

from __future__ import annotations

import operator
import os
import platform
import re
import sys
from collections.abc import Callable

from npukernelbench.plugins.registry import canonical

__all__ = ["holds"]

_TOKEN = re.compile(r"""\(|\)|"[^"]*"|'[^']*'|[a-z_.]+|[<>=!~]+""")
_VERSION = re.compile(r"\d+(\.\d+)*")
_OPERATORS: dict[str, Callable[..., object]] = {
    "==": operator.eq, "===": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt,
    ">=": operator.ge,
}  # fmt: skip


def holds(marker: str, extra: str) -> bool:
    """Whether a marker holds here where ``extra`` is asked for. ValueError for what is no marker."""
    try:
        return _either(_TOKEN.findall(marker), {**_here(), "extra": canonical(extra)})
    except (IndexError, KeyError) as error:
        raise ValueError(f"{marker!r} is no marker of a requirement") from error


def _here() -> dict[str, str]:
    return {
        "os_name": os.name,
        "sys_platform": sys.platform,
        "platform_machine": platform.machine(),
        "platform_python_implementation": platform.python_implementation(),
        "platform_release": platform.release(),
        "platform_system": platform.system(),
        "platform_version": platform.version(),
        "python_version": ".".join(platform.python_version_tuple()[:2]),
        "python_full_version": platform.python_version(),
        "implementation_name": sys.implementation.name,
        "implementation_version": ".".join(map(str, sys.implementation.version[:3])),
    }


def _either(tokens: list[str], values: dict[str, str]) -> bool:
    held = _both(tokens, values)
    while tokens[:1] == ["or"]:
        del tokens[0]
        # First of the two: whatever was read already, the rest must be taken off the list.
        held = _both(tokens, values) or held
    return held


def _both(tokens: list[str], values: dict[str, str]) -> bool:
    held = _one(tokens, values)
    while tokens[:1] == ["and"]:
        del tokens[0]
        held = _one(tokens, values) and held
    return held


def _one(tokens: list[str], values: dict[str, str]) -> bool:
    if tokens[0] == "(":
        del tokens[0]
        held = _either(tokens, values)
        del tokens[0]
        return held
    left, sign = tokens.pop(0), tokens.pop(0)
    if sign == "not":
        return not _compared(left, tokens.pop(0), tokens.pop(0), values)
    return _compared(left, sign, tokens.pop(0), values)


def _compared(left: str, sign: str, right: str, values: dict[str, str]) -> bool:
    # Names of extras are equal however they are spelled.
    spelled = canonical if "extra" in (left, right) else str
    first, second = (spelled(token[1:-1]) if token[0] in "'\"" else values[token] for token in (left, right))
    if sign == "in":
        return first in second
    if sign == "~=":
        # Not older, and of the same series: 3.10 and 3.11 for ~=3.10.
        series = second.rpartition(".")[0] + "."
        return bool(_numbers(first) >= _numbers(second)) and first.startswith(series)
    if _VERSION.fullmatch(first) and _VERSION.fullmatch(second):
        return bool(_OPERATORS[sign](_numbers(first), _numbers(second)))
    return bool(_OPERATORS[sign](first, second))


def _numbers(version: str) -> list[int]:
    """Numbers in whose order versions are; 3.0 and 3 are equal."""
    return [int(part) for part in re.sub(r"(\.0+)+$", "", version).split(".")]
