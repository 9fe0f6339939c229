"""A catalogue of translations: a PO file as GNU gettext defines it, read and written without further packages.

Used is what our catalogues need: ``msgid`` and ``msgstr`` with continued lines, and comments. Programs of gettext read
what is written here. There is no compiled form, so that a wheel holds the one file that translators edit.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from npukernelbench.errors import ConfigError, SourceLocation

__all__ = ["HEADER", "catalogue_path", "read_catalogue", "write_catalogue"]

#: The entry that describes the file.
HEADER = ""

_LINE = re.compile(r'(?:(?P<key>msgid|msgstr)\s+)?(?P<text>"(?:[^"\\]|\\.)*")$')


def catalogue_path(locale: str) -> Path:
    """Where the catalogue of a locale lies, in gettext's layout."""
    return Path(__file__).parent / "locale" / locale / "LC_MESSAGES" / "npukernelbench.po"


def read_catalogue(path: Path) -> dict[str, str]:
    """Translations by their English text, the header under ``HEADER``. ConfigError with the line of what is wrong."""
    entries: dict[str, list[str]] = {}
    parts: list[str] = []
    msgid = ""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        place = SourceLocation(path, number)
        if not line.strip() or line.startswith("#"):
            continue
        match = _LINE.match(line)
        if match is None or (match["key"] is None and not entries and not parts):
            raise ConfigError(
                "expected msgid, msgstr or quoted text", location=place, remedy="see GNU gettext's manual"
            )
        if match["key"] == "msgid":
            parts = []
        elif match["key"] == "msgstr":
            msgid, parts = "".join(parts), []
            if msgid in entries:
                raise ConfigError(f"{msgid!r} is there twice", location=place, remedy="keep one of the two")
            entries[msgid] = parts
        # The escapes are those of C, which Python's texts have as well.
        parts.append(ast.literal_eval(match["text"]))
    return {msgid: "".join(texts) for msgid, texts in entries.items()}


def write_catalogue(path: Path, entries: Mapping[str, str], sections: Mapping[str, Iterable[str]]) -> None:
    """Write the header, then each section's texts in its order, a comment with its name above; the first place of a
    text counts.
    """
    blocks = [_entry(HEADER, entries.get(HEADER, ""))]
    written = {HEADER}
    for section, msgids in sections.items():
        for msgid in msgids:
            if msgid not in written:
                written.add(msgid)
                blocks.append(f"#. {section}\n{_entry(msgid, entries.get(msgid, ''))}")
    path.write_text("\n".join(blocks), encoding="utf-8")


def _entry(msgid: str, msgstr: str) -> str:
    return f"msgid {_quoted(msgid)}\nmsgstr {_quoted(msgstr)}\n"


def _quoted(text: str) -> str:
    lines = text.splitlines(keepends=True)
    # Programs of gettext begin a text of several lines with an empty one.
    if len(lines) < 2:
        return json.dumps(text, ensure_ascii=False)
    return "\n".join(['""', *(json.dumps(line, ensure_ascii=False) for line in lines)])
