"""Rules of a benchmark: what its tasks are judged by where that is not what our task files say.

Rules change tasks before a run and nothing else: limits and the values of public cases. They are part of the identity
of a run, and of the hash of every task, so that results under other rules are never compared.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from npukernelbench.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from npukernelbench.nouns import Task
    from npukernelbench.plugins.registry import Registration
    from npukernelbench.tasks.select import Selected

__all__ = ["OURS", "Asking", "Founded", "Rules", "Timing", "founded_rules", "load_rules", "under_rules"]

#: The name that stands for our task files.
OURS = "default"


@runtime_checkable
class Rules(Protocol):
    """One benchmark's rules. Equal tasks give equal tasks."""

    @property
    def name(self) -> str:
        """By which ``--rules`` names them."""
        ...

    @property
    def source(self) -> str:
        """Where they come from and what they leave out, in a sentence that stands beside results."""
        ...

    @property
    def weights(self) -> Mapping[int, float]:
        """What each level counts in the benchmark's score; empty where it has none."""
        ...

    def apply(self, task: Task) -> Task | None:
        """The task as the benchmark judges it, with a hash of its own; None for a task that is not the benchmark's."""
        ...


@runtime_checkable
class Founded(Protocol):
    """Rules, or a prompt style, that can be read from a checkout of the benchmark. Optional."""

    def with_checkout(self, root: Path) -> object:
        """The same as the checkout has it. UsageError when it is none."""
        ...


@runtime_checkable
class Timing(Protocol):
    """Rules that count kernels by how many times as fast as a baseline they are. Optional."""

    @property
    def baseline(self) -> str:
        """The baseline: ``eager``, ``golden`` or ``roofline``."""
        ...

    @property
    def thresholds(self) -> tuple[float, ...]:
        """How many times as fast."""
        ...


@runtime_checkable
class Asking(Protocol):
    """Rules that say how models are asked and how answers are read, too. Optional: only with these are results
    comparable with the benchmark's own.
    """

    @property
    def prompt_style(self) -> str:
        """The prompt style, by name."""
        ...

    @property
    def parser(self) -> str:
        """The parser, by name."""
        ...


def founded_rules(registration: Registration, checkout: Path | None) -> Rules:
    """The rules behind a registration, read from ``checkout`` where there is one. UsageError where they read none."""
    rules = load_rules(registration)
    if checkout is None:
        return rules
    if not isinstance(rules, Founded):
        raise UsageError(
            f"the rules of {rules.name} are not read from a checkout", field="--checkout", remedy="leave it out"
        )
    result = rules.with_checkout(checkout)
    if not isinstance(result, Rules):
        raise registration.broken("with_checkout does not give rules")
    return result


def load_rules(registration: Registration) -> Rules:
    """The rules behind a registration; PluginError when it is something else."""
    rules = registration.instance()
    if not isinstance(rules, Rules):
        raise registration.broken("does not implement the protocol npukernelbench.tasks.rules.Rules")
    return rules


def under_rules(selected: Sequence[Selected], rules: Rules) -> tuple[Selected, ...]:
    """The same tasks and cases under a benchmark's rules. UsageError names tasks and cases that it does not have."""
    ruled = []
    for selection in selected:
        task = rules.apply(selection.task)
        known = {} if task is None else {case.id: case for case in task.cases}
        strange = [case.id for case in selection.cases if case.id not in known]
        if task is None or strange:
            name = selection.task.name
            remedy = "leave it out of --tasks, or out of --samples"
            if known:
                there, first = ", ".join(known), min(known)
                remedy = f"{rules.name} has of it the cases {there}: name them, as in --tasks {name}:{first}"
            what = f"case {strange[0]} of task {name}" if task else f"task {name}"
            raise UsageError(f"{what} is not one of {rules.name}", field="--rules", remedy=remedy)
        ruled.append(replace(selection, task=task, cases=tuple(known[case.id] for case in selection.cases)))
    return tuple(ruled)
