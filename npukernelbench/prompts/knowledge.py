"""The reference that a prompt brings: topics chosen by the class of the task, within a budget of tokens.

Topics come from an executor that teaches (:class:`Teaching`), so that they are what the judge enforces. Which are shown
follows from what a task says about itself, never from its golden kernels.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from npukernelbench.errors import UsageError
from npukernelbench.nouns.knowledge import Knowledge, Topic

if TYPE_CHECKING:
    from npukernelbench.nouns import Task, Track
    from npukernelbench.plugins.registry import Registration

__all__ = ["API_BUDGET", "Reference", "Teaching", "count_tokens", "find_teacher", "make_reference"]

#: Tokens of the reference at ``--knowledge api``.
API_BUDGET = 2400
_TOKEN = re.compile(r"[A-Za-z]{1,5}|\d{1,3}|[^\sA-Za-z\d]{1,2}|\n\s*")


@runtime_checkable
class Teaching(Protocol):
    """An executor, or its class, that has topics on the API it offers. Optional."""

    def topics(self) -> Sequence[Topic]:
        """Every topic, what most kernels need first."""
        ...


def count_tokens(text: str) -> int:
    """How many tokens a text has, roughly: no model's tokenizer, so that it is the same everywhere.

    A piece of five letters, three digits or two marks is a token, and so is a line's end with its indent. For English
    and C++ that is above what byte-pair encodings of 100,000 and more entries need.
    """
    return len(_TOKEN.findall(text))


@dataclass(frozen=True, slots=True)
class Reference:
    """What can be told, and how much of it is."""

    level: Knowledge
    topics: tuple[Topic, ...] = ()
    budget: int = API_BUDGET

    def text(self, task: Task, track: Track) -> str:
        """The reference for one task; empty below ``--knowledge api``.

        Where the budget is short, idioms go first, those of topics for everybody before others, then pitfalls; calls
        stay.
        """
        # Everything and no budget: whoever asks for it wants all topics, whatever they cost.
        if self.level is Knowledge.FULL:
            return "\n".join(_page(topic) for topic in self.topics)
        if self.level is not Knowledge.API:
            return ""
        chosen = [topic for topic in self.topics if topic.concerns(task, track)]
        costs = sum(_cost(topic) for topic in chosen)
        general_first = sorted(chosen, key=lambda topic: bool(topic.audiences))
        bare: dict[str, int] = {topic.name: 0 for topic in chosen}
        for less in (1, 2):
            for topic in general_first:
                if costs <= self.budget:
                    break
                # By difference rather than again over all pages: a budget is met after few of many topics.
                costs -= _cost(topic, less - 1) - _cost(topic, less)
                bare[topic.name] = less
        return "\n".join(_page(topic, bare[topic.name]) for topic in chosen)


@lru_cache(maxsize=1024)
def _cost(topic: Topic, less: int = 0) -> int:
    """Tokens of a page: a run asks for those of the same few for every prompt."""
    return count_tokens(_page(topic, less))


def _page(topic: Topic, less: int = 0) -> str:
    """A topic's text; ``less`` of it leaves out the idiom, then the pitfalls as well."""
    lines = [f"### {topic.title}", "", *(f"- {line}" for line in topic.lines)]
    if less < 2:
        lines += [f"- Beware: {pitfall}" for pitfall in topic.pitfalls]
    if less < 1 and topic.idiom:
        lines += ["", *(f"    {line}".rstrip() for line in topic.idiom.rstrip().splitlines())]
    return "\n".join([*lines, ""])


def find_teacher(executors: Mapping[str, Registration], preferred: str) -> Teaching | None:
    """The executor of that name if it teaches, else the first that does: all of them run one language."""
    # Sorted, so that the prompt does not depend on the order of installation.
    names = [preferred, *sorted(name for name in executors if name != preferred)]
    targets: Iterable[object] = (executors[name].load() for name in names if name in executors)
    # A generator: plugins behind the first one that teaches are not imported.
    return next((target for target in targets if isinstance(target, Teaching)), None)


def make_reference(level: Knowledge, executors: Mapping[str, Registration], executor: str) -> Reference | None:
    """What a prompt of that level tells, None where its style decides.

    UsageError where no executor has what the level asks for.
    """
    if level is Knowledge.STYLE:
        return None
    if level in (Knowledge.NONE, Knowledge.RULES):
        return Reference(level)
    teacher = find_teacher(executors, executor)
    if teacher is None:
        raise UsageError(
            f"no executor here documents its API for --knowledge {level.value}",
            field="--knowledge",
            remedy="use --knowledge rules, or install a plugin whose executor does; see npukb ls executors",
        )
    return Reference(level, tuple(teacher.topics()))
