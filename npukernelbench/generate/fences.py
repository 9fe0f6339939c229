"""Fenced code blocks in model answers: find them, name them, write them.

Follows Markdown where models follow Markdown, and forgives where they do not: fences may be indented by any amount; an
opening fence with a source language may follow words on its line (``Kernel: ```cpp``), a closing one may follow code
after its last brace; and a new fence with a source language inside an unfinished block starts over, so that a block
that was never closed swallows nothing. Every function takes any text, never raises, and is linear in its length.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import PurePosixPath
from typing import NamedTuple

from npukernelbench.nouns import LAUNCH_FILE

__all__ = ["Block", "Scan", "relative_name", "scan", "wrap"]

#: Languages of a block that may hold kernel source; the empty one is an untagged block.
_SOURCE_LANGUAGE = re.compile(r"|c|c\+\+|cc|cpp|cxx|h|hh|hpp|hxx|inc|cce|asc|ascend[-_]?c")
HEADER_SUFFIXES = (".h", ".hh", ".hpp", ".hxx", ".inc")

_FENCE = re.compile(r"[ \t]*(`{3,}|~{3,})(.*)")
_TRAILING_FENCE = re.compile(r"([^`]*[^`\s])[ \t]*(`{3,})([A-Za-z+_-]{0,20})")
_NAME = re.compile(
    r"(?:[A-Za-z0-9_./+-]*[A-Za-z0-9_+-]\.(?:cpp|cc|cxx|c|hpp|hxx|hh|h|cce|asc|inc)|launch\.yaml)(?![A-Za-z0-9_+])"
)
_LANGUAGE = re.compile(r"\{?\.?([A-Za-z][A-Za-z0-9_+#-]*)")
# Chinese answers have a full-width colon.
_LABEL = re.compile(r"\A(?:file\s?name|file|path)\s?[:：]", re.IGNORECASE)
_LABEL_LIMIT = 200  # characters of a line in which a file name is looked for
_DECORATION = " \t\r#>*`\"'-:："


@dataclass(frozen=True, slots=True)
class Block:
    """A closed block: ``text`` to the letter, with the newline before the closing fence.

    ``name`` is a safe relative file name or empty, ``position`` counts the blocks of the text.
    """

    language: str
    name: str
    text: str
    position: int

    @property
    def is_source(self) -> bool:
        """Whether the block may hold kernel source, or says how it is launched."""
        return _is_source(self.language) or (self.language == "yaml" and self.name == LAUNCH_FILE)


@dataclass(frozen=True, slots=True)
class Scan:
    """All closed blocks in order, and whether the text ends inside a block that was never closed."""

    blocks: tuple[Block, ...]
    unclosed: bool


class _Fence(NamedTuple):
    """A line's fence, the info string after it, and what stands before it on the line."""

    run: str
    info: str
    before: str = ""


class _Opening(NamedTuple):
    fence: str
    language: str
    name: str
    line: int


def scan(text: str) -> Scan:
    """Find the fenced blocks of ``text``."""
    # Not `splitlines`, which breaks at further characters: a block has to come back to the letter.
    lines = text.split("\n")
    blocks: list[Block] = []
    opening: _Opening | None = None
    for number, line in enumerate(lines):
        fence = _fence(line)
        if fence is None:
            continue
        if opening is None or _starts_over(opening, fence):
            opening = _open(number, fence) or opening
        elif _closes(opening, fence):
            body = "".join(f"{part}\n" for part in lines[opening.line + 1 : number]) + fence.before
            name = opening.name or _name_above(lines, opening.line)
            blocks.append(Block(opening.language, name, body, len(blocks)))
            opening = None
    return Scan(tuple(blocks), opening is not None)


def wrap(source: str, language: str = "cpp", name: str = "") -> str:
    """One fenced block that gives ``source`` back (with a final newline); the fence is longer than any inside.

    A block with a ``name`` is that file.
    """
    # A fence has three signs at least.
    longest = max((len(run) for run in re.findall(r"`{3,}", source)), default=2)
    fence = "`" * (longest + 1)
    newline = "" if source.endswith("\n") or not source else "\n"
    info = f"{language} {name}" if name else language
    return f"{fence}{info}\n{source}{newline}{fence}\n"


def relative_name(name: str) -> str:
    """``name`` as a plain relative POSIX path, or empty when it would lead out of its folder."""
    path = PurePosixPath(name)
    # Backslashes and colons mean folders and drives on other systems.
    unsafe = path.is_absolute() or ".." in path.parts or not path.parts or any(c in name for c in "\\:\0\n")
    return "" if unsafe else str(path)


def _is_source(language: str) -> bool:
    return _SOURCE_LANGUAGE.fullmatch(language) is not None


def _fence(line: str) -> _Fence | None:
    # Nearly every line ends here: the test is many times cheaper than the patterns.
    if "```" not in line and "~~~" not in line:
        return None
    match = _FENCE.match(line)
    if match is not None:
        run, info = match.group(1), match.group(2).strip()
        # Markdown: an opening fence of backticks has no backtick behind it.
        inline_code = run[0] == "`" and "`" in info
        return None if inline_code else _Fence(run, info)
    trailing = _TRAILING_FENCE.fullmatch(line.rstrip())
    return None if trailing is None else _Fence(trailing.group(2), trailing.group(3), trailing.group(1))


def _starts_over(opening: _Opening, fence: _Fence) -> bool:
    """Whether a fence inside an open block begins one of its own: the open one is unfinished, or quotes Markdown."""
    language, name = _info(fence.info)
    if fence.before or not (language or name) or not _is_source(language):
        return False
    return len(fence.run) >= len(opening.fence) or not _is_source(opening.language)


def _closes(opening: _Opening, fence: _Fence) -> bool:
    same_kind = fence.run[0] == opening.fence[0] and len(fence.run) >= len(opening.fence)
    # A comment of the source may quote a fence.
    in_comment = fence.before.lstrip().startswith(("//", "/*", "*"))
    return same_kind and not fence.info and not in_comment


def _open(number: int, fence: _Fence) -> _Opening | None:
    language, name = _info(fence.info)
    if fence.before and not (language and _is_source(language)):
        return None  # words that end in a bare fence are more likely quoted than an opening
    return _Opening(fence.run, language, name, number)


@lru_cache(maxsize=64)
def _info(info: str) -> tuple[str, str]:
    """Language (lower case) and file name of an info string such as ``cpp``, ``cpp:a/b.cpp`` or ``kernel.cpp``."""
    # Bounded, so that a line of a megabyte costs no more than a short one.
    info = info[:_LABEL_LIMIT]
    match = _NAME.search(info)
    name = relative_name(match.group()) if match else ""
    # A file name in the place of the language: its suffix says the language.
    if match and match.start() == 0:
        return match.group().rpartition(".")[2].lower(), name
    language = _LANGUAGE.match(info)
    if language is None:
        return ("", name) if not info or name else (info.lower(), "")
    return language.group(1).lower(), name


def _name_above(lines: list[str], number: int) -> str:
    """A file name that stands alone on the nearest non-empty line above, at most two lines up."""
    for line in reversed(lines[max(0, number - 2) : number]):
        label = line.strip(_DECORATION)[:_LABEL_LIMIT]
        if label:
            label = re.sub(r"^\d{1,3}[.)]\s+", "", label)
            label = _LABEL.sub("", label).strip(_DECORATION)
            return relative_name(label) if _NAME.fullmatch(label) else ""
    return ""
