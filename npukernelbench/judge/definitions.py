"""Which lines of a kernel say what a line's sizes, offsets and constants are: by the names in its text.

No parser of C++: names are looked up by the shapes that assignments, loops, macros and parameters have. What it misses
is not named; what it names may be another variable of that name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

__all__ = ["Line", "defining_lines", "statement", "storing_lines"]

# A name that is called, or that stands before `::`, is no variable.
_NAME = re.compile(r"\b[A-Za-z_]\w*\b(?!\s*(?:\(|<[^<>;]*>\s*\(|::))")
_KEYWORDS = frozenset(
    (
        *("if", "else", "for", "while", "return", "const", "constexpr", "static", "inline", "auto", "this", "true"),
        *("false", "sizeof", "nullptr", "template", "typename", "uint8_t", "uint16_t", "uint32_t", "uint64_t"),
        *("int8_t", "int16_t", "int32_t", "int64_t", "int", "float", "half", "bool", "void", "size_t"),
    )
)
#: Where tensors come from, which says nothing about sizes.
_TENSORS = re.compile(r"\b(?:DeQue|AllocTensor|LocalTensor|GlobalTensor|InitBuffer|EnQue|FreeTensor)\b|\.Get<")
#: Names of element types.
_TYPES = re.compile(r"#define\s+\w+\s+(?:half|float|bfloat16_t|u?int\d+_t)\s*$")
#: Members that get their value elsewhere.
_CLEARED = re.compile(r"(?:=\s*0[uUlL]*|\{\s*0?\s*\})\s*;\s*$")
# They look like the head of a function: a word, brackets, a brace.
_HEADERS = frozenset({"if", "for", "while", "switch"})
# Neither `;` nor braces among the parameters, so that a call is no match.
_FUNCTION = re.compile(r"\b([A-Za-z_]\w*)\s*\(([^;{}]*)\)\s*(?:const\s*)?\{")
_STATEMENT_LINES = 6
_MOST = 12


class Line(NamedTuple):
    """A line of a source file, counted from 1, and its text."""

    file: str
    number: int
    text: str


def statement(text: str, number: int) -> str:
    """The statement that has line ``number`` in it: from behind the one before to its own end."""
    lines = [_code(line) for line in text.splitlines()]
    if not 1 <= number <= len(lines):
        return ""
    first = number - 1
    while first > 0 and number - first < _STATEMENT_LINES and not re.search(r"[;{}:]\s*$|^\s*#", lines[first - 1]):
        first -= 1
    last = number - 1
    while last + 1 < len(lines) and last - number < _STATEMENT_LINES and not re.search(r"[;{}]\s*$", lines[last]):
        last += 1
    return " ".join(line.strip() for line in lines[first : last + 1])


def defining_lines(files: Mapping[str, str], file: str, number: int, *, depth: int = 3) -> tuple[Line, ...]:
    """The lines behind the numbers in that line: where they are set, the loop or call that hands them over."""
    lines: dict[tuple[str, int], Line] = {}
    known: set[str] = set()
    wave = [(file, number)]
    for _ in range(depth):
        following: list[tuple[str, int]] = []
        for name, at in wave:
            text = files.get(name, "")
            names = [word for word in _names(statement(text, at)) if word not in known]
            known.update(names)
            for line in _defining(files, name, at, names):
                if (line.file, line.number) not in lines and (line.file, line.number) != (file, number):
                    lines[line.file, line.number] = line
                    following.append((line.file, line.number))
        wave = following
    return tuple(list(lines.values())[:_MOST])


def storing_lines(files: Mapping[str, str]) -> tuple[Line, ...]:
    """Copies whose destination is a tensor in global memory, by its name."""
    lines = []
    for name, text in files.items():
        buffers = set(re.findall(r"\b(\w+)(?:\[\w+\])?\.SetGlobalBuffer\(", text))
        for number, line in enumerate(text.splitlines(), 1):
            match = re.search(r"\b(?:DataCopy\w*|Fixpipe|SetValue)(?:<[^;]*?>)?\(\s*(\w+)", _code(line))
            if match and match[1] in buffers:
                lines.append(Line(name, number, line.strip()))
    return tuple(lines)


def _names(code: str) -> list[str]:
    return [word for word in dict.fromkeys(_NAME.findall(code)) if word not in _KEYWORDS]


def _defining(files: Mapping[str, str], file: str, at: int, names: list[str]) -> Iterator[Line]:
    function = _function_around(files.get(file, ""), at)
    for word in names:
        lines = [line for name, text in files.items() for line in _settings(name, text, word)]
        here = [line for line in lines if line.file == file and function.first <= line.number <= at]
        # A setting in the same function hides others of that name; zeros are told where there is nothing else.
        yield from here or [line for line in lines if not _CLEARED.search(line.text)] or lines
    if any(re.search(rf"\b{word}\b", function.parameters) for word in names):
        yield from _calls(files, function.name)


def _settings(file: str, text: str, word: str) -> Iterator[Line]:
    """Lines that give ``word`` its value."""
    # In this order: an assignment (no comparison), a declaration with an initialiser in braces, a macro, and calls
    # that set a tensor's address or the operands and shapes of a Matmul object.
    setting = re.compile(
        rf"\b{word}\b(?:\[[^\]]*\])?\s*(?:[-+*/|&%^]|<<|>>)?=(?!=)|[\w>]\s+{word}\s*\{{|#define\s+{word}\b"
        rf"|\b{word}\.Set(?:GlobalBuffer|Tensor[AB]|Tail|Bias|SingleShape|OrgShape)\("
    )
    for number, line in enumerate(text.splitlines(), 1):
        code = _code(line)
        if setting.search(code) and not _TENSORS.search(code) and not _TYPES.search(code):
            yield Line(file, number, line.strip())


class _Function(NamedTuple):
    """The function that a line lies in: its name, its parameters, its first line."""

    name: str
    parameters: str
    first: int


def _function_around(text: str, at: int) -> _Function:
    before = "\n".join(_code(line) for line in text.splitlines()[:at])
    matches = [match for match in _FUNCTION.finditer(before) if match[1] not in _HEADERS]
    if not matches:
        return _Function("", "", 1)
    last = matches[-1]
    return _Function(last[1], last[2], before.count("\n", 0, last.start()) + 1)


def _calls(files: Mapping[str, str], function: str) -> Iterator[Line]:
    """Where the function is called."""
    for name, text in files.items():
        for number, line in enumerate(text.splitlines(), 1):
            code = _code(line)
            # `void` in front means a definition or a declaration, `~` a destructor: neither is a call.
            if re.search(rf"\b{function}\s*\(", code) and not re.search(rf"\bvoid\s+{function}\b|~{function}", code):
                yield Line(name, number, line.strip())


def _code(line: str) -> str:
    return line.partition("//")[0]
