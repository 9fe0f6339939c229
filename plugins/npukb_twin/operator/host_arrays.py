"""Arrays whose size a variable says and which begin with values: ``int64_t sizes[count] = {0};``.

C++ has no such arrays. g++, which the toolkit builds host code with, takes both; clang takes the array and refuses the
values. Where it does, the declaration becomes one without values, followed on its line by a call that stores them.
Device code is not changed: the device's compiler is a clang itself.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from npukb_twin.compile.dialect import masked

__all__ = ["with_values_stored"]

_REFUSED = re.compile(
    r"^(?P<file>[^\s:][^:\n]*):(?P<line>\d+):\d+: error: variable-sized object may not be initialized", re.M
)
#: One array with one extent, alone in its statement.
_DECLARED = re.compile(
    r"(?P<array>(?<!\w)(?P<name>[A-Za-z_]\w*)\s*\[[^\[\]{};=,]+\])\s*=\s*\{(?P<values>[^{};]*)\}\s*;"
)
_CONSTANT = re.compile(r"\b(?:const|constexpr)\b")


def with_values_stored(files: Mapping[str, str], output: str) -> dict[str, str]:
    """The files that change for what a compiler refused in ``output``, with their new texts."""
    changed: dict[str, str] = {}
    for refused in _REFUSED.finditer(output):
        name = refused["file"].removeprefix("./")
        text = changed.get(name, files.get(name, ""))
        amended = _stored(text, int(refused["line"]))
        if amended != text:
            changed[name] = amended
    return changed


def _stored(text: str, line: int) -> str:
    """``text`` with the arrays that begin on a line declared first and filled then."""
    starts = [0, *(match.end() for match in re.finditer(r"\n", text)), len(text)]
    if not 0 < line < len(starts):
        return text
    begin, end = starts[line - 1], starts[line]
    code = masked(text)
    # from the end on, so that places in front of a change still hold
    for match in reversed([*_DECLARED.finditer(code, begin)]):
        before = code[max(code.rfind(sign, 0, match.start()) for sign in ";{}") + 1 : match.start()]
        if match.start() < end and not _CONSTANT.search(before):
            values = text[match.start("values") : match.end("values")]
            call = f"; ::npukb_host::Store({match['name']}, sizeof({match['name']}), {{{values}}});"
            text = text[: match.end("array")] + call + text[match.end() :]
    return text
