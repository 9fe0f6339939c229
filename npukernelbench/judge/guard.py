"""Static guards: what is refused before a compiler sees it.

A guard is a function of candidate and task that returns diagnostics; any of severity ``error`` rejects the candidate.
Guards read text only, in time linear in its length. They are a first line, not the sandbox: that is the executor's.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import PurePosixPath, PureWindowsPath
from typing import TypeAlias

from npukernelbench.nouns import Candidate, Diagnostic, Severity, Task

__all__ = ["MAX_SOURCE_BYTES", "Guard", "binary", "encoding", "file_names", "has_source", "include_paths", "size_limit"]

Guard: TypeAlias = Callable[[Candidate, Task], Sequence[Diagnostic]]

MAX_SOURCE_BYTES = 1 << 20
_MAX_REPORTED = 20

# A line that goes on: compilers take blanks behind the backslash, and every kind of line break.
_JOIN = r"\\[ \t\v\f]*(?:\r\n|\n\r?|\r)"
_JOINS = re.compile(_JOIN)
_J = f"(?:{_JOIN})*"
# Text the preprocessor does not read as directives, before lines are joined: a raw string keeps its backslashes, and
# everything else may be split by joins. Every alternative also ends at the end of the text, so that the search never
# starts over: it is linear whatever the text.
_QUIET = re.compile(
    rf"""/{_J}\*.*?(?:\*{_J}/|\Z)                           # comment
    |  /{_J}/(?:{_JOIN}|[^\r\n])*                          # comment to the end of the line
    |  (?:(?:u{_J}8|[uUL]){_J})?R{_J}"(?P<mark>[^()\\\s"]{{0,16}})\(.*?(?:\)(?P=mark)"|\Z)  # raw string
    |  "(?:{_JOIN}|\\{_J}[^\r\n]|[^"\\\r\n])*"?            # string
    |  '(?:{_JOIN}|\\{_J}[^\r\n]|[^'\\\r\n])*'?            # character
    # Words and numbers whole: no raw string begins with the end of a name, no character with a digit separator.
    |  \d(?:[eEpP]{_J}[-+]|'{_J}\w|[\w.$]|{_JOIN})*
    |  [\w$](?:[\w$]|{_JOIN})*
    """,
    re.VERBOSE | re.DOTALL,
)
# `%:` and `??=` are other spellings of `#`: a digraph and a trigraph.
# `#embed` would put the bytes of any file into the kernel.
_BLANKS = r"[ \t\v\f\0\ufeff]*"
_STRIPPED = " \t\v\f\0"
_HASH = rf"^{_BLANKS}(?:\#|%:|\?\?=){_BLANKS}"
_INCLUDE = re.compile(
    rf"{_HASH}(?:include_next|include|import|embed)\b{_BLANKS}(?P<operand>[^\n]*)",
    re.MULTILINE,
)
# Of these lines clang reads the text as it is, gcc words and comments: what goes on behind the line is code for one.
_AMBIGUOUS = re.compile(rf"{_HASH}(?:error|warning)\b[^\n\v]*\v", re.MULTILINE)
_FILE_NAME = re.compile(r'"(?P<quoted>[^"\v]*)"|<(?P<angled>[^>\v]*)>')


def has_source(candidate: Candidate) -> bool:
    """Whether any file holds more than white space."""
    # `strip` alone takes neither a byte order mark nor NUL for white space.
    return any(text.strip("\ufeff \t\r\n\v\f\0") for text in candidate.files.values())


def size_limit(candidate: Candidate, task: Task) -> list[Diagnostic]:  # noqa: ARG001
    """All files together stay within :data:`MAX_SOURCE_BYTES`."""
    # Lone surrogates are counted here; refusing them is left to `encoding`.
    size = sum(len(text.encode("utf-8", "surrogatepass")) for text in candidate.files.values())
    if size <= MAX_SOURCE_BYTES:
        return []
    message = f"the source has {size} bytes, the limit is {MAX_SOURCE_BYTES} bytes (1 MiB)"
    remedy = "Submit the kernel's source only, without data tables or generated text."
    return [_error("source_too_large", message, remedy, bytes=size, limit=MAX_SOURCE_BYTES)]


def binary(candidate: Candidate, task: Task) -> list[Diagnostic]:  # noqa: ARG001
    """No NUL bytes: source is text."""
    result = []
    for name, text in candidate.files.items():
        at = text.find("\0")
        if at >= 0:
            message = f"the source holds a NUL byte at offset {at}: this is a binary file"
            result.append(_error("binary_source", message, "Submit C++ source text.", name, _line(text, at), offset=at))
    return result


def encoding(candidate: Candidate, task: Task) -> list[Diagnostic]:  # noqa: ARG001
    """Every file can be written as UTF-8."""
    result = []
    for name, text in candidate.files.items():
        try:
            text.encode("utf-8")
        except UnicodeEncodeError as error:
            message = f"the source is not UTF-8: undecodable byte or lone surrogate at offset {error.start}"
            line = _line(text, error.start)
            result.append(_error("bad_encoding", message, "Save the file as UTF-8.", name, line, offset=error.start))
    return result


def file_names(candidate: Candidate, task: Task) -> list[Diagnostic]:  # noqa: ARG001
    """Files stay in their folder."""
    remedy = "Use relative file names without '..'."
    return [
        _error("bad_file_name", f"the file name {name!r} leaves the candidate's folder", remedy)
        for name in candidate.files
        if not name or _leaves_folder(name)
    ]


def include_paths(candidate: Candidate, task: Task) -> list[Diagnostic]:
    """No ``#include`` of an absolute path, of a parent-relative one that is no file of the candidate, and none whose
    file only a macro knows."""
    # Reading takes a quarter of a second per mebibyte: what is refused for its size is not read.
    if size_limit(candidate, task):
        return []
    # A source of a mebibyte has room for a hundred thousand of them.
    return list(islice(_forbidden_includes(candidate), _MAX_REPORTED))


def _forbidden_includes(candidate: Candidate) -> Iterator[Diagnostic]:
    for name, text in candidate.files.items():
        code = _directives(text)
        lines = code.replace("\v", "\n")
        for directive in _INCLUDE.finditer(code):
            problem = _include_problem(directive["operand"], name, candidate)
            if problem:
                line = _line_of(text, directive["operand"].strip(_STRIPPED), _line(lines, directive.start("operand")))
                remedy = 'Include the toolkit\'s headers by name, for example "kernel_operator.h".'
                yield _error("forbidden_include", problem, remedy, name, line)
        for directive in _AMBIGUOUS.finditer(code):
            message = "compilers differ on a comment or raw string that goes on behind a line of #error or #warning"
            yield _error(
                "forbidden_include", message, "End it on the same line.", name, _line(lines, directive.start())
            )


def _directives(text: str) -> str:
    """``text`` as the preprocessor reads its directives: lines joined, without comments and raw strings. Their line
    breaks are vertical tabs: blanks that still count as lines. A NUL stands in front: unlike blanks, it may not stand
    between a backslash and the end of the line that it joins.
    """
    return re.sub(r"\r\n?", "\n", _JOINS.sub("", _QUIET.sub(_without_comment, text)))


def _without_comment(quiet: re.Match[str]) -> str:
    text = quiet.group()
    # The operand of an #include is a string to `_QUIET`, so strings have to stay.
    if text[0] == "/" or quiet["mark"] is not None:
        joined = _JOINS.sub("", text)
        return "\0" if joined.startswith("//") else "\0" + "\v" * len(re.findall(r"\r\n?|\n", text))
    return text


def _include_problem(operand: str, includer: str, candidate: Candidate) -> str:
    # A macro as the operand could become any path behind this check.
    file = _FILE_NAME.match(operand)
    if not file:
        return f"#include of {operand.strip(_STRIPPED)[:80]!r}: the file must be named literally"
    path = file["quoted"] if file["quoted"] is not None else file["angled"]
    if not {*path}.isdisjoint("'\"\\") and not _leaves_folder(path):
        # Here compilers take them as they are: to `_QUIET` they would begin a string.
        return f"#include of {path[:200]!r}: quotes and backslashes in a file's name are refused"
    # `..` takes the includer's own name away: quoted paths are relative to its folder.
    own = file["quoted"] is not None and posixpath.normpath(posixpath.join(includer, "..", path)) in candidate.files
    if _leaves_folder(path) and not own:
        return f"#include of {path[:200]!r}: absolute and parent-relative paths are refused"
    return ""


def _leaves_folder(path: str) -> bool:
    # Splits at both kinds of slashes, so that `..` is found behind either.
    windows = PureWindowsPath(path)
    return bool(PurePosixPath(path).is_absolute() or windows.anchor) or ".." in windows.parts


def _line(text: str, offset: int) -> int:
    return text.count("\n", 0, offset) + 1


def _line_of(text: str, operand: str, fallback: int) -> int:
    """The line of ``operand`` in the unspliced text: where lines were joined, the first place it stands in full."""
    if not _JOINS.search(text):
        return fallback
    # Joining took line breaks out, so that the spliced text counts fewer lines than the author's.
    at = text.find(operand)
    return _line(text, at) if at >= 0 else fallback


def _error(rule: str, message: str, remedy: str, file: str = "", line: int = 0, **details: int) -> Diagnostic:
    return Diagnostic(Severity.ERROR, rule, message, file, line, remedy=remedy, details=details)
