"""What a compiler says, in words for the candidate's author: own lines, own names, and whose gap a missing name is.

A name that is missing can be three things: documented Ascend C that the twin does not offer (a gap of the twin),
documented for other chips, or invented. The first list is data; what the headers offer is read from them.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cache
from typing import cast

from npukb_twin.compile.build import source_root
from npukb_twin.compile.dialect import find_entry
from npukb_twin.compile.instructions import instructions
from npukb_twin.compile.refused_names import is_forbidden_name
from npukernelbench.nouns import Candidate, Diagnostic, Severity
from npukernelbench.packaged import packaged_table

__all__ = [
    "GAP",
    "Message",
    "explain",
    "foreign_names",
    "foreign_type",
    "gap_names",
    "messages_of",
    "only_gaps",
    "supported_names",
]

#: The file every candidate's device code is in.
KERNEL_FILE = "kernel.cpp"
#: Rules: of an error that a gap of the twin explains, of every other, and of names that no kernel may use.
GAP, COMPILE, FORBIDDEN = "unsupported_api", "compile", "forbidden_name"

_LINE = re.compile(
    r"^(?P<file>[^:\n]+):(?P<line>\d+):(?P<column>\d+): +"
    r"(?:(?P<kind>fatal error|error|warning|note): (?P<text>.*)|(?P<origin>required from .*))$"
)
_MISSING = re.compile(
    r"(?:use of undeclared identifier|no (?:member|type|template) named|unknown type name|is not a member of|"
    r"was not declared|does not name a type|has no member named)"
)
_MISSING_HEADER = re.compile(r"'([^']+)' file not found|^([^\s:]+): No such file")
_NAME = re.compile(r"['‘](?:\w+::)*~?(\w+)(?:<.*>)?['’]")
#: What names of the API look like.
_OFFERED = re.compile(r"[A-Z]\w+$|half$|\w+_(?:t|flag|barrier)$")
#: What clang says of an instruction's type that the chip does not have.
_OF_TYPE = re.compile(r"implicit instantiation of undefined template 'npukb::\w+<.*>'")
_INTO = re.compile(r"Into\(([^,()]+), ([^()]+)\)")
_DECLARED = re.compile(r"NPUKB_(?:API|ONCE)[^;{}()]*?(?<!operator )\b(\w+)\(")
#: The one warning that is told, by the option that the compiler names: 256 repeats are none, because a parameter of
#: 8 bits holds no more, and the call does nothing.
_TOLD = re.compile(r" \[-Wconstant-conversion\]$")
#: What a parameter's type is called (include/twin/narrow.h), and what it is.
_PARAMETER = re.compile(r"'(?:const )?npukb::of::(\w+)::(\w+)' \(aka '(?:const )?([\w ]+)'\)")
_STATIC_ASSERT = re.compile(r"^static assertion failed(?: due to requirement '.*?')?: ")


@dataclass(frozen=True, slots=True)
class Message:
    """One message; ``file`` is empty where it is not in the candidate's own source."""

    kind: str
    text: str
    file: str = ""
    line: int = 0
    column: int = 0

    @property
    def missing(self) -> str:
        """The name that is not there, if that is what this message is about."""
        told = _MISSING.search(self.text)
        if told is None:
            return ""
        # clang quotes the missing name after its words; g++ before them, except for members
        names = _NAME.findall(self.text)
        after = _NAME.search(self.text, told.end())
        gcc_first = told.group() in ("is not a member of", "was not declared", "does not name a type")
        return names[0] if names and gcc_first else (after[1] if after else "")


def explain(output: str, entry: str, candidate: Candidate, renamed: Mapping[str, str]) -> tuple[Diagnostic, ...]:
    """Diagnostics out of a compiler's ``output``, in which names of the candidate are ``renamed``: new name to old.

    A message inside the API's headers is moved to the candidate's line that led there.
    """
    for name, author_s in renamed.items():
        output = re.sub(rf"\b{re.escape(name)}\b", author_s, output)
    # the room of borrowed names (borrowed_names.py), which no source writes
    output = output.replace("npukb_undocumented::", "")
    output = _PARAMETER.sub(r"'\3', which \2 of \1 is,", output)
    messages = list(messages_of(output, candidate.files.keys()))
    if not messages and output.strip():
        return (Diagnostic(Severity.ERROR, COMPILE, output.strip()[:2000]),)
    messages = [message for message in messages if message.kind != "warning" or _TOLD.search(message.text)]
    gaps = _gaps(messages, candidate)
    return tuple(_diagnostic(message, entry, candidate, index in gaps) for index, message in enumerate(messages))


