"""The twin's topics on the API: what ``knowledge.yaml`` says, with operands and types out of the instruction table."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

from npukb_twin.compile.instructions import instructions, type_name
from npukb_twin.documentation import OPERANDS, api_entry, library_rows
from npukernelbench.judge.documented import ApiEntry
from npukernelbench.nouns.knowledge import Audience, Topic

__all__ = ["entry", "topics"]

_PATH = Path(__file__).parent / "knowledge.yaml"
#: Operands of the shapes of reductions, as the table's opening comment names them.
_REDUCING: Mapping[str, str] = {
    "REPEATS": "dst, src, mask, repeatTime, dstRepStride, srcBlkStride, srcRepStride",
    "REPEATS_FIRST": "dst, src, repeatTime, mask, dstRepStride, srcBlkStride, srcRepStride",
    "REPEATS_ORDER": "dst, src, mask, repeatTime, dstRepStride, srcBlkStride, srcRepStride, ReduceOrder",
    "OWN": "dst, scalar, count",
}


@cache
def topics() -> tuple[Topic, ...]:
    """Every topic, what most kernels need first."""
    import yaml

    topic_list = yaml.safe_load(_PATH.read_text(encoding="utf-8"))
    return tuple(
        Topic(
            name=topic["name"],
            title=topic["title"],
            lines=(*_instruction_lines(topic.get("instructions", ())), *topic.get("calls", ())),
            pitfalls=tuple(topic.get("pitfalls", ())),
            idiom=topic.get("idiom", ""),
            audiences=tuple(
                Audience(**{field: frozenset(names) for field, names in when.items()}) for when in topic.get("when", ())
            ),
        )
        for topic in topic_list
    )


@cache
def entry(name: str) -> ApiEntry | None:
    """What headers, tables and topics say about a name; None for one that is not Ascend C as far as the twin knows."""
    documented = api_entry(name)
    return documented and replace(documented, usage=tuple(_usage(name)))


def _usage(name: str) -> Iterator[str]:
    """What the topics say about one name: the sentences that have it, and the pitfalls and the idiom beside them."""
    word = re.compile(rf"\b{re.escape(name)}\b")
    for topic in topics():
        lines = [line for line in topic.lines if word.search(line)]
        yield from lines
        if lines:
            yield from (f"Beware: {pitfall}" for pitfall in topic.pitfalls)
            if word.search(topic.idiom):
                yield topic.idiom.rstrip()


def _instruction_lines(names: Sequence[str]) -> Iterator[str]:
    """One line for all instructions that are called alike on the same types."""
    alike: dict[tuple[str, str], list[str]] = {}
    for name in names:
        alike.setdefault(_call(name), []).append(name)
    for (operands, types), those in alike.items():
        yield f"{', '.join(those)}({operands}): {types}."


def _call(name: str) -> tuple[str, str]:
    """Operands and element types of a row of either table."""
    for row in instructions():
        if row.name == name:
            operands = f"{OPERANDS[row.call]}, count" if row.call in OPERANDS else _REDUCING[row.call]
            pairs = [(type_name(dst), type_name(src)) for dst, src in row.pairs]
            mixed = any(dst != src for dst, src in pairs)
            named = [f"{dst} from {src}" if mixed else dst for dst, src in pairs]
            return operands, ("; " if mixed else ", ").join(named)
    kind, types = next((kind, types) for kind, function, types in library_rows() if function == name)
    return f"{OPERANDS[kind]}, count", ", ".join(types)
