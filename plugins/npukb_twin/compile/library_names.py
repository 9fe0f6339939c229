"""Names of the vendor's high-level library, which a kernel on the device sees only where it includes the library's
headers.

The twin has one header with everything, so a kernel's own type may be called as a function of the library (``class
RmsNorm``) and would be ambiguous here and nowhere else. The dialect gives such types another name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

from npukb_twin.compile.build import source_root

__all__ = ["library_names", "own_types"]

#: Headers of the library beside those of the folder ``library``.
_HEADERS = ("shape.h", "sort.h")
_FUNCTION = re.compile(r"\bNPUKB_API \w+ ([A-Z]\w+)\(")
_ROW = re.compile(r"^NPUKB_LIBRARY_\w+\((\w+)", re.MULTILINE)
_TYPE = re.compile(r"\b(?:class|struct|enum|union)\s+(?:\w+\s+)??([A-Z]\w*)\s*(?:final\s*)?[:{]")


@cache
def library_names() -> frozenset[str]:
    """Every function of the library that the twin's headers declare."""
    folder = source_root() / "include" / "twin"
    headers = [*sorted((folder / "library").iterdir()), *(folder / name for name in _HEADERS)]
    texts = [path.read_text(encoding="utf-8") for path in headers]
    table = (folder / "library.def").read_text(encoding="utf-8")
    return frozenset({name for text in texts for name in _FUNCTION.findall(text)} | set(_ROW.findall(table)))


def own_types(codes: Iterable[str]) -> list[str]:
    """Types that are defined in ``codes``, sources without comments and strings, and called as library functions."""
    return sorted({name for code in codes for name in _TYPE.findall(code)} & library_names())
