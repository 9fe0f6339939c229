"""Scalar expressions in C++, on the device and on the host, and a writer that indents."""

from __future__ import annotations

import math
from collections.abc import Mapping

from npukb_tile import ir

__all__ = ["TYPES", "Writer", "literal", "render", "safe", "wrapped"]

TYPES = {ir.Kind.INT: "int64_t", ir.Kind.FLOAT: "float", ir.Kind.BOOL: "bool"}
_RESERVED = frozenset(
    [
        "alignas",
        "and",
        "asm",
        "auto",
        "bool",
        "break",
        "case",
        "catch",
        "char",
        "class",
        "const",
        "continue",
        "default",
        "delete",
        "do",
        "double",
        "else",
        "enum",
        "explicit",
        "export",
        "extern",
        "false",
        "float",
        "for",
        "friend",
        "goto",
        "if",
        "inline",
        "int",
        "long",
        "mutable",
        "namespace",
        "new",
        "not",
        "operator",
        "or",
        "private",
        "public",
        "register",
        "return",
        "short",
        "signed",
        "sizeof",
        "static",
        "struct",
        "switch",
        "template",
        "this",
        "throw",
        "true",
        "try",
        "typedef",
        "typename",
        "union",
        "unsigned",
        "using",
        "virtual",
        "void",
        "volatile",
        "while",
        "half",
        # Behind the keywords: names that the lowered class declares itself.
        "rows",
        "cols",
        "pitch",
        "count",
        "pipe",
        "tiling",
        "workspace",
        "copy",
        "copy2",
        "copy3",
    ]
)
# Larger numbers bind more tightly; `render` puts brackets around what binds less than its place asks for.
_LEVEL = {
    "or": 1,
    "and": 2,
    "==": 3,
    "!=": 3,
    "<": 4,
    "<=": 4,
    ">": 4,
    ">=": 4,
    "+": 5,
    "-": 5,
    "*": 6,
    "/": 6,
    "//": 6,
    "%": 6,
}
_SPELLING = {"//": "/", "and": "&&", "or": "||"}
_FUNCTIONS = {"min": "Least", "max": "Greatest", "ceil_div": "CeilDiv", "round_up": "RoundUp", "abs": "Magnitude"}

_OF_THE_CHIP = {"vector_cores": "VectorCores", "cube_cores": "CubeCores", "ub_bytes": "UnifiedBufferBytes"}


def safe(name: str) -> str:
    """A name that means nothing else in C++."""
    # A suffix rather than a prefix: names that begin with an underscore and a capital are the compiler's.
    return f"{name}_" if name in _RESERVED else name


def literal(value: int | float | bool, kind: ir.Kind) -> str:
    """A constant of a kind."""
    if kind is ir.Kind.BOOL:
        return "true" if value else "false"
    if kind is ir.Kind.INT:
        return str(int(value))
    # C++ has no literal for it: a lowered kernel brings a constant along.
    if math.isinf(value):
        return "INFINITE" if value > 0 else "-INFINITE"
    # repr() gives the shortest text that reads back as the same number.
    text = repr(float(value))
    return f"{text}f"


def render(node: ir.Expr, names: Mapping[str, str] | None = None, level: int = 0) -> str:
    """C++ of an expression. ``names`` says what names are called where that is not their own name."""
    known = names or {}
    if isinstance(node, ir.Num):
        return literal(node.value, node.kind)
    if isinstance(node, ir.Name):
        return known.get(node.name, safe(node.name))
    if isinstance(node, ir.Binary):
        own = _LEVEL[node.op]
        # One level higher on the right: a - (b - c) keeps its parentheses, (a - b) - c needs none.
        left, right = render(node.left, known, own), render(node.right, known, own + 1)
        text = f"{left} {_SPELLING.get(node.op, node.op)} {right}"
        return f"({text})" if own < level else text
    if isinstance(node, ir.Choice):
        text = f"{render(node.condition, known, 1)} ? {render(node.yes, known, 1)} : {render(node.no, known)}"
        return f"({text})" if level else text
    if isinstance(node, ir.TensorFact):
        return _fact(node, known)
    if isinstance(node, ir.HostValue):
        return f"{node.tensor}Values[{render(node.index, known)}]"
    if isinstance(node, ir.Item):
        return f"{node.attribute}Count" if node.index is None else f"{node.attribute}[{render(node.index, known)}]"
    if isinstance(node, ir.Known):
        return node.flag
    if isinstance(node, ir.Element):
        return f"{node.tensor}Global.GetValue({render(node.index, known)})"
    if isinstance(node, ir.ListFact):
        place = "" if node.index is None else f", {render(node.index, known)}"
        return f"{'ListCount' if node.index is None else 'ListSize'}({node.tensor}List{place})"
    if isinstance(node, ir.Peek):
        return f"{node.buffer}Buffer.Get<float>().GetValue({render(node.index, known)})"
    return _call(node, known, level)


