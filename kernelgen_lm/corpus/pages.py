"""Documentation files as blocks: headings, paragraphs, lists, tables and code, whatever they were written in.

Markdown with HTML inside, HTML, and plain text (also reStructuredText as far as it is plain). Layout is
lost, text is kept. A line that is nothing but bold counts as a heading below all others.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from html.parser import HTMLParser
from pathlib import Path

from npukernelbench.errors import UsageError

__all__ = ["SUFFIXES", "Block", "Form", "read_page"]

#: The level of headings that are marked by bold letters only.
BOLD_LEVEL = 7
_MARKDOWN, _HTML, _TEXT = {".md", ".markdown"}, {".html", ".htm", ".xhtml"}, {".txt", ".rst", ".text"}
#: Endings of files that can be read.
SUFFIXES = frozenset(_MARKDOWN | _HTML | _TEXT)
_HEADING = re.compile(r" {0,3}(#{1,6})[ \t]+(.*?)[ \t]*#*[ \t]*$")
_FENCE = re.compile(r"[ \t]*(`{3,}|~{3,})[ \t]*([\w+#-]*)")
_ITEM = re.compile(r"[ \t]*(?:[-*+]|\d{1,3}[.)])[ \t]+(.*)")
_BOLD = re.compile(r"(?:\*\*|__)([^*_]+)(?:\*\*|__)[:：]?")
# Only a short line without a stop: anything else with a number in front is a sentence or an item.
_NUMBERED = re.compile(r"(\d+(?:\.\d+)*)[.)]?[ \t]+(\S[^.:;!?。；：]{0,60})")
_UNDERLINE = re.compile(r"(=+|-+|~+|\^+)[ \t]*$")
_RAW = re.compile(r"[ \t]*<(table|pre|div|ul|ol|details|p)\b", re.IGNORECASE)
_CHARSET = re.compile(rb"charset=[\"']?([\w-]+)", re.IGNORECASE)


class Form(str, Enum):
    """What a block is."""

    HEADING = "heading"
    PARAGRAPH = "paragraph"
    ITEM = "item"
    TABLE = "table"
    CODE = "code"


@dataclass(frozen=True, slots=True)
class Block:
    """One block, with the line it begins at. ``level`` is a heading's, ``rows`` are a table's, the header first."""

    form: Form
    text: str
    line: int
    level: int = 0
    rows: tuple[tuple[str, ...], ...] = ()


def read_page(path: Path) -> tuple[Block, ...]:
    """The blocks of a file. UsageError for what cannot be read or is of another kind."""
    kind = path.suffix.lower()
    if kind not in SUFFIXES:
        known = ", ".join(sorted(SUFFIXES))
        raise UsageError(f"{path} is no documentation that can be read", field="FILES", remedy=f"endings: {known}")
    text = _decoded(path)
    if kind in _HTML:
        return tuple(_from_html(text, 1))
    return tuple(_Lines(text.splitlines(), markdown=kind in _MARKDOWN).blocks())


def _decoded(path: Path) -> str:
    """The file's text: UTF-8, or what it says of itself."""
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}", field="FILES", remedy="name files") from None
    named = _CHARSET.search(raw[:2048])
    # utf-8-sig reads files with and without a byte order mark.
    for encoding in ("utf-8-sig", *((named[1].decode("ascii"),) if named else ())):
        try:
            return raw.decode(encoding)
        except (UnicodeDecodeError, LookupError):
            continue
    raise UsageError(f"{path} is no UTF-8 text", field="FILES", remedy="convert it to UTF-8")