def only_gaps(diagnostics: Collection[Diagnostic]) -> bool:
    """Whether the twin's gaps explain every error, and there is one."""
    errors = [diagnostic.rule for diagnostic in diagnostics if diagnostic.severity is Severity.ERROR]
    return bool(errors) and all(rule == GAP for rule in errors)


def messages_of(output: str, own: Collection[str]) -> Iterator[Message]:
    """Errors and warnings at the candidate's lines where there is one.

    clang tells the line that led into a header in a note after the message, g++ in a line before it.
    """
    last: Message | None = None
    origin: tuple[str, int, int] | None = None
    for line in output.splitlines():
        match = _LINE.match(line)
        if match is None:
            continue
        file, at = posixpath.normpath(match["file"]), (int(match["line"]), int(match["column"]))
        if match["origin"]:
            origin = (file, *at) if file in own else origin
        elif match["kind"] == "note":
            if file in own and last is not None and not last.file:
                last = replace(last, file=file, line=at[0], column=at[1])
        else:
            if last is not None:
                yield last
            place = (file, *at) if file in own else (origin or ("", 0, 0))
            last, origin = Message(match["kind"], match["text"], *place), None
    if last is not None:
        yield last


def _gaps(messages: list[Message], candidate: Candidate) -> set[int]:
    """Indices of the errors that names in :func:`gap_names` explain.

    Such a name is missing, or the same line lacks one, or such a line would have declared what is missing.
    """
    lines = {name: text.splitlines() for name, text in candidate.files.items()}
    known, explained, places = gap_names(), set[int](), set[tuple[str, int]]()
    blamed = ""
    for index, message in enumerate(messages):
        if message.kind == "warning":
            continue
        if header_gap(message.text):
            explained.add(index)
            continue
        place = (message.file, message.line)
        follows = place in places or (message.missing and re.search(rf"\b{message.missing}\b", blamed))
        # with the last words clang gives up (-ferror-limit), which is no error of its own
        if message.missing in known or follows or (explained and "too many errors" in message.text):
            explained.add(index)
        if message.missing in known and message.file:
            places.add(place)
            blamed += lines[message.file][message.line - 1] + "\n" if message.line <= len(lines[message.file]) else ""
    return explained


def header_gap(text: str) -> str:
    """The header of the toolkit that a message says is missing; empty when it says no such thing."""
    name = missing_header(text)
    folders = _listed()["headers"]
    assert isinstance(folders, list)
    return name if any(name.startswith(f"{folder}/") for folder in folders) else ""


def missing_header(text: str) -> str:
    """The header that a message says is not there; empty when it says no such thing."""
    missing = _MISSING_HEADER.search(text)
    return (missing[1] or missing[2]) if missing else ""


def supplied_by(header: str) -> str:
    """Which option supplies a header that is neither the candidate's nor the toolkit's."""
    first, _, rest = header.lstrip("./").partition("/")
    what = f"the folder that holds {first}/" if rest else "the folder that holds it"
    return f"npukb judge … --include DIR supplies it, where DIR is {what}; an answer must bring it along."


def _diagnostic(message: Message, entry: str, candidate: Candidate, is_gap: bool) -> Diagnostic:
    place = (message.file, message.line, message.column)
    if message.kind == "warning":
        return Diagnostic(Severity.WARNING, COMPILE, _TOLD.sub("", message.text), *place)
    text, remedy = _reword(message, entry)
    # an assertion of twin/launch.h, which stands behind the candidate's text
    if not message.file and text.startswith("the kernel entry must take"):
        place = _entry_place(candidate, entry)
    if is_gap:
        if header := header_gap(message.text):
            text = f"{header} is a header of the toolkit, but the twin does not have it yet"
        if message.missing in gap_names():
            text = f"{message.missing} is Ascend C, but the twin does not support it yet"
            if message.missing in _communication():
                text += ": it runs one device, so nothing that several ranks exchange"
        return Diagnostic(Severity.ERROR, GAP, text, *place, remedy="Not the kernel's fault: use another executor.")
    if is_forbidden_name(message.text):
        return Diagnostic(Severity.ERROR, FORBIDDEN, _forbidden(message, candidate), *place)
    return Diagnostic(Severity.ERROR, COMPILE, text, *place, remedy=remedy)


def _forbidden(message: Message, candidate: Candidate) -> str:
    """Which name it is: the message itself does not say."""
    lines = candidate.files.get(message.file, "").splitlines()
    text = lines[message.line - 1] if 0 < message.line <= len(lines) else ""
    word = re.match(r"\w+", text[max(message.column - 1, 0) :])
    name = f"'{word[0]}'" if word else "a name used here"
    return f"{name} is not allowed in kernels: it evades their checks, or exists on no AI core"


