"""Mistakes of the kinds that models make, put into kernels that are right, so that the judge can say what is wrong.

A mutation is a small change of the text, with the misunderstanding behind it in words. Whether it breaks anything is
the judge's to say: what still is right is dropped.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from random import Random
from typing import NamedTuple

__all__ = ["MUTATIONS", "Mutant", "mutants"]


class Mutant(NamedTuple):
    """A wrong kernel, the mutation's name, and why it is wrong and what is right."""

    source: str
    mutation: str
    misunderstanding: str


class _Mutation(NamedTuple):
    why: str
    change: Callable[[str, Random], str]


def _replace(pattern: str, text: str) -> Callable[[str, Random], str]:
    """One place of those that match."""

    def change(source: str, rng: Random) -> str:
        matches = list(re.finditer(pattern, source, re.MULTILINE))
        if not matches:
            return source
        match = rng.choice(matches)
        return source[: match.start()] + match.expand(text) + source[match.end() :]

    return change


_NAME = r"([A-Za-z_]\w*)"

#: Mutations by name.
MUTATIONS: Mapping[str, _Mutation] = {
    "no_free": _Mutation(
        "A tensor of a queue was never given back: every AllocTensor and DeQue needs its FreeTensor.",
        _replace(r"^.*\.FreeTensor\(.*\n", ""),
    ),
    "no_enqueue": _Mutation(
        "A tensor was not handed over: what is allocated must be enqueued before the next stage dequeues it.",
        _replace(r"^.*\.EnQue\(.*\n", ""),
    ),
    "whole_blocks_only": _Mutation(
        "DataCopy moves whole blocks of 32 bytes; a ragged length needs DataCopyPad with its length in bytes.",
        _replace(rf"DataCopyPad\({_NAME}, ([^,]+), DataCopyExtParams\{{1, .*$", r"DataCopy(\1, \2, TILE);"),
    ),
    "tail_forgotten": _Mutation(
        "The last tile is shorter than the others: its length is the smaller of what is left and the tile.",
        _replace(r"const uint32_t (\w+) = .* \? .* : (\w+);", r"const uint32_t \1 = \2;"),
    ),
    "everybody_everything": _Mutation(
        "Every core has its own part: offsets must depend on GetBlockIdx().",
        _replace(r"GetBlockIdx\(\) \* (\w+)", r"0"),
    ),
    "too_large": _Mutation(
        "The buffers together are larger than the unified buffer: take a smaller tile.",
        _replace(r"(constexpr uint32_t (?:TILE|kTile|AREA|kArea) = )([^;]+);", r"\1 64 * (\2);"),
    ),
    "too_small": _Mutation(
        "A buffer is shorter than what is written into it: its length is elements times the size of one, in bytes.",
        _replace(r"(InitBuffer\(.*) \* sizeof\(\w+\)\);", r"\1);"),
    ),
    "swapped": _Mutation(
        "The operands are in the wrong order: the first source comes right after the destination.",
        _replace(rf"(Sub|Div)\({_NAME}, ([\w\[\] *]+), ([\w\[\] *]+), ", r"\1(\2, \4, \3, "),
    ),
    "other_operation": _Mutation(
        "This is another operation than the formula asks for.",
        _replace(r"\b(Add|Max|Sqrt|Exp|Maxs)\(", r"\1_("),
    ),
    "invented": _Mutation(
        "There is no function of that name; the vector instruction on a tensor is named as in the documentation.",
        _replace(r"^(\s*)(Exp|Sqrt|Abs|Relu|Ln|Muls|Adds|Max|Min)\(", r"\1Vec\2("),
    ),
    "scalar_for_tensor": _Mutation(
        "A tensor times a number is Muls and plus a number Adds; Mul and Add take tensors only.",
        _replace(r"\b(Mul|Add|Max|Min)s\(", r"\1("),
    ),
    "no_work_tensor": _Mutation(
        "ReduceSum and its kin need a work tensor before the count.",
        _replace(r"(Reduce\w+\([^;]*), reduceWork,", r"\1,"),
    ),
    "wrong_cast": _Mutation(
        "Widening is exact and takes CAST_NONE, narrowing must say how it rounds.",
        _replace(r"RoundMode::CAST_RINT", "RoundMode::CAST_NONE"),
    ),
    "no_flag": _Mutation(
        "Nothing orders the two pipes: the second begins before the first is done.",
        _replace(r"^\s*WaitFlag<.*\n", ""),
    ),
    "wrong_constant": _Mutation(
        "A constant is not the one in the formula.",
        _replace(r"(\d)\.(\d+)f", r"\1.9\2f"),
    ),
    "count_in_bytes": _Mutation(
        "The count of a vector instruction is in elements, not in bytes.",
        _replace(r"^(\s*(?:Add|Sub|Mul|Muls|Adds|Exp|Sqrt|Abs|Max|Min|Div)\(.*, )(\w+)\);", r"\1\2 * sizeof(float));"),
    ),
}
_OPPOSITE = {"Add": "Sub", "Max": "Min", "Sqrt": "Abs", "Exp": "Abs", "Maxs": "Mins"}


def mutants(source: str, rng: Random, most: int) -> list[Mutant]:
    """Up to ``most`` wrong kernels, each with one mutation."""
    made: list[Mutant] = []
    for name in rng.sample(sorted(MUTATIONS), len(MUTATIONS)):
        changed = MUTATIONS[name].change(source, rng)
        changed = re.sub(r"\b(Add|Max|Sqrt|Exp|Maxs)_\(", lambda match: f"{_OPPOSITE[match[1]]}(", changed)
        if changed != source and len(made) < most:
            made.append(Mutant(changed, name, MUTATIONS[name].why))
    return made
