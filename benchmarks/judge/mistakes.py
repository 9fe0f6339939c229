"""Mistakes with the API and with flags, put into golden kernels: one per mutant, drawn from a seed."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

__all__ = ["KINDS", "Mistake", "mistakes"]

_CALL = re.compile(
    r"\b(Add|Adds|Sub|Mul|Muls|Div|Max|Maxs|Min|Mins|Exp|Ln|Sqrt|Rsqrt|Abs|Relu|Cast|Duplicate|DataCopy|DataCopyPad|"
    r"ReduceSum|ReduceMax|WholeReduceSum|BlockReduceSum|Select|Compare|Compares|CompareScalar|Reciprocal|And|Or|Not|"
    r"Gather|Brcb|Transpose|PipeBarrier|SetFlag|WaitFlag|AllocTensor|FreeTensor|EnQue|DeQue|InitBuffer|"
    r"SetGlobalBuffer|GetBlockIdx|GetValue|SetValue|Axpy|LeakyRelu|Sin|Cos|Tanh|Sigmoid|Power)(?=[<(])"
)
_EVENT = re.compile(r"(HardEvent::)(MTE2_V|V_MTE3|MTE3_V|V_MTE2|MTE3_MTE2|MTE2_MTE3|V_S|S_V|MTE2_S|S_MTE3|S_MTE2)\b")
_CONSTANT = re.compile(r"\b(RoundMode::CAST_|CMPMODE::|QuePosition::|TPosition::|SELMODE::)(\w+)")

Change = Callable[[str, random.Random], "str | None"]


class Mistake(NamedTuple):
    """A wrong kernel, and what was done to it."""

    kind: str
    source: str


def mistakes(source: str, chance: random.Random) -> list[Mistake]:
    """One kernel per kind of mistake that the source has a place for."""
    made = ((kind, change(source, chance)) for kind, change in KINDS.items())
    return [Mistake(kind, text) for kind, text in made if text is not None and text != source]


def _at(pattern: str | re.Pattern[str], edit: Callable[[re.Match[str], random.Random], str]) -> Change:
    """A change of one drawn match outside of comments."""
    # Compiled anew, since `^` means the beginning of a line in these patterns.
    compiled = re.compile(getattr(pattern, "pattern", pattern), re.MULTILINE)

    def change(source: str, chance: random.Random) -> str | None:
        matches = [match for match in compiled.finditer(source) if "//" not in _line_before(source, match.start())]
        if not matches:
            return None
        match = chance.choice(matches)
        return source[: match.start()] + edit(match, chance) + source[match.end() :]

    return change


def _line_before(source: str, at: int) -> str:
    return source[source.rfind("\n", 0, at) + 1 : at]


def _dropped(match: re.Match[str], chance: random.Random) -> str:
    del match, chance
    return ""


def _misspelt(match: re.Match[str], chance: random.Random) -> str:
    name = match[1]
    at = chance.randrange(1, len(name))
    return chance.choice((name[:at] + name[at + 1 :], name[:at] + name[at] + name[at:], name.lower(), f"{name}s"))


def _other_event(match: re.Match[str], chance: random.Random) -> str:
    others = ("MTE2_V", "V_MTE3", "MTE3_V", "V_MTE2", "MTE3_MTE2", "V_S", "S_V")
    return match[1] + chance.choice([other for other in others if other != match[2]])


KINDS: Mapping[str, Change] = {
    "misspelt name": _at(_CALL, _misspelt),
    "misspelt constant": _at(_CONSTANT, lambda match, _: f"{match[1]}{match[2]}_MODE"),
    "constant in lower case": _at(_CONSTANT, lambda match, _: match[1] + match[2].lower()),
    "never enqueued": _at(r"^[ \t]*[^\n;{}]*\.EnQue(?:<[^\n;()]*>)?\([^\n;]*\);[ \t]*\n", _dropped),
    "never freed": _at(r"^[ \t]*[^\n;{}]*\.FreeTensor\([^\n;]*\);[ \t]*\n", _dropped),
    "flag never set": _at(r"^[ \t]*SetFlag<[^\n]*;[ \t]*\n", _dropped),
    "flag never waited for": _at(r"^[ \t]*WaitFlag<[^\n]*;[ \t]*\n", _dropped),
    "flag of other pipes": _at(_EVENT, _other_event),
    "semicolon": _at(r";(?=[ \t]*\n)", _dropped),
    # The last two characters are the comma and the blank before the argument.
    "argument left out": _at(r"(?<=\w)(\((?:\w+(?:\[\w+\])?, ){2,4})\w+(?=\);)", lambda match, _: match[1][:-2]),
}
