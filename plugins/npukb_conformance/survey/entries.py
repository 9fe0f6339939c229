"""The kernels that a source file defines: plainly, as templates, or through macros."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from npukb_conformance.survey.given import given_arguments
from npukb_twin.compile.dialect import masked, parameters_of

__all__ = ["Entry", "entries_of"]

_ENTRY = re.compile(
    r"__global__(?:[^;{}()#]|\([^;{}()]*\)){0,400}?\b(?P<name>[A-Za-z_]\w*)\s*\((?P<parameters>[^;{}]*?)\)\s*\{"
)
_MACRO = re.compile(
    r"^[ \t]*#[ \t]*define[ \t]+(?P<name>\w+)\((?P<parameters>[^()]*)\)(?P<body>(?:[^\n\\]|\\.)*)", re.M | re.S
)
_DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n\\]|\\(?:\r?\n|.))*", re.M)
_TEMPLATE = re.compile(r"\btemplate\s*<[^;{}()]*>\s*(?:(?:inline|static|extern)\s+)*\Z")
_SCOPES = re.compile(r"\bnamespace\s+(?P<name>\w+(?:::\w+)*)?\s*\{|[{}]")
#: A pointer into global memory, as entries that a host launches by name have nothing else.
_POINTER = re.compile(r"\bGM_ADDR\b|__gm__[^,]*\*")


@dataclass(frozen=True, slots=True)
class Entry:
    """One kernel. ``scope`` is its namespace with ``::`` behind it; ``template`` are the arguments that the file itself
    gives it, "" where it is none or gives none.
    """

    name: str
    parameters: tuple[str, ...]
    scope: str = ""
    is_template: bool = False
    template: str = ""

    @property
    def plain(self) -> bool:
        """Whether all of its arguments are pointers to global memory."""
        return all(_POINTER.search(text) for text in self.parameters)


def entries_of(text: str) -> tuple[Entry, ...]:
    """Every kernel that ``text`` defines, in order, each name once."""
    code = masked(text)
    if "__global__" not in code:
        return ()
    # Blanks of the same length, so that places in both texts are the same.
    plain = _DIRECTIVE.sub(lambda line: re.sub(r"[^\n]", " ", line.group()), code)
    entries = {entry.name: entry for entry in (*_plain(plain, code), *_of_macros(plain, code))}
    return tuple(entries.values())


def _plain(plain: str, code: str) -> Iterator[Entry]:
    for match in _ENTRY.finditer(plain):
        is_template = _TEMPLATE.search(_head(plain, match.start())) is not None
        arguments = given_arguments(code, match["name"]) if is_template else ""
        parameters = tuple(parameters_of(match["parameters"]))
        yield Entry(match["name"], parameters, _scope(plain, match.start()), is_template, arguments)


def _head(code: str, at: int) -> str:
    """What stands in front of a definition."""
    # Literals are masked: the C of extern "C" is a blank here.
    return re.sub(r'extern\s*"\s*"\s*\Z', "", code[max(0, at - 2000) : at])


def _of_macros(plain: str, code: str) -> Iterator[Entry]:
    """Kernels that a macro of the file defines where it is used: ``DEFINE(half)`` with ``void kernel_##type(…) {``."""
    for macro in _MACRO.finditer(code):
        body = re.sub(r"\\\r?\n", " ", macro["body"])
        names = [name.strip() for name in macro["parameters"].split(",")]
        for use in re.finditer(rf"^[ \t]*{macro['name']}\s*\((?P<given>[^()]*)\)", plain, re.M):
            # Macros of a variable number of arguments have more values than names.
            given = dict(zip(names, (value.strip() for value in use["given"].split(",")), strict=False))
            text = re.sub(r"\b\w+\b", lambda word: given.get(word.group(), word.group()), body)  # noqa: B023
            text = re.sub(r"\s*##\s*", "", text)
            yield from _plain(text, code)


def _scope(code: str, at: int) -> str:
    """The namespaces around a place."""
    open_: list[str] = []
    for match in _SCOPES.finditer(code, 0, at):
        if match.group() == "}":
            # Not pop(): a closing brace too many, in a branch of the preprocessor, must not fail.
            del open_[-1:]
        else:
            open_.append(match["name"] or "")
    return "".join(f"{name}::" for name in open_ if name)