class _Lines:
    """Markdown or plain text, line by line."""

    def __init__(self, lines: Sequence[str], *, markdown: bool) -> None:
        self._lines, self._markdown, self._at = lines, markdown, 0

    def blocks(self) -> Iterator[Block]:
        """Every block in order."""
        self._skip_front_matter()
        while self._at < len(self._lines):
            line = self._lines[self._at]
            if not line.strip():
                self._at += 1
            elif self._markdown and (heading := _HEADING.fullmatch(line)):
                yield Block(Form.HEADING, _plain(heading[2]), self._at + 1, len(heading[1]))
                self._at += 1
            elif self._markdown and (fence := _FENCE.match(line)):
                yield self._fenced(fence[1])
            elif self._markdown and (raw := _RAW.match(line)):
                yield from self._raw(raw[1].lower())
            elif self._markdown and line.lstrip().startswith("|"):
                yield self._table()
            elif self._is_indented(line):
                yield self._indented()
            elif item := _ITEM.fullmatch(line):
                yield self._item(item[1])
            else:
                yield self._paragraph()

    def _skip_front_matter(self) -> None:
        if self._markdown and self._lines and self._lines[0].strip() == "---":
            end = next((at for at in range(1, len(self._lines)) if self._lines[at].strip() == "---"), 0)
            # Without a second line of dashes the first one is a rule, not the beginning of front matter.
            self._at = end + 1 if end else 0

    def _fenced(self, fence: str) -> Block:
        start = self._at
        self._at += 1
        # As in CommonMark a closing fence may be longer than the opening one, and the end of the file closes it.
        while self._at < len(self._lines) and not self._lines[self._at].strip().startswith(fence):
            self._at += 1
        body = self._lines[start + 1 : self._at]
        self._at += 1
        return Block(Form.CODE, "\n".join(body) + "\n", start + 1)

    def _raw(self, tag: str) -> Iterator[Block]:
        """HTML inside Markdown, to its closing tag."""
        start, depth = self._at, 0
        for end in range(start, len(self._lines)):
            line = self._lines[end].lower()
            depth += line.count(f"<{tag}") - line.count(f"</{tag}")
            if depth <= 0:
                break
        else:
            # Nothing closes it: as in CommonMark an empty line ends it, and what follows is Markdown.
            end = next((at for at in range(start, len(self._lines)) if not self._lines[at].strip()), end)
        self._at = end + 1
        yield from _from_html("\n".join(self._lines[start : self._at]), start + 1)

    def _table(self) -> Block:
        start, rows = self._at, []
        while self._at < len(self._lines) and self._lines[self._at].lstrip().startswith("|"):
            # A bar behind a backslash is text of the cell.
            cells = re.split(r"(?<!\\)\|", self._lines[self._at].strip().strip("|"))
            # The row of dashes under a header says how columns are aligned.
            if not all(re.fullmatch(r"\s*:?-+:?\s*", cell) for cell in cells):
                rows.append(tuple(_plain(cell.replace("\\|", "|")) for cell in cells))
            self._at += 1
        return Block(Form.TABLE, "", start + 1, rows=tuple(rows))

    def _is_indented(self, line: str) -> bool:
        before = self._lines[self._at - 1].strip() if self._at else ""
        # Only behind an empty line: elsewhere indentation belongs to the paragraph.
        return line.startswith(("    ", "\t")) and not before and not _ITEM.fullmatch(line)

    def _indented(self) -> Block:
        start = self._at
        while self._at < len(self._lines) and (
            not self._lines[self._at].strip() or self._lines[self._at].startswith(("    ", "\t"))
        ):
            self._at += 1
        body = [re.sub(r"^(?: {4}|\t)", "", line) for line in self._lines[start : self._at]]
        return Block(Form.CODE, "\n".join(body).strip("\n") + "\n", start + 1)

    def _item(self, text: str) -> Block:
        """One item of a list, with the lines that continue it."""
        start, parts = self._at, [text]
        self._at += 1
        while self._at < len(self._lines) and self._continues() and self._lines[self._at].startswith(" "):
            parts.append(self._lines[self._at].strip())
            self._at += 1
        return Block(Form.ITEM, _plain(" ".join(parts)), start + 1)

    def _paragraph(self) -> Block:
        """Lines up to an empty one; a heading where they are underlined, bold or numbered."""
        start = self._at
        parts = [self._lines[self._at].strip()]
        self._at += 1
        while self._at < len(self._lines) and self._continues():
            if _UNDERLINE.fullmatch(self._lines[self._at]) and len(parts) == 1:
                # Markdown has these two levels; further ones of reStructuredText are not told apart.
                level = 1 if self._lines[self._at].startswith("=") else 2
                self._at += 1
                return Block(Form.HEADING, _plain(parts[0]), start + 1, level)
            parts.append(self._lines[self._at].strip())
            self._at += 1
        text = " ".join(parts)
        if bold := _BOLD.fullmatch(text):
            return Block(Form.HEADING, _plain(bold[1]), start + 1, BOLD_LEVEL)
        if not self._markdown and len(parts) == 1 and (numbered := _NUMBERED.fullmatch(text)):
            return Block(Form.HEADING, numbered[2].strip(), start + 1, 1 + numbered[1].count("."))
        return Block(Form.PARAGRAPH, _plain(text), start + 1)

    def _continues(self) -> bool:
        """Whether the line at hand belongs to the paragraph or item before it."""
        line = self._lines[self._at]
        if not line.strip() or _ITEM.fullmatch(line):
            return False
        marked = _HEADING.fullmatch(line) or _FENCE.match(line) or _RAW.match(line) or line.lstrip().startswith("|")
        return not (self._markdown and marked)


