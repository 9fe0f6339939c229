"""How much a model is told: of the API beside its task (topics, for whom each is), and of its kernel between turns."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from npukernelbench.nouns.outcomes import Track
    from npukernelbench.nouns.task import Task

__all__ = ["Audience", "Hints", "Knowledge", "Topic"]


class Knowledge(str, Enum):
    """How much of the API and the rules of the hardware a prompt tells."""

    STYLE = "style"  # as much as the prompt style tells of itself
    NONE = "none"  # the task, its interface and the machine
    RULES = "rules"  # and the rules that most kernels meet
    API = "api"  # and a reference of what kernels of the task's class use
    FULL = "full"  # and every topic there is


class Hints(str, Enum):
    """How much a model is told about its kernel between two turns."""

    NONE = "none"  # that it is not right
    OUTCOME = "outcome"  # how it ended, in one sentence
    DIAGNOSTICS = "diagnostics"  # also compiler errors, broken rules with remedies and where wrong elements lie
    FULL = "full"  # also warnings, and where the time goes; a right kernel is asked to become faster


@dataclass(frozen=True, slots=True)
class Audience:
    """Tasks of one class: each field that names something must name what the task has. Goldens take no part."""

    core: frozenset[str] = frozenset()
    category: frozenset[str] = frozenset()
    dtype: frozenset[str] = frozenset()
    track: frozenset[str] = frozenset()

    def has(self, task: Task, track: Track) -> bool:
        """Whether a kernel for the task on that track is of the class."""
        # Of inputs and fixed outputs: outputs that follow an input add no type.
        dtypes = {dtype.value for item in task.inputs for dtype in item.dtypes}
        dtypes |= {item.dtype.value for item in task.outputs if item.dtype is not None}
        return (
            (not self.core or task.core.value in self.core)
            and (not self.category or task.category in self.category)
            and (not self.dtype or not self.dtype.isdisjoint(dtypes))
            and (not self.track or track.value in self.track)
        )


@dataclass(frozen=True, slots=True)
class Topic:
    """One part of the reference. ``lines`` are calls with their units, ``pitfalls`` sentences, ``idiom`` is C++; the
    topic is for any of ``audiences``, for all where there is none.
    """

    name: str
    title: str
    lines: tuple[str, ...] = ()
    pitfalls: tuple[str, ...] = ()
    idiom: str = ""
    audiences: tuple[Audience, ...] = ()

    def concerns(self, task: Task, track: Track) -> bool:
        """Whether kernels for the task on that track use what the topic is about."""
        return not self.audiences or any(audience.has(task, track) for audience in self.audiences)