def _reword(message: Message, entry: str) -> tuple[str, str]:
    """A message and its remedy in the words of the interface."""
    name, text = message.missing, message.text
    if name == entry and not message.file:
        remedy = f'define extern "C" __global__ __aicore__ void {entry}(...) at namespace scope'
        return f"the source defines no kernel entry named '{entry}'", remedy
    if header := missing_header(text):
        return f"{header} is not among the kernel's files, nor a header of the twin", supplied_by(header)
    remedy = "Use what the chip's own instructions offer."
    if name in foreign_names():
        return f"{text} ({name} is not available on this chip)", remedy
    if kind := foreign_type(text):
        return f"{kind} is an element type of other chips: {_OF_TYPE.sub('it has no such operation', text)}", remedy
    if name:
        near = _nearest(name)
        return text, f"Nearest names that exist: {', '.join(near)}." if near else ""
    return _types_in_words(_STATIC_ASSERT.sub("", text).strip('"')), ""


def _nearest(name: str) -> list[str]:
    """Names that exist and are like it, first those that differ in case only, which a comparison finds unlike."""
    known = sorted(supported_names())
    same = [other for other in known if other.casefold() == name.casefold()]
    return [
        *same,
        *(close_match for close_match in get_close_matches(name, known, n=3, cutoff=0.7) if close_match not in same),
    ][:3]


def _types_in_words(text: str) -> str:
    """The types column of an instruction's row in words: ``Into(I8, F16 | I16)`` is "I8 from F16 or I16"."""
    text = re.sub(r"\) \| Into\(", "), Into(", text)
    return _INTO.sub(lambda match: f"{match[1]} from {match[2]}".replace(" | ", " or "), text)


def _entry_place(candidate: Candidate, entry: str) -> tuple[str, int, int]:
    """Where the entry is defined."""
    for name, text in candidate.files.items():
        name_span = find_entry(text, entry)
        if name_span is not None:
            return (name, text.count("\n", 0, name_span[0]) + 1, name_span[0] - text.rfind("\n", 0, name_span[0]))
    return ("", 0, 0)


@cache
def _listed() -> Mapping[str, object]:
    return cast("Mapping[str, object]", packaged_table("npukb_twin", "unsupported_api.yaml"))


@cache
def gap_names() -> frozenset[str]:
    """Documented Ascend C of the modelled chips that the headers lack."""
    groups = _listed()["unsupported"]
    assert isinstance(groups, dict)
    return frozenset(name for group in groups.values() for name in group)


@cache
def _communication() -> frozenset[str]:
    groups = _listed()["unsupported"]
    assert isinstance(groups, dict)
    return frozenset(groups["communication"])


@cache
def foreign_names() -> frozenset[str]:
    """Documented Ascend C of other chips."""
    names = _listed()["other_chips"]
    assert isinstance(names, list)
    return frozenset(names)


def foreign_type(text: str) -> str:
    """The element type of other chips that ``text`` names, which may be a mangled name; empty for none."""
    types = _listed()["other_chips_types"]
    assert isinstance(types, list)
    return next((str(name) for name in types if name in text), "")


@cache
def supported_names() -> frozenset[str]:
    """Functions, types and constants that the headers offer to kernels."""
    names = {row.name for row in instructions()}
    folder = source_root() / "include" / "twin"
    unread = ("abi.h", "move_abi.h", "launch.h", "half_fallback.h", "instructions.def", "casts.def")
    internal = {folder / name for name in unread}
    for path in sorted(path for path in folder.rglob("*") if path.is_file() and path not in internal):
        whole = path.read_text(encoding="utf-8")
        for base in re.findall(r": public npukb_detail::(\w+)", whole):
            body = re.search(rf"^class {base} .*?^\}};", whole, re.MULTILINE | re.DOTALL)
            names.update(_DECLARED.findall(body[0]) if body else ())
        text = re.sub(r"namespace (npukb|npukb_detail) \{.*?\n\}  // namespace \1", "", whole, flags=re.DOTALL)
        names.update(_DECLARED.findall(text))
        names.update(re.findall(r"\b(?:class|struct|enum class|enum|using|typedef \w+) (\w+)\b", text))
        names.update(re.findall(r"\b[A-Z][A-Z0-9_]{3,}\b", text))
        names.update(re.findall(r"^NPUKB_[A-Z_]+\(([A-Z][a-z]\w+)[,)]", text, re.MULTILINE))
    return frozenset(name for name in names if _OFFERED.match(name) and "NPUKB" not in name)
