"""From the vendor compiler's dialect of C++ to what clang takes, without moving anything.

The vendor's compiler knows a few forms that are not C++: attributes in single brackets (``[aicore]``, ``[host,
aicore]``) and kernel launches from the host side (``entry<<<blocks, l2, stream>>>(…)``), which repositories leave in
kernel files. The first become a macro's name, the second blanks, so that every line and column stays where its author
wrote it. The function around a launch is the host's, which nobody calls here: its body is left out, directives
excepted. Comments, strings and character literals stay.

A header of the vendor's toolkit other than ``kernel_operator.h`` (``lib/math/…``, ``kernel_tiling/…``, ``impl/…``)
becomes that header, which has everything that the twin offers; those of matrix multiplication become
``lib/matmul_intf.h``.

The entry may be called as a function of the C library (``sqrt``): it gets another name of the same length, where it is
declared and launched and nowhere else, so that the kernel may still call the library's. A type that is called as a
function of the vendor's high-level library gets another name everywhere.

Everything else that distinguishes the dialect is done by headers: qualifiers and ``ASSERT`` are macros,
``g_coreType`` is a constant.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple

from npukb_twin.compile.library_names import own_types

__all__ = [
    "BRACKET_FORM",
    "SOURCE_SUFFIXES",
    "Translated",
    "at_commas",
    "declarator",
    "entry_named",
    "find_entry",
    "launches",
    "masked",
    "parameters_of",
    "translate",
    "translate_files",
    "translate_host",
]

#: Files that are translated; anything else is passed through.
SOURCE_SUFFIXES = (".cpp", ".cc", ".cxx", ".c", ".h", ".hpp", ".hh", ".hxx", ".inc", ".cce", ".asc")

_LAUNCHES = re.compile(r"<<<|\bACLRT_LAUNCH_KERNEL\b|\baclrtlaunch_\w+")

# Every alternative also ends at the end of the text: linear, whatever the text. Each begins with a character of its
# own: the engine then looks for those alone, which is several times as fast.
# Lines that go on may split them.
_J = r"(?:\\\r?\n)*"
_QUIET = re.compile(
    rf"""/{_J}\*.*?(?:\*{_J}/|\Z)                               # comment
    |  /{_J}/(?:[^\n\\]|\\(?:\r?\n|.)|\\\Z)*               # comment to the end of the line, with its continuations
    |  R(?:(?<![\w$]R)|(?<=(?<![\w$])[uUL]R)|(?<=(?<![\w$])u8R))
       "(?P<mark>[^()\\\s"]{{0,16}})\(.*?(?:\)(?P=mark)"|\Z)  # raw string
    |  "(?:[^"\\\n]|\\.)*"?                               # string
    |  '(?<![0-9a-zA-Z_]')(?:[^'\\\n]|\\.)*'?              # character, no digit separator
    """,
    re.VERBOSE | re.DOTALL,
)
# Line ends as compilers take them where C++ knows others: a carriage return alone, a backslash with blanks behind it.
_LONE_RETURN, _BLANKS_BEHIND = re.compile(r"\r(?!\n)"), re.compile(r"\\([ \t\v\f]+)(?=\r?\n)")
#: The bracket form of function attributes. An index into an array has its name or a bracket right before it.
_ATTRIBUTE = re.compile(r"\[[ \t]*(?:host[ \t]*,[ \t]*)?aicore(?:[ \t]*,[ \t]*host)?[ \t]*\]")
#: A kernel's own definition of the mark, which means what the API's does.
_OWN_MARK = re.compile(r"^[ \t]*#[ \t]*define[ \t]+__aicore__[ \t]+\[aicore\][ \t]*$", re.MULTILINE)
#: What stands in the place of that form, which is no shorter: the macro that marks functions for the device.
BRACKET_FORM = " __ac__ "
_WORD_BEFORE = re.compile(r"(?:inline|__\w+__|static|constexpr|explicit|virtual|friend|const|extern)\Z")
_LAUNCH = re.compile(r"<<<")
_LONGEST_LAUNCH = 2000
#: Headers that the toolkit has beside its main one.
_VENDOR_INCLUDE = re.compile(
    r"""^(?P<directive>[ \t]*\#[ \t]*include[ \t]*)
    [<"](?P<path>(?:(?:lib|impl|kernel_tiling|tikcfw|basic_api|adv_api|interface|utils)/[\w./-]+
    |kernel_(?!operator\.h)
    (?:operator|tensor|tpipe|tquebind|struct|type|utils|common|macros|log|scalar|event)\w*)\.h)[>"]""",
    re.MULTILINE | re.VERBOSE,
)
#: Those of objects that multiply matrices, which have a header of their own here, too.
_MATMUL_HEADER = re.compile(r"(?:^|/)(?:matmul|bmm)(?:_\w+)?(?:/\w+)?\.h$|/matmul/")
#: What may stand between ``__global__`` and the entry's name: words, and attributes with arguments.
# It looks back behind the word: a pattern that begins with plain letters is searched for much faster.
_DECLARATOR = r"__global__(?<!\w__global__)(?:[^;{}()]|\([^;{}()]*\)){0,400}?(?<![\w:])"


class Translated(NamedTuple):
    """Translated files, and what the entry is called in them; its old name where no declaration shows it plainly.

    ``types`` are the types that got another name, by that name.
    """

    files: Mapping[str, str]
    entry: str
    types: Mapping[str, str]


def translate_files(files: Mapping[str, str], entry: str) -> Translated:
    """Every source file translated, and the entry renamed in all of them."""
    own = {name.rpartition("/")[2] for name in files}
    sources = {name: text for name, text in files.items() if name.endswith(SOURCE_SUFFIXES)}
    other = entry
    if any(find_entry(text, entry) for text in sources.values()):
        other = _other_name(entry, sources.values())
        sources = {name: _rename(text, entry, other) for name, text in sources.items()}
    types: dict[str, str] = {}
    for name in own_types(map(masked, sources.values())):
        types[_other_name(name, sources.values())] = name
        sources = {file: _rename_type(text, name, next(reversed(types))) for file, text in sources.items()}
    return Translated({**files, **{name: translate(text, own) for name, text in sources.items()}}, other, types)


def find_entry(text: str, entry: str) -> tuple[int, int] | None:
    """Where the name of the kernel's ``entry`` stands in its first declaration; None when there is none."""
    if entry not in text or "__global__" not in text:
        return None
    match = re.search(rf"{_DECLARATOR}({re.escape(entry)})\s*\(", masked(text))
    return match.span(1) if match else None


def entry_named(texts: Iterable[str], kernel: str) -> str:
    """``kernel``, or the only entry whose name differs from it in ``_`` alone: an operator's definition may give its
    entry such a name (``opInterface.value``).
    """
    wanted = kernel.replace("_", "")
    sources = [masked(text) for text in texts if "__global__" in text]
    names = {match[1] for text in sources for match in re.finditer(rf"{_DECLARATOR}(\w+)\s*\(", text)}
    alike = [name for name in names if name.replace("_", "") == wanted]
    # Two such names would leave open which one is meant.
    return alike[0] if kernel not in names and len(alike) == 1 else kernel


def declarator(text: str, entry: str) -> str:
    """What stands between ``__global__`` and the name of the kernel's ``entry``; empty when ``text`` has no entry."""
    name_span = find_entry(text, entry)
    if name_span is None:
        return ""
    code = masked(text)[: name_span[0]]
    return code[code.rfind("__global__") :]


def _other_name(entry: str, texts: Iterable[str]) -> str:
    """A name as long as ``entry`` that occurs nowhere."""
    everything = "\n".join(texts)
    letters = "_0123456789abcdefghijklmnopqrstuvwxyz"
    if len(entry) > 1:
        for first in letters:
            for last in letters:
                other = f"{entry[:-2]}{first}{last}"
                if other not in everything and not other[0].isdigit():
                    return other
    return entry


def _rename(text: str, entry: str, other: str) -> str:
    """``other`` where the entry is declared or launched, which is how it is told from a library function."""
    if entry not in text:
        return text
    code = masked(text)
    name = re.escape(entry)
    found = [*re.finditer(rf"{_DECLARATOR}({name})\s*\(", code)]
    found += re.finditer(rf"({name})(?<![\w.:>]{name})\s*<<<", code) if "<<<" in code else ()
    # both names have the same length, so that places found before a replacement still hold
    for start, end in (match.span(1) for match in found):
        text = text[:start] + other + text[end:]
    return text


def _rename_type(text: str, name: str, other: str) -> str:
    """``other`` wherever the candidate's type ``name`` is meant, and not the library's function."""
    if name not in text:
        return text
    for match in re.finditer(rf"(?<![\w.>])(?<!AscendC::){re.escape(name)}\b", masked(text)):
        text = text[: match.start()] + other + text[match.end() :]
    return text


def translate(text: str, own: Collection[str] = ()) -> str:
    """The same text in C++; equal in line structure and, outside of ``#include``, in columns.

    ``own`` are the base names of the candidate's files.
    """
    text = _VENDOR_INCLUDE.sub(lambda match: _include(match, own), text)
    if "aicore" not in text and "<<<" not in text:
        return text
    text = _OWN_MARK.sub(lambda line: " " * len(line.group()), text)
    code = masked(text)
    # Letters one by one: what is replaced keeps its length, so that later places stay valid.
    pieces = list(text)
    attributes = tuple(_attributes(code))
    for start, end in (*attributes, *_launching(code)):
        for at in range(start, end):
            # a backslash may continue a directive on the next line
            if pieces[at] not in "\r\n\\":
                pieces[at] = " "
    for start, _ in attributes:
        pieces[start : start + len(BRACKET_FORM)] = BRACKET_FORM
    return "".join(pieces)


#: What is launched: a name with its scopes and, for a template, its arguments.
_LAUNCHED = re.compile(r"(?P<name>(?:\w+::)*\w+)\s*(?P<arguments><[^;{}]*>)?\s*\Z")


def translate_host(text: str, own: Collection[str] = ()) -> str:
    """``text`` as the host compiles it: launches become calls of an object that notes them, on the same lines."""
    if "aicore" not in text and "<<<" not in text:
        return text
    text = _VENDOR_INCLUDE.sub(lambda match: _include(match, own), text)
    code = masked(text)
    # from the end on: a replacement of another length moves everything behind it
    for start, end in reversed((*_launches(code),)):
        launched = _LAUNCHED.search(code, max(0, start - _LONGEST_LAUNCH), start)
        if launched is None:
            continue
        kernel = " ".join(text[launched.start() : start].split())
        call = f"::npukb_direct::Launch<&{kernel}>({text[start + 3 : end - 3]})"
        text = f"{text[: launched.start()]}{call}{text[end:]}"
    code = masked(text)
    for start, end in reversed((*_attributes(code),)):
        text = f"{text[:start]}{BRACKET_FORM}{text[end:]}"
    return text


def _include(match: re.Match[str], own: Collection[str]) -> str:
    if match["path"].rpartition("/")[2] in own:
        return match.group()
    header = "lib/matmul_intf.h" if _MATMUL_HEADER.search(match["path"]) else "kernel_operator.h"
    return f'{match["directive"]}"{header}"'


def at_commas(text: str, brackets: str = "()") -> list[str]:
    """What is between the commas that no pair of ``brackets`` surrounds; empty pieces are left out."""
    pieces, depth = [""], 0
    for letter in text:
        depth += (letter in brackets[::2]) - (letter in brackets[1::2])
        if letter == "," and depth == 0:
            pieces.append("")
        else:
            pieces[-1] += letter
    return [piece.strip() for piece in pieces if piece.strip()]


def parameters_of(text: str) -> list[str]:
    """The parameters of a function, from what is between its parentheses."""
    return [parameter for parameter in at_commas(text, "<>()[]") if parameter != "void"]


@lru_cache(maxsize=32)  # one judgement asks for the same few texts again and again
def masked(text: str) -> str:
    """``text`` with comments, strings and characters blanked out, line breaks kept. A line ends with a line feed, and
    goes on behind a backslash right before it, however the text says so.
    """
    # Blanks move in front of the backslash, so that the text keeps its length and columns.
    text = _BLANKS_BEHIND.sub(r"\1\\", _LONE_RETURN.sub("\n", text))
    return _QUIET.sub(lambda quiet: re.sub(r"[^\r\n]", " ", quiet.group()), text)


def launches(text: str) -> bool:
    """Whether host code launches a kernel itself, outside of comments and strings."""
    return _LAUNCHES.search(text) is not None and _LAUNCHES.search(masked(text)) is not None


def _attributes(code: str) -> Iterator[tuple[int, int]]:
    last = 0  # where the one before ends: attributes may follow each other
    for match in _ATTRIBUTE.finditer(code):
        start = match.start()
        before = code[start - 1 : start] if start > last else ""
        if before in (")", "]"):
            continue  # an index
        if before == "_" or before.isalnum():
            line = code.rfind("\n", 0, start) + 1
            if not _WORD_BEFORE.search(code[line:start]):
                continue
        last = match.end()
        yield match.span()


def _launching(code: str) -> Iterator[tuple[int, int]]:
    """The bodies of functions that launch something: code of the host, which nobody calls here."""
    launches = [start for start, _ in _launches(code)]
    depth: list[tuple[int, bool]] = []  # where a brace opened, and whether it opened a function
    body: list[tuple[int, int]] = []
    for at, letter in enumerate(code) if launches else ():
        if letter == "{":
            inside = bool(depth) and depth[-1][1]
            # a function's brace follows the bracket of its parameters; those of if and for lie inside of one
            depth.append((at, inside or code[max(0, at - 99) : at].rstrip().endswith(")")))
        elif letter == "}" and depth:
            start, function = depth.pop()
            if function and not (depth and depth[-1][1]):
                body.append((start + 1, at))
    covered = [span for span in body if any(span[0] <= launch < span[1] for launch in launches)]
    for start, end in covered:
        for line in re.finditer(r"^(?!\s*#).+", code[start:end], re.MULTILINE):
            yield start + line.start(), start + line.end()
    for start, end in _launches(code):
        if not any(span[0] <= start < span[1] for span in covered):
            yield start, end


def _launches(code: str) -> Iterator[tuple[int, int]]:
    """Spans from ``<<<`` to ``>>>`` where an argument list follows."""
    for match in _LAUNCH.finditer(code):
        # Bounded: a shift operator without its counterpart must not search the rest of a large file.
        end = code.find(">>>", match.end(), match.end() + _LONGEST_LAUNCH)
        inside = code[match.end() : end]
        if end < 0 or ";" in inside or inside.count("(") != inside.count(")"):
            continue
        if code[end + 3 :].lstrip()[:1] == "(":
            yield match.start(), end + 3
