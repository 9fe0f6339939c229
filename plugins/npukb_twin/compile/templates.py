"""Kernels whose entry is a template: which arguments a tiling key stands for.

The declaration (``ASCENDC_TPL_ARGS_DECL``) is shared with the host side, where a tiling function turns the values it
chooses into a key: parameter by parameter, each in its bits, the first lowest. A type, a format or a bool is its
number, an unsigned value its place in the list of those that are declared. Here the key is taken apart again.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from npukb_twin.compile.dialect import SOURCE_SUFFIXES, at_commas, find_entry, masked

__all__ = ["NO_KEY", "TemplateParameter", "arguments_of", "selected_arguments", "template_of"]

#: The key of values that no combination has.
NO_KEY = (1 << 64) - 1
_DECLARATION = re.compile(r"\bASCENDC_TPL_ARGS_DECL\s*\(")
_PARAMETER = re.compile(r"\s*ASCENDC_TPL_(?P<kind>[A-Z_]+)_DECL\s*\((?P<inside>.*)\)\s*\Z", re.DOTALL)
_SELECTION = re.compile(r"\bASCENDC_TPL_ARGS_SEL\s*\(")
_SELECTED = re.compile(r"\s*ASCENDC_TPL_(?P<kind>[A-Z]+)_SEL\s*\((?P<inside>.*)\)\s*\Z", re.DOTALL)
#: A line of the preprocessor, with its continuations.
_DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n\\]|\\(?:\r?\n|.))*", re.MULTILINE)
_WIDTHS = {"BOOL": 1}


@dataclass(frozen=True, slots=True)
class TemplateParameter:
    """A parameter as declared. ``values`` are expressions, those of an unsigned parameter with ranges written out."""

    name: str
    kind: str
    bits: int
    values: tuple[str, ...]


def template_of(files: Mapping[str, str], entry: str) -> tuple[TemplateParameter, ...] | None:
    """The parameters of ``entry``; None where it is no template, or its parameters are declared nowhere."""
    sources = [masked(text) for name, text in files.items() if name.endswith(SOURCE_SUFFIXES)]
    if not any(_is_template(text, entry) for text in sources):
        return None
    for text in sources:
        declaration = _DECLARATION.search(text)
        # sources may bring a definition of the macro along
        if declaration is not None and not text[: declaration.start()].rstrip().endswith("#define"):
            _, *parameters = at_commas(_inside(text, declaration.end()))
            return tuple(_parameters(parameters))
    return None


def arguments_of(parameters: Iterable[TemplateParameter], key: int, types: Mapping[int, str]) -> str:
    """The template arguments that ``key`` stands for, as C++. ``types`` are the element types by their numbers.

    Raises ValueError, saying why, for a key that stands for none.
    """
    arguments = []
    for parameter in parameters:
        part = key & ((1 << parameter.bits) - 1)
        key >>= parameter.bits
        if parameter.kind == "UINT":
            if part >= len(parameter.values):
                raise ValueError(f"{parameter.name} has no value number {part}")
            arguments.append(parameter.values[part])
        elif parameter.kind == "DATATYPE":
            if part not in types:
                raise ValueError(f"{parameter.name} has no element type number {part}")
            arguments.append(types[part])
        else:
            arguments.append(str(part))
    if key:
        raise ValueError("it has more bits than the declared parameters")
    return ", ".join(arguments)


def selected_arguments(
    files: Mapping[str, str], parameters: Iterable[TemplateParameter], types: Mapping[str, str]
) -> Iterator[str]:
    """The first template arguments of every combination that the sources list (``ASCENDC_TPL_ARGS_SEL``), as C++.

    ``types`` are the C++ names of element types by the graph engine's (``DT_FLOAT``). Values that a combination leaves
    out are the declaration's first.
    """
    declared = tuple(parameters)
    for text in (_DIRECTIVE.sub("", masked(text)) for name, text in files.items() if name.endswith(SOURCE_SUFFIXES)):
        for match in _SELECTION.finditer(text):
            chosen: dict[str, str] = {}
            for part in at_commas(_inside(text, match.end())):
                if (selected := _SELECTED.match(part)) is not None:
                    name, *values = at_commas(selected["inside"])
                    values = list(_expanded(values)) if selected["kind"] == "UINT" else values
                    chosen |= {name: values[0]} if values else {}
            if chosen:
                firsts = {parameter.name: parameter.values[0] if parameter.values else "0" for parameter in declared}
                pairs = [(parameter.kind, chosen.get(parameter.name, firsts[parameter.name])) for parameter in declared]
                yield ", ".join(_argument(kind, value, types) for kind, value in pairs)


def _argument(kind: str, value: str, types: Mapping[str, str]) -> str:
    """A value as C++: element types by name where the parameter is a type."""
    return types.get(value.removeprefix("C_"), value) if kind == "DATATYPE" else value


def _is_template(code: str, entry: str) -> bool:
    """Whether one of the entry's declarations is a template: directives around its head may choose among them."""
    code = _DIRECTIVE.sub("", code)
    while (name_span := find_entry(code, entry)) is not None:
        before = code[: code.rfind("__global__", 0, name_span[0])]
        before = re.sub(r"(?:\b(?:inline|static|extern)\b|\s|\"C\")+\Z", "", before)
        if before.endswith(">") and re.search(r"\btemplate\s*<[^;{}()]*>\Z", before) is not None:
            return True
        code = code[name_span[1] :]
    return False


def _parameters(texts: Iterable[str]) -> Iterator[TemplateParameter]:
    for text in texts:
        match = _PARAMETER.match(text)
        if match is None:
            continue
        name, *values = at_commas(match["inside"])
        kind, bits = match["kind"], _WIDTHS.get(match["kind"], 8)
        if kind == "UINT":
            # an unsigned parameter says how many bits it has in front of its values
            width, *values = values
            digits = re.search(r"\d+", width)
            bits = int(digits[0]) if digits else bits
            values = list(_expanded(values))
        yield TemplateParameter(name, kind, bits, tuple(values))


def _expanded(values: list[str]) -> Iterator[str]:
    """The list behind a mode and, but for plain lists, a number of ranges and their ends."""
    if not values or values[0].endswith("UI_LIST"):
        yield from values[1:]
        return
    mode, count, *rest = values
    ranges = _number(count)
    for at in range(ranges):
        yield from map(str, range(_number(rest[2 * at]), _number(rest[2 * at + 1]) + 1))
    if mode.endswith("UI_MIX"):
        yield from rest[2 * ranges :]


def _number(text: str) -> int:
    # as C++ writes numbers: 0x10, 4u
    return int(text.rstrip("uUlL"), 0)


def _inside(text: str, start: int) -> str:
    """From behind an opening parenthesis to the one that closes it."""
    depth = 1
    for at in range(start, len(text)):
        depth += {"(": 1, ")": -1}.get(text[at], 0)
        if depth == 0:
            return text[start:at]
    return text[start:]
