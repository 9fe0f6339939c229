"""Static guards: what is refused before a compiler sees it.

A guard is a function of candidate and task that returns diagnostics; any of severity ``error`` rejects the candidate.
Guards read text only, in time linear in its length. They are a first line, not the sandbox: that is the executor's.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Sequence
from pathlib import PurePosixPath, PureWindowsPath
from typing import TypeAlias

from npukernelbench.nouns import Candidate, Diagnostic, Severity, Task

__all__ = ["MAX_SOURCE_BYTES", "Guard", "binary", "encoding", "file_names", "has_source", "include_paths", "size_limit"]

Guard: TypeAlias = Callable[[Candidate, Task], Sequence[Diagnostic]]

MAX_SOURCE_BYTES = 1 << 20
_MAX_REPORTED = 20

# Text the preprocessor does not read as directives. Every alternative also ends at the end of the text, so that the
# search never starts over: it is linear whatever the text.
_QUIET = re.compile(
    r"""/\*.*?(?:\*/|\Z)                            # comment
    |  //[^\n]*                                   # comment to the end of the line
    |  R"(?P<mark>[^()\\\s"]{0,16})\(.*?(?:\)(?P=mark)"|\Z)  # raw string
    |  "(?:[^"\\\n]|\\.)*"?                       # string
    |  '(?:[^'\\\n]|\\.)*'?                       # character
    """,
    re.VERBOSE | re.DOTALL,
)
# `%:` and `??=` are other spellings of `#`: a digraph and a trigraph.
# `#embed` would put the bytes of any file into the kernel.
_INCLUDE = re.compile(
    r"^[ \t\v\f]*(?:\#|%:|\?\?=)[ \t\v\f]*(?:include_next|include|import|embed)\b[ \t\v\f]*(?P<operand>[^\n]*)",
    re.MULTILINE,
)
_FILE_NAME = re.compile(r'"(?P<quoted>[^"]*)"|<(?P<angled>[^>]*)>')


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
    """No NUL bytes and next to no other control characters: source is text."""
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


def include_paths(candidate: Candidate, task: Task) -> list[Diagnostic]:  # noqa: ARG001
    """No ``#include`` of an absolute path, of a parent-relative one that is no file of the candidate, and none whose
    file only a macro knows."""
    result = []
    for name, text in candidate.files.items():
        # Joined first, as the preprocessor does it: a backslash may split a directive or the end of a comment.
        spliced = _QUIET.sub(_without_comment, text.replace("\r\n", "\n").replace("\\\n", ""))
        for directive in _INCLUDE.finditer(spliced):
            problem = _include_problem(directive["operand"], name, candidate)
            if problem:
                line = _line_of(text, directive["operand"].strip(), _line(spliced, directive.start("operand")))
                remedy = 'Include the toolkit\'s headers by name, for example "kernel_operator.h".'
                result.append(_error("forbidden_include", problem, remedy, name, line))
            # A source of a mebibyte has room for a hundred thousand of them.
            if len(result) >= _MAX_REPORTED:
                return result
    return result


def _without_comment(quiet: re.Match[str]) -> str:
    """A comment becomes a blank and its line breaks; a raw string its line breaks; anything else stays."""
    text = quiet.group()
    # The operand of an #include is a string to `_QUIET`, so strings have to stay.
    if text.startswith(("/", "R")):
        return " " + "\n" * text.count("\n")
    return text


def _include_problem(operand: str, includer: str, candidate: Candidate) -> str:
    # A macro as the operand could become any path behind this check.
    file = _FILE_NAME.match(operand)
    if not file:
        return f"#include of {operand.strip()[:80]!r}: the file must be named literally"
    path = file["quoted"] if file["quoted"] is not None else file["angled"]
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
    if "\\\n" not in text and "\\\r\n" not in text:
        return fallback
    # Joining took line breaks out, so that the spliced text counts fewer lines than the author's.
    at = text.find(operand)
    return _line(text, at) if at >= 0 else fallback


def _error(rule: str, message: str, remedy: str, file: str = "", line: int = 0, **details: int) -> Diagnostic:
    return Diagnostic(Severity.ERROR, rule, message, file, line, remedy=remedy, details=details)
