"""What a host image calls and does not define, and which of the shared sources beside it define that."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

from npukb_twin.compile import elf
from npukb_twin.compile.dialect import masked
from npukb_twin.compile.elf import Elf
from npukb_twin.compile.imports import readable

__all__ = ["defining", "undefined"]


def undefined(image: Path, runner: Path) -> frozenset[str]:
    """Functions with C++ names that the image wants and the ``runner`` lacks, by the names that sources call them."""
    names = {symbol.name for symbol in Elf(image).symbols(".dynsym") if symbol.section == elf.UNDEFINED}
    wanted = (readable(name) for name in names - _offered(runner) if name.startswith("_Z"))
    return frozenset(name for name in wanted if not name.startswith(("std::", "__")))


@cache
def _offered(runner: Path) -> frozenset[str]:
    return frozenset(symbol.name for symbol in Elf(runner).symbols(".dynsym") if symbol.section != elf.UNDEFINED)


def defining(wanted: Iterable[str], files: Mapping[str, str]) -> frozenset[str]:
    """The first file that defines each of the functions ``wanted``, where one does."""
    names = set[str]()
    codes = {name: masked(text) for name, text in sorted(files.items())}
    for name in wanted:
        head = _definition(name)
        names |= {next((file for file, code in codes.items() if head.search(code)), "")}
    return frozenset(names - {""})


def _definition(name: str) -> re.Pattern[str]:
    """A function's definition by its last name, behind its class where it is a member."""
    *scopes, last = name.split("::")
    member = rf"(?:{re.escape(scopes[-1])}\s*::\s*)?" if scopes else ""
    arguments = r"\s*\((?:[^;{}()]|\([^;{}()]*\))*\)\s*(?:const\s*)?(?:noexcept\s*)?"
    return re.compile(rf"\b{member}{re.escape(last)}{arguments}[{{:]")