def _call(node: ir.Call, known: Mapping[str, str], level: int) -> str:
    values = [render(argument, known) for argument in node.arguments]
    name = node.function
    if name == "neg":
        # 7 is above every operator, so that anything but a name or a call gets parentheses.
        text = f"-{render(node.arguments[0], known, 7)}"
        return f"({text})" if level > 4 else text
    if name == "not":
        return f"!{render(node.arguments[0], known, 7)}"
    if name in ("float", "int"):
        return f"static_cast<{'float' if name == 'float' else 'int64_t'}>({values[0]})"
    if name == "core":
        return "static_cast<int64_t>(GetBlockIdx())"
    if name in _OF_THE_CHIP:
        return f"{_OF_THE_CHIP[name]}(context)"
    if name == "sqrt":
        return f"sqrt({values[0]})"
    if name == "power":
        # In double, as Python computes it: single precision would be off in the last digits.
        return f"static_cast<float>(std::pow(static_cast<double>({values[0]}), static_cast<double>({values[1]})))"
    # Named explicitly: a literal and a 64-bit variable would leave C++ two types to choose from.
    typed = f"<{TYPES[node.kind]}>" if name in ("min", "max", "abs") else ""
    return f"{_FUNCTIONS[name]}{typed}({', '.join(values)})"


def _fact(node: ir.TensorFact, known: Mapping[str, str]) -> str:
    shape = f"{node.tensor}Shape"
    if node.fact == "size":
        return f"{shape}.GetShapeSize()"
    if node.fact == "rank":
        return f"static_cast<int64_t>({shape}.GetDimNum())"
    if node.fact == "itemsize":
        return f"{node.tensor}Bytes"
    if node.fact == "product":
        first = render(node.first, known) if node.first is not None else "0"
        last = render(node.last, known) if node.last is not None else f"static_cast<int64_t>({shape}.GetDimNum())"
        return f"Product({shape}, {first}, {last})"
    assert node.first is not None
    return f"Extent({shape}, {render(node.first, known)})"


class Writer:
    """Lines of C++, indented by what was opened."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._depth = 0

    def line(self, text: str = "") -> None:
        """One line."""
        self.lines.append("    " * self._depth + text if text else "")

    def open(self, text: str) -> None:
        """A line that opens a body."""
        self.line(f"{text} {{")
        self._depth += 1

    def close(self, text: str = "}") -> None:
        """The end of a body."""
        self._depth -= 1
        self.line(text)

    def between(self, text: str) -> None:
        """The end of a body and the beginning of the next one."""
        self._depth -= 1
        self.line(text)
        self._depth += 1

    def text(self) -> str:
        """The lines as one text."""
        return "\n".join(self.lines) + "\n"


def wrapped(text: str, width: int = 120) -> str:
    """A text whose long lines are broken after a comma or before an operator; comments at a space."""
    return "\n".join(part for line in text.split("\n") for part in _broken(line, width))


def _broken(line: str, width: int) -> list[str]:
    parts: list[str] = []
    indent = line[: len(line) - len(line.lstrip())]
    comment = line.lstrip().startswith("// ")
    while len(line) > width:
        breaks = (" ",) if comment else (", ", " = ", " + ", " * ", " && ", "; ")
        places = [line.rfind(mark, len(indent) + 4, width - len(mark)) + len(mark.rstrip()) for mark in breaks]
        place = max(places)
        # Nothing to break at: a long line is better than one that breaks a word.
        if place <= len(indent) + 4:
            break
        parts.append(line[:place].rstrip())
        line = indent + ("// " if comment else "    ") + line[place:].strip()
        if not comment and len(parts) == 1:
            indent += "    "
            line = indent + line.strip()
    return [*parts, line]
