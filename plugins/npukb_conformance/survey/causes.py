"""The first thing that is missing, out of what a compiler said; and what lies outside of a twin of one chip."""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import Enum

from npukernelbench.nouns import Diagnostic, Severity

__all__ = ["Beyond", "beyond", "cause_of", "first_error"]

_HEADERS = (
    re.compile(r"^(\S+) is (?:a header of the toolkit|not among)"),
    re.compile(r"'([^']+)' file not found"),
)
# Words of the host compiler, of the linker, and of our own notes on what they say.
_NAMES = (
    re.compile(r"(?:unknown type name|undeclared identifier|named|call to(?: member function)?) '(?:\w+::)*~?(\w+)"),
    re.compile(r"^(\w+) is (?:documented|Ascend C)"),
    re.compile(r"(?:declares|calls) (?:\w+::)*(\w+)"),
    re.compile(r"undefined symbol: (?:\w+::)*(\w+)"),
    re.compile(r"^(\w+) is an element type of other chips"),
)
#: Beginnings of the toolkit's own headers that are included by their names alone.
_TOOLKIT_HEADER = re.compile(
    r"(?:acl|aicpu|asc|ge|graph|hccl|kernel|op|platform|register|slog|tik|tiling|version)_?|securec"
)
_LONGEST = 60
#: Communication between devices: objects, contexts and memory that several ranks share.
_RANKS = re.compile(
    r"\bHccl\b|\bHccl<|GetHcclContext|\bHCCL_\w+|\bHcclCombinOpParam\b|\bMc2\w+Tiling\b"
    r"|\bshmem\w*\.h|\bMC2\(\)|aclshmem|shmem_"
)
#: Functions of single threads, which only chips of a later architecture have.
_SIMT = re.compile(r"__simt_\w+__|\bsimt_api/")
#: Headers of the toolkit itself by their first folders; everything else that is nowhere belongs to somebody else.
_TOOLKIT = frozenset(
    word
    for line in (
        "acl aclnn aclnnop adv_api ascendc base basic_api common error exe_graph experiment external ge graph hccl",
        "impl kernel kernel_tiling lib log metadef op_common opdev platform register runtime tiling",
        "toolchain util utils",
    )
    for word in line.split()
)


class Beyond(Enum):
    """Why a file is not counted: what it needs no twin of one chip has, or no folder of its own."""

    CHIP = "other chip"
    RANKS = "several ranks"
    THIRD_PARTY = "third party"


def first_error(said: Iterable[Diagnostic]) -> Diagnostic | None:
    """The first error, if any."""
    return next((diagnostic for diagnostic in said if diagnostic.severity is Severity.ERROR), None)


def header_of(error: Diagnostic) -> str:
    """The header that is missing, if that is what the error says."""
    return next((match[1] for pattern in _HEADERS if (match := pattern.search(error.message))), "")


def cause_of(error: Diagnostic) -> str:
    """The missing header or name that an error tells of, else the beginning of its message."""
    if header := header_of(error):
        return header
    match = next((match for pattern in _NAMES if (match := pattern.search(error.message))), None)
    return match[1] if match else error.message[:_LONGEST]


def beyond(error: Diagnostic | None, texts: Iterable[str]) -> Beyond | None:
    """What a source with these texts needs that nobody offers here."""
    texts = tuple(texts)
    if any(_RANKS.search(text) for text in texts):
        return Beyond.RANKS
    # A text may hold code of another chip behind a condition: the error has to be about it.
    if any(_SIMT.search(text) for text in texts) and error and _SIMT.search(error.message):
        return Beyond.CHIP
    header = header_of(error) if error else ""
    return Beyond.THIRD_PARTY if header and _is_nobodys(header, texts) else None


def _is_nobodys(header: str, texts: Iterable[str]) -> bool:
    """Whether a missing header is neither the toolkit's nor, because the folder would have it, the project's."""
    if "/" in header:
        return header.partition("/")[0] not in _TOOLKIT
    quoted = re.compile(rf'#[ \t]*include[ \t]*"{re.escape(header)}"')
    return _TOOLKIT_HEADER.match(header) is None and any(map(quoted.search, texts))
