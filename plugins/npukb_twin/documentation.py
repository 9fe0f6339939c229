"""What the twin knows about the API and its rules, read from what drives it: its headers, its tables and its page.

Nothing is written down a second time. A signature is what compiles here; the rules are those of ``docs/twin.md``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

from npukb_twin.compile.borrowed_names import BORROWED
from npukb_twin.compile.build import source_root
from npukb_twin.compile.instructions import MoveRow, Row, instructions, moves, type_name
from npukb_twin.compile.messages import foreign_names, foreign_type, gap_names, supported_names
from npukernelbench.judge.documented import ApiEntry, ApiStatus, RuleEntry

__all__ = ["OPERANDS", "api_entry", "api_names", "api_status", "library_rows", "rule_entries"]

_HERE = Path(__file__).parent
#: The page of the documentation; an installed package brings its own copy.
_PAGES = (_HERE / "twin.md", _HERE.parents[1] / "docs" / "twin.md")
#: Internal headers, of which kernels use nothing by name.
_INTERNAL = frozenset(
    {"abi.h", "cube/abi.h", "move_abi.h", "library/abi.h", "matmul/abi.h", "launch.h", "half_fallback.h"}
)
_MOST_DECLARATIONS = 12
_MOST_LINES = 40
# braces are doubled: str.format puts the name in
_FUNCTION = (
    r"(?:^template <[^\n]*\n(?:[^\n;{{}}]*\n)?)?^[ \t]*NPUKB_(?:API|ONCE)\b[^;{{}}()]*?\b{name}\([^;{{]*?\)(?: const)?"
)
_TYPE = (
    r"(?:^template <[^\n]*\n)?^[ \t]*(?:struct|class|enum class|enum) {name}\b[^;{{]*"
    r"\{{(?P<body>[^\n]*(?=\}};\n)|.*?^)\}};"
)
_ALIAS = r"^[ \t]*using {name}\b[^;]*;"
_LIBRARY = re.compile(r"^NPUKB_LIBRARY_(UNARY|BINARY|OTHER)\((\w+), ([^,]*),", re.MULTILINE)
_RULE = re.compile(
    r"^\| (?P<rules>`[^|]*) \| (?P<here>(?:error|warning)[^|]*) \|[^|]*\| (?P<device>[^|]*) \|", re.MULTILINE
)
_MACRO_WORD = re.compile(r"\bNPUKB_(?:API|ONCE)\s+")
_ENUM = re.compile(r"\benum (?:class )?\w+(?: *: *\w+)? *\{(?P<body>[^}]*)\}")
#: What is the twin's own in a declaration: its names, its macros, and forms that only refuse.
_OWN = re.compile(r"npukb|NPUKB|::no\b")
#: The type of a parameter of few bits, as headers write it.
_NARROW = re.compile(r"npukb::of::(\w+::\w+)(?= )")
_NOT_HERE: Mapping[ApiStatus, str] = {
    ApiStatus.GAP: "Documented Ascend C that the twin does not support yet.",
    ApiStatus.OTHER_CHIP: "Documented for other chips, not for this one.",
}
#: Operands by kind of row, as the tables' opening comments say.
OPERANDS: Mapping[str, str] = {
    "UNARY": "dst, src", "BINARY": "dst, src0, src1", "SCALAR": "dst, src, scalar", "SHIFT": "dst, src, scalar",
    "SAME": "dst, src0, src1", "MIXED": "dst, src0, src1", "MIXED_UNSIGNED": "dst, src0, src1",
    "MIXED_SCALAR": "dst, src, scalar",
}  # fmt: skip


@cache
def api_names() -> tuple[str, ...]:
    """Every name that is known."""
    return tuple(sorted(supported_names() | gap_names() | foreign_names() | BORROWED))


def api_status(name: str) -> ApiStatus | None:
    """Whether a kernel may use a name here; None for one that is not Ascend C as far as the twin knows."""
    if name in gap_names():
        return ApiStatus.GAP
    if name in foreign_names() or foreign_type(name) == name:
        return ApiStatus.OTHER_CHIP
    return ApiStatus.OFFERED if name in supported_names() | BORROWED else None


@cache
def api_entry(name: str) -> ApiEntry | None:
    """What is known about a name; None for one that is not Ascend C as far as the twin knows."""
    status = api_status(name)
    if status is None:
        return None
    if status is not ApiStatus.OFFERED:
        return ApiEntry(name, status, notes=(_NOT_HERE[status],))
    header, declarations = _declared(name)
    return ApiEntry(name, ApiStatus.OFFERED, header, declarations, tuple(_notes(name)))


@cache
def rule_entries() -> Sequence[RuleEntry]:
    """The table of rules of the twin's page, one entry per rule."""
    page = next(path for path in _PAGES if path.exists()).read_text(encoding="utf-8")
    return tuple(
        RuleEntry(rule, row["here"].strip(), row["device"].strip().replace("`", ""))
        for row in _RULE.finditer(page)
        for rule in re.findall(r"`(\w+)`", row["rules"])
    )


@cache
def _headers() -> Mapping[str, str]:
    folder = source_root() / "include" / "twin"
    names = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.h"))
    plain = _narrow_types(folder / "narrow.h")
    texts = {name: (folder / name).read_text(encoding="utf-8") for name in names if name not in _INTERNAL}
    return {name: _NARROW.sub(lambda told: plain.get(told[1], "uint8_t"), text) for name, text in texts.items()}


