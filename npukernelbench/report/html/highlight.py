"""Source code as runs of characters of one kind, which a page turns into colours.

A page needs the text once and a few numbers per word; HTML of a highlighter would be ten times as long.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from pygments.token import _TokenType

__all__ = ["KINDS", "Highlighted", "highlight"]

#: Kinds of words a page has a colour for; the place in this list is what a page is given.
KINDS = ("", "comment", "keyword", "type", "string", "number", "macro", "name")

#: Longer files are shown plain: no kernel is so long, and a page must open at once.
_LONGEST = 400_000


class Highlighted(NamedTuple):
    """A text, and its runs: kind, length, kind, length, … until the end of the text."""

    text: str
    runs: tuple[int, ...]


@lru_cache(maxsize=256)
def highlight(text: str, name: str) -> Highlighted:
    """The text as a C++ or Python file, by its name. Line ends become ``\\n``, as diagnostics count lines."""
    # Pygments replaces line ends before it splits, and its lengths would not fit a text that has the old ones.
    plain = text.replace("\r\n", "\n").replace("\r", "\n")
    if len(plain) > _LONGEST:
        return Highlighted(plain, (0, len(plain)))
    from pygments.lexers.c_cpp import CppLexer
    from pygments.lexers.python import PythonLexer

    # By default pygments drops empty lines at the beginning, and the numbers of all lines would be off.
    options = {"stripnl": False, "ensurenl": False}
    lexer = PythonLexer(**options) if name.endswith(".py") else CppLexer(**options)
    runs: list[int] = []
    for token, word in lexer.get_tokens(plain):
        kind = _kind(token)
        # Neighbours of one kind become one run: a lexer splits operators and spaces into many tokens.
        if runs and runs[-2] == kind:
            runs[-1] += len(word)
        elif word:
            runs += (kind, len(word))
    return Highlighted(plain, tuple(runs))


@lru_cache(maxsize=256)
def _kind(token: _TokenType) -> int:
    """Pygments' names are ``Token.Keyword.Type`` and the like; the first prefix that fits decides."""
    return next((KINDS.index(kind) for prefix, kind in _PREFIXES if str(token).startswith(prefix)), 0)


# Longer prefixes stand before shorter ones that they begin with, as the first that fits decides.
_PREFIXES = (
    ("Token.Comment.Preproc", "macro"),
    ("Token.Comment", "comment"),
    ("Token.Keyword.Type", "type"),
    ("Token.Keyword", "keyword"),
    ("Token.Literal.String", "string"),
    ("Token.Literal.Number", "number"),
    ("Token.Name.Function", "name"),
    ("Token.Name.Class", "type"),
)
