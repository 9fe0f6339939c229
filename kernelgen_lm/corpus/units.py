"""From the blocks of a page to the functions it documents: signature, parameters, constraints, examples.

A unit is the section around a prototype. The headings name its parts, in English or Chinese; a section
without a prototype gives no unit, since nothing says what it is about.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

from kernelgen_lm.corpus.pages import Block, Form

__all__ = ["Argument", "Example", "Signature", "Unit", "prototypes", "units_of"]


class Part(str, Enum):
    """What a section of a unit says."""

    PURPOSE = "purpose"
    PROTOTYPE = "prototype"
    PARAMETERS = "parameters"
    RESULT = "result"
    CONSTRAINTS = "constraints"
    EXAMPLES = "examples"


_HEADINGS = (
    (Part.PROTOTYPE, r"(function )?(prototypes?|signatures?|declarations?|synopsis|syntax)|(函数|接口)原型"),
    (Part.PARAMETERS, r"(template )?(parameters?|arguments?)( description)?|(模板)?参数(说明|列表|描述)?"),
    (Part.RESULT, r"returns?( values?)?|返回值(说明)?"),
    (
        Part.CONSTRAINTS,
        r"(constraints?|restrictions?|limitations?|requirements?|notes?|remarks?)|约束(说明|条件|与限制)?|注意事项",
    ),
    (Part.EXAMPLES, r"(call(ing)? |usage |code )?examples?|usage|samples?|(调用|使用|代码)?(示例|样例)"),
    (Part.PURPOSE, r"(functions?|functionality|purpose|description|overview|summary)|(函数)?功能(说明|描述)?"),
)
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_DECLARATION = re.compile(
    r"(?P<result>[\w:<>,*&\s]+?[\s*&>])(?P<name>[A-Za-z_]\w*)\s*\((?P<rest>.*)\)\s*(?:const|noexcept)?\s*"
)
#: Longer statements are no prototypes.
_LONGEST = 2000
_NO_RESULT = re.compile(r"\b(return|new|throw|case|else|using|typedef|if|while|for|switch)\b")
_NAME_COLUMN = re.compile(r"(parameter|argument)s?( name)?|name|参数(名称?)?", re.IGNORECASE)
_TEXT_COLUMN = re.compile(r"descriptions?|meaning|remarks?|explanation|描述|说明|含义", re.IGNORECASE)
_LISTED = re.compile(
    r"(?P<name>[A-Za-z_]\w*)\s*(?:\((?:input|output|in|out|输入|输出)[^)]*\))?\s*(?:[:：]|[-–—])\s*(?P<text>.+)"
)


class Argument(NamedTuple):
    """One argument of a prototype; ``default`` is empty where it has to be given."""

    ctype: str
    name: str
    default: str = ""


class Signature(NamedTuple):
    """One prototype as it is written, and its arguments."""

    text: str
    name: str
    arguments: tuple[Argument, ...]

    @property
    def least(self) -> int:
        """How many arguments a call has to give."""
        return sum(not argument.default for argument in self.arguments)


@dataclass(frozen=True, slots=True)
class Example:
    """A piece of code and the line of the file where it begins."""

    text: str
    line: int

    @property
    def is_kernel(self) -> bool:
        """Whether it is a whole kernel: an entry with its body, and what it includes."""
        return "__global__" in self.text and "#include" in self.text and "{" in self.text


@dataclass(slots=True)
class Unit:
    """One documented function. ``parameters`` are those of the page by name, in its order; ``title`` is its heading."""

    name: str
    title: str
    line: int
    signatures: list[Signature] = field(default_factory=list)
    purpose: list[str] = field(default_factory=list)
    parameters: dict[str, str] = field(default_factory=dict)
    result: list[str] = field(default_factory=list)
    constraints: list[str] = field(default_factory=list)
    examples: list[Example] = field(default_factory=list)


def units_of(blocks: Sequence[Block]) -> list[Unit]:
    """The functions that a page documents, in its order; sections without a prototype are no units."""
    units: list[Unit] = []
    for section in _sections(blocks):
        unit = _unit(section)
        if unit is not None:
            units.append(unit)
    return units


def prototypes(code: str) -> Iterator[Signature]:
    """The function prototypes in a piece of code; definitions and calls are none."""
    text = _COMMENT.sub(" ", code)
    # A body makes it a definition, which is an example rather than a prototype.
    if "{" in text:
        return
    for statement in text.split(";"):
        signature = _signature(" ".join(statement.split()))
        if signature is not None:
            yield signature


def _signature(statement: str) -> Signature | None:
    match = _DECLARATION.fullmatch(_without_template(statement)) if len(statement) <= _LONGEST else None
    # An equals sign in front of the name makes it an assignment.
    if match is None or _NO_RESULT.search(match["result"]) or "=" in match["result"]:
        return None
    parts = [part.strip() for part in _split(match["rest"])]
    # In C f(void) takes no arguments.
    arguments = tuple(_argument(part) for part in parts if part and part != "void")
    if any(argument is None for argument in arguments):
        return None
    return Signature(statement + ";", match["name"], tuple(argument for argument in arguments if argument is not None))


def _without_template(text: str) -> str:
    """The declaration behind ``template <…>``."""
    # A loop, as templates of templates have two heads.
    while (head := re.match(r"template\s*<", text)) is not None:
        depth, at = 1, head.end()
        while at < len(text) and depth:
            depth += {"<": 1, ">": -1}.get(text[at], 0)
            at += 1
        text = text[at:].lstrip()
    return text


def _argument(text: str) -> Argument | None:
    """``const LocalTensor<T>& dst`` and the like; None for an expression."""
    declared, _, default = text.partition("=")
    match = re.fullmatch(r"(?P<type>.+?[\s*&>])(?P<name>[A-Za-z_]\w*)(?:\[\w*\])?", declared.strip())
    # Such signs, or a number in front of the name, make it an argument of a call.
    if match is None or re.search(r"[+/\"'.()]|\d\s*$", match["type"]):
        return None
    return Argument(match["type"].strip(), match["name"], default.strip())


def _split(text: str) -> Iterator[str]:
    """Parts between the commas that are in no brackets."""
    depth, part = 0, ""
    for letter in text:
        depth += {"<": 1, "(": 1, "{": 1, "[": 1, ">": -1, ")": -1, "}": -1, "]": -1}.get(letter, 0)
        if letter == "," and depth == 0:
            yield part
            part = ""
        else:
            part += letter
    yield part


def _part_of(heading: str) -> Part | None:
    words = heading.strip().rstrip(":：").lower()
    return next((part for part, pattern in _HEADINGS if re.fullmatch(pattern, words)), None)


def _sections(blocks: Sequence[Block]) -> Iterator[list[Block]]:
    """Runs of blocks under headings that name things; headings that name parts of a unit open none."""
    section: list[Block] = []
    for block in blocks:
        if block.form is Form.HEADING and _part_of(block.text) is None and section:
            yield section
            section = []
        section.append(block)
    if section:
        yield section


def _unit(section: Sequence[Block]) -> Unit | None:
    head = section[0] if section[0].form is Form.HEADING and _part_of(section[0].text) is None else None
    unit = Unit("", head.text if head else "", section[0].line)
    part = Part.PURPOSE
    for block in section[1 if head else 0 :]:
        if block.form is Form.HEADING:
            part = _part_of(block.text) or part
        else:
            _add(unit, part, block)
    if not unit.signatures:
        return None
    names = [signature.name for signature in unit.signatures]
    word = re.sub(r"\W.*", "", unit.title)
    # A page with several functions is about the one it is named for.
    unit.name = word if word in names else names[0]
    unit.title = unit.title or unit.name
    return unit


def _add(unit: Unit, part: Part, block: Block) -> None:
    """Put a block where it belongs."""
    if block.form is Form.CODE:
        # Example code may declare functions, too, which are not what the page is about.
        signatures = list(prototypes(block.text)) if part is not Part.EXAMPLES else []
        unit.signatures += signatures
        if not signatures:
            unit.examples.append(Example(block.text, block.line))
    elif part is Part.PARAMETERS:
        unit.parameters.update(_parameters(block))
    elif block.form is Form.TABLE:
        rows = [", ".join(cell for cell in row if cell) for row in block.rows[1:]]
        _texts(unit, part).extend(row for row in rows if row)
    elif block.text:
        _texts(unit, part).append(block.text)


def _texts(unit: Unit, part: Part) -> list[str]:
    return {Part.CONSTRAINTS: unit.constraints, Part.RESULT: unit.result}.get(part, unit.purpose)


def _parameters(block: Block) -> Iterator[tuple[str, str]]:
    """Names with what they mean, out of a table or a list."""
    if block.form is Form.TABLE and len(block.rows) > 1:
        header = block.rows[0]
        name = next((at for at, cell in enumerate(header) if _NAME_COLUMN.fullmatch(cell.strip())), 0)
        text = next((at for at, cell in enumerate(header) if _TEXT_COLUMN.fullmatch(cell.strip())), len(header) - 1)
        for row in block.rows[1:]:
            # Cells that span columns make short rows, and a table of one column explains nothing.
            if max(name, text) < len(row) and row[name] and row[text] and name != text:
                yield row[name], row[text]
    elif match := _LISTED.fullmatch(block.text):
        yield match["name"], match["text"]