def _narrow_types(header: Path) -> Mapping[str, str]:
    """What the types of narrow parameters are, by ``Structure::parameter``; those of the table are all of 8 bits."""
    text = header.read_text(encoding="utf-8")
    return {
        f"{owner}::{name}": kind
        for owner, body in re.findall(r"^namespace (\w+) \{\n(.*?)^\}", text, re.MULTILINE | re.DOTALL)
        for kind, names in re.findall(r"typedef (\w+) ([^;]+);", body)
        for name in re.split(r",\s*", names)
    }


def _declared(name: str) -> tuple[str, tuple[str, ...]]:
    """The header that declares a name, and how; empty where a table or a macro makes it."""
    word = re.escape(name)
    # A type first: its constructors have its name and are among its members.
    for form in (_TYPE, _FUNCTION, _ALIAS):
        pattern = re.compile(form.format(name=word), re.MULTILINE | re.DOTALL)
        for header, text in _headers().items():
            # overloads that differ only in what is not shown are said once
            told = dict.fromkeys(_tidy(match) for match in pattern.finditer(text))
            plain = [diagnostic for diagnostic in told if not _OWN.search(diagnostic)]
            if plain:
                return header, tuple(plain[:_MOST_DECLARATIONS])
    for header, text in _headers().items():
        for enum in _ENUM.finditer(text):
            if re.search(rf"\b{word}\b", enum["body"]):
                return header, (" ".join(enum[0].split()) + ";",)
    return "", ()


def _tidy(match: re.Match[str]) -> str:
    """A declaration as its user sees it: no bodies, none of the twin's own macros and members."""
    body = match.groupdict().get("body")
    if body is None:
        return _MACRO_WORD.sub("", " ".join(match[0].split()))
    head = re.sub(r" : public npukb_detail::[^{]*", " ", match[0][: match.start("body") - match.start()])
    if "\n" not in body:
        return " ".join(f"{head}{body}}};".split())
    body = re.sub(r",\n +", ", ", body)
    body = re.sub(r"union \{[^{}]*\}", lambda union: " ".join(union[0].split()), body)
    members = [line.rstrip() for line in body.splitlines() if "npukb" not in line.lower() or "NPUKB_API" in line]
    members = [
        _MACRO_WORD.sub("", line if "union {" in line else line.partition(" {")[0])
        for line in members
        if line.startswith("    ")
    ]
    # deeper lines are inside of a member
    members = [line for line in members if not line.startswith("     ") and line.strip() != "}"]
    members = [line for line in members if not _OWN.search(line)]
    return "\n".join([" ".join(head.split()), *members[:_MOST_LINES], "};"])


def _notes(name: str) -> Iterator[str]:
    """What the tables of instructions and of library functions say, and whether a page describes the name."""
    if name in BORROWED:
        yield "What undocumented.h offers is written from its use in public kernels: no page describes it."
    for row in instructions():
        if row.name == name:
            yield from _of_instruction(row)
    for move in moves():
        if move.name == name:
            yield from _of_move(move)
    for kind, function, types in library_rows():
        if function == name:
            operands = OPERANDS.get(kind)
            yield f"{name} is a library function" + (f" with the operands {operands}." if operands else ".")
            yield f"Element types: {', '.join(types)}."


@cache
def library_rows() -> tuple[tuple[str, str, tuple[str, ...]], ...]:
    """The table of library functions: kind, name, element types."""
    text = (source_root() / "include/twin/library.def").read_text("utf-8")
    return tuple(
        (kind, name, tuple(type_name(bits.strip()) for bits in types.split("|")))
        for kind, name, types in _LIBRARY.findall(text)
    )


def _of_instruction(row: Row) -> Iterator[str]:
    operands = OPERANDS.get(row.call)
    yield f"{row.name} is a vector instruction ({row.chapter})" + (f" on {operands}." if operands else ".")
    if operands:
        last = ", round" if row.call == "SHIFT" else ""
        yield (
            f"Forms: {row.name}({operands}, count{last}) and "
            f"{row.name}({operands}, mask, repeatTime, repeatParams{last}). "
            "The mask is a number of lanes or an array of two 64-bit words."
        )
    yield from _types_and_rates(row)
    if "Dst" in row.operands:
        yield "It reads dst before it writes it."


def _types_and_rates(row: Row | MoveRow) -> Iterator[str]:
    pairs = [(type_name(dst), type_name(src)) for dst, src in row.pairs]
    if pairs:
        yield f"Element types: {', '.join(dst if dst == src else f'{dst} from {src}' for dst, src in pairs)}."
    rates = [f"{rate} of {bits} bits" for rate, bits in ((row.rate16, 16), (row.rate32, 32)) if rate]
    if rates:
        yield f"Elements per cycle: {', '.join(rates)}."


def _of_move(row: MoveRow) -> Iterator[str]:
    operands = ", ".join(operand.role for operand in row.operands)
    yield f"{row.name} is an instruction ({row.chapter}) on {operands}."
    yield from _types_and_rates(row)
    for rule, says in (("Apart", "share no memory with"), ("Same", "share memory only from the same place on with")):
        shared = [operand.role for operand in row.operands if operand.sharing == rule]
        if shared:
            yield f"The result may {says} {', '.join(shared)}."
