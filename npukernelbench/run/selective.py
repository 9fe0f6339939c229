"""Tasks that an executor, a backend or a strategy cannot take: left out of a run before anything is spent on them,
and said so.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from npukernelbench.errors import UsageError
from npukernelbench.nouns import Task, Track

if TYPE_CHECKING:
    from npukernelbench.tasks import Selected

__all__ = ["Selective", "leave_out", "require_task"]


@runtime_checkable
class Selective(Protocol):
    """An executor, backend or strategy that not every task is for. Optional for all."""

    def refuses(self, task: Task, track: Track) -> str | None:
        """Why it cannot take the task, in a few words that are the same for every such task; None when it can."""
        ...


def leave_out(
    selected: Sequence[Selected], track: Track, parties: Iterable[object]
) -> tuple[tuple[Selected, ...], dict[str, list[str]]]:
    """What every party takes, and the names of the other tasks by reason. UsageError when nothing is left."""
    deciding = [party for party in parties if isinstance(party, Selective)]
    kept: list[Selected] = []
    left: dict[str, list[str]] = {}
    for selection in selected:
        reasons = (party.refuses(selection.task, track) for party in deciding)
        # The first party that refuses gives the reason; others are not asked.
        reason = next((reason for reason in reasons if reason is not None), None)
        if reason is None:
            kept.append(selection)
        else:
            left.setdefault(reason, []).append(selection.task.name)
    # An empty selection is another fault, which is said where tasks are selected.
    if selected and not kept:
        raise UsageError(f"none of the selected tasks can be run: {'; '.join(sorted(left))}", field="--tasks")
    return tuple(kept), left


def require_task(party: object, task: Task, track: Track) -> None:
    """UsageError when the party does not take the task."""
    reason = party.refuses(task, track) if isinstance(party, Selective) else None
    if reason is not None:
        raise UsageError(f"{task.name} cannot be judged here: {reason}", field="TASK")
