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
    from npukernelbench.nouns import Task
    from npukernelbench.plugins.registry import Registration
    from npukernelbench.tasks.select import Selected

__all__ = ["OURS", "Rules", "load_rules", "under_rules"]

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


def load_rules(registration: Registration) -> Rules:
    """The rules behind a registration; PluginError when it is something else."""
    rules = registration.instance()
    if not isinstance(rules, Rules):
        raise registration.broken("does not implement the protocol npukernelbench.tasks.rules.Rules")
    return rules


def under_rules(selected: Sequence[Selected], rules: Rules) -> tuple[Selected, ...]:
    """The same tasks and cases under a benchmark's rules. UsageError names tasks and cases that it does not have."""
    found = []
    for one in selected:
        task = rules.apply(one.task)
        known = {} if task is None else {case.id: case for case in task.cases}
        strange = [case.id for case in one.cases if case.id not in known]
        if task is None or strange:
            what = f"case {strange[0]} of task {one.task.name}" if task else f"task {one.task.name}"
            raise UsageError(
                f"{what} is not one of {rules.name}",
                field="--rules",
                remedy="leave it out of --tasks, or out of --samples",
            )
        found.append(replace(one, task=task, cases=tuple(known[case.id] for case in one.cases)))
    return tuple(found)
