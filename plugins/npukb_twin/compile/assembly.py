"""Statements of assembly that reach for registers.

No other processor's assembly compiles in a kernel (``build.py``); a statement without any instruction does, because it
is how programmers hold a compiler back. With operands or variables in registers it would move numbers that are not the
kernel's. The proof of the machine code (``runtime/verify``) stops what harm that could do; here the author is told
where.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from npukb_twin.compile.dialect import SOURCE_SUFFIXES, masked
from npukernelbench.nouns import Diagnostic, Severity

__all__ = ["host_assembly"]

_WORD = r"\b(?:asm|__asm__|__asm)\b"
_STATEMENT = re.compile(rf"{_WORD}(?:\s|\b(?:volatile|__volatile__|__volatile|inline|goto)\b)*\(")
_VARIABLE = re.compile(rf"\bregister\b[^;{{}}()]*{_WORD}\s*\(")


def host_assembly(files: Mapping[str, str]) -> tuple[Diagnostic, ...]:
    """A compile error per statement with operands and per variable in a register."""
    return tuple(
        Diagnostic(
            Severity.ERROR,
            "host_assembly",
            f"{what} names registers of this machine's processor, which no AI core has",
            file=name,
            line=text.count("\n", 0, at) + 1,
            remedy="Remove it; an empty statement of assembly without operands may stay.",
        )
        for name, text in files.items()
        if name.endswith(SOURCE_SUFFIXES)
        for at, what in _places(masked(text))
    )


def _places(code: str) -> Iterator[tuple[int, str]]:
    """Offsets in ``code``, which has no comments and no strings, and what stands there."""
    # A plain search first: nearly no kernel has the word, and the patterns are slow.
    if "asm" not in code:
        return
    for match in _VARIABLE.finditer(code):
        yield match.start(), "a register variable"
    for match in _STATEMENT.finditer(code):
        # between colons: the instructions, outputs, inputs, and what else is changed, which alone moves nothing
        parts = _inside(code, match.end()).split(":")
        if any(part.strip() for part in parts[1:3]):
            yield match.start(), "assembly with operands"


def _inside(code: str, begin: int) -> str:
    """From behind an opening bracket to the one that closes it."""
    depth = 1
    for at in range(begin, len(code)):
        depth += (code[at] == "(") - (code[at] == ")")
        if depth == 0:
            return code[begin:at]
    return code[begin:]