def _plain(text: str) -> str:
    """Words without marks: links by their text, code and emphasis by what they hold."""
    text = re.sub(r"<br\s*/?>", " ", text)
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"</?[a-zA-Z][^<>]*>", "", text)
    text = re.sub(r"`([^`]*)`|\*\*([^*]+)\*\*", lambda match: match[1] if match[1] is not None else match[2], text)
    return re.sub(r"\s+", " ", text.replace("\\_", "_")).strip()


def _from_html(text: str, line: int) -> Iterator[Block]:
    reader = _Html(line)
    reader.feed(text)
    # Hands over what the parser still holds back because it looks like an unfinished tag.
    reader.close()
    reader.end()
    return iter(reader.blocks)


class _Html(HTMLParser):
    """Tags that carry meaning; everything else is text that flows."""

    _SKIPPED = frozenset({"script", "style", "nav", "head", "footer", "button", "svg"})
    _FLOW = frozenset({"p", "div", "section", "article", "ul", "ol", "dl", "dt", "dd", "body", "main", "summary"})

    def __init__(self, line: int) -> None:
        super().__init__(convert_charrefs=True)
        self.blocks: list[Block] = []
        self._first, self._skipped = line - 1, 0
        self._text: list[str] = []
        self._form, self._level, self._start = Form.PARAGRAPH, 0, line
        self._rows: list[list[str]] | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        del attrs
        if tag in self._SKIPPED:
            self._skipped += 1
        elif self._rows is not None:
            self._in_table(tag)
        elif re.fullmatch(r"h[1-6]", tag):
            self._begin(Form.HEADING, int(tag[1]))
        elif tag == "pre":
            self._begin(Form.CODE)
        elif tag == "li":
            self._begin(Form.ITEM)
        elif tag == "table":
            self._begin(Form.TABLE)
            self._rows = []
        elif tag == "br":
            self._text.append("\n")
        # A paragraph inside of an item is a part of it.
        elif tag in self._FLOW and self._form is not Form.ITEM:
            self._begin(Form.PARAGRAPH)

    def _in_table(self, tag: str) -> None:
        if self._rows is None:
            return
        if tag == "tr":
            self._rows.append([])
        elif tag in ("td", "th"):
            if not self._rows:
                self._rows.append([])
            self._text = []
        elif tag in ("br", "p", "li"):
            self._text.append(" ")

    def handle_endtag(self, tag: str) -> None:
        if tag in self._SKIPPED:
            # Pages close tags that they never opened.
            self._skipped = max(0, self._skipped - 1)
        elif self._rows is not None:
            if tag in ("td", "th") and self._rows:
                self._rows[-1].append(re.sub(r"\s+", " ", "".join(self._text)).strip())
                self._text = []
            elif tag == "table":
                rows = tuple(tuple(row) for row in self._rows if row)
                self._rows, self._text = None, []
                if rows:
                    self.blocks.append(Block(Form.TABLE, "", self._start, rows=rows))
                self._form = Form.PARAGRAPH
        elif re.fullmatch(r"h[1-6]", tag) or tag in ("pre", "li", *self._FLOW):
            self._begin(Form.PARAGRAPH)

    def handle_data(self, data: str) -> None:
        if not self._skipped:
            self._text.append(data)

    def end(self) -> None:
        """What is left."""
        self._begin(Form.PARAGRAPH)

    def _begin(self, form: Form, level: int = 0) -> None:
        """End the block at hand, open another."""
        text = "".join(self._text)
        if self._form is Form.CODE:
            if text.strip():
                self.blocks.append(Block(Form.CODE, text.strip("\n") + "\n", self._start))
        elif words := re.sub(r"\s+", " ", text).strip():
            self.blocks.append(Block(self._form, words, self._start, self._level))
        self._text, self._form, self._level = [], form, level
        self._start = self._first + self.getpos()[0]
