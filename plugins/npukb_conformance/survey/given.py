"""The template arguments that a file's launches and explicit instantiations give a kernel.

A launch inside a host template passes that template's parameters on: what they are is in the calls and explicit
instantiations of the host template, in defaults, and in aliases. Nobody says what a parameter is that is deduced or
that another file gives; a type is half then, as scalar types of frameworks are, and a condition false.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from npukb_twin.compile.dialect import at_commas

__all__ = ["given_arguments"]

_LIST = r"(?P<arguments>[\w\s:,.()+*/?!-]*)"
_TEMPLATE = re.compile(r"\btemplate\s*<(?P<parameters>[^;{}()]*)>\s*(?:[^;{}()<>]|<[^;{}()]*>)*?\b(?P<name>\w+)\s*\(")
#: How deep templates call one another.
_DEEPEST = 4
_USUAL = {"typename": "half", "class": "half", "bool": "false"}
#: What frameworks call the types of a kernel.
_TYPES = {"Half": "half", "BFloat16": "bfloat16_t", "scalar_t": "half"}
_SCOPED = re.compile(r"(?:::)?(?:\w+::)*(?P<name>Half|BFloat16|scalar_t)\Z")


class _Parameter(NamedTuple):
    kind: str
    name: str
    default: str


def given_arguments(code: str, name: str) -> str:
    """The arguments of the kernel ``name``, "" where nothing in the file gives it any."""
    explicit = re.search(rf"\btemplate\s+__global__[^;{{}}]*?\b{name}\s*<{_LIST}>\s*\(", code)
    launch = re.search(rf"\b{name}\s*<{_LIST}>\s*<<<", code)
    # An instantiation names types outright; a launch may only pass parameters on.
    match = explicit or launch
    return ", ".join(_one(code, text, match.start(), 0) for text in _texts(match)) if match else ""


def _texts(use: re.Match[str]) -> list[str]:
    return [" ".join(text.split()) for text in at_commas(use["arguments"])]


def _one(code: str, text: str, at: int, depth: int) -> str:
    """An argument of a use at the place ``at``, with what it stands for."""
    if framework := _SCOPED.match(text):
        return _TYPES[framework["name"]]
    if not re.fullmatch(r"[A-Za-z_]\w*", text):
        return text
    # Only in front of the use, and the last of them, as scopes would have it.
    alias = [*re.finditer(rf"\busing\s+{text}\s*=\s*(?P<type>[\w:]+)\s*;", code[:at])]
    if alias and depth < _DEEPEST:
        return _one(code, alias[-1]["type"], alias[-1].start(), depth + 1)
    outer = _around(code, text, at)
    if outer is None or depth >= _DEEPEST:
        return text
    function, place, parameter = outer
    for use in _uses(code, function):
        texts = _texts(use)
        # A use that hands on a parameter of the same name tells nothing.
        if place < len(texts) and (value := _one(code, texts[place], use.start(), depth + 1)) != text:
            return value
    return parameter.default or _USUAL.get(parameter.kind, text)


def _around(code: str, name: str, at: int) -> tuple[str, int, _Parameter] | None:
    """The last template before a place that has the parameter ``name``: its function's name, and which it is."""
    # The nearest one before: names of parameters are used again by other templates.
    for match in reversed([*_TEMPLATE.finditer(code, 0, at)]):
        for place, parameter in enumerate(_parameters(match["parameters"])):
            if parameter.name == name:
                return match["name"], place, parameter
    return None


def _parameters(text: str) -> Iterator[_Parameter]:
    for one in at_commas(text, "<>"):
        declared, _, default = one.partition("=")
        words = declared.split()
        yield _Parameter(words[0] if words else "", words[-1] if len(words) > 1 else "", default.strip())


def _uses(code: str, function: str) -> Iterator[re.Match[str]]:
    """Explicit instantiations and calls of a template with arguments."""
    return re.finditer(rf"\b{function}\s*<{_LIST}>\s*\(", code)
