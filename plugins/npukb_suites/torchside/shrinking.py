"""Smaller sizes for a file: halved, one after the other, until a call fits, each step tried on the ``meta`` device."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

__all__ = ["Budget", "ragged", "shrunk"]

_Measure = Callable[[Mapping[str, int]], "Any"]


class Budget(NamedTuple):
    """What a call may cost."""

    bytes: float
    elements: float = float("inf")
    work: float = float("inf")

    def cost(self, call: Any) -> float:
        """How many times too large a call is."""
        return float(max(call.reference_bytes / self.bytes, call.elements / self.elements, call.work / self.work))


def shrunk(
    sizes: Mapping[str, int], budget: Budget, measure: _Measure, *, least: int = 2
) -> tuple[dict[str, int], Any] | None:
    """The nearest smaller sizes within the budget, with the call that they make, or the smallest that there are; None
    where the file does not work at all.

    Sizes of a batch go first. ``measure`` gives a call, or None where the file does not work with those sizes.
    """
    current, call = dict(sizes), measure(sizes)
    stuck: set[str] = set()
    while call is not None and budget.cost(call) > 1.0:
        smaller = None
        # A batch is the size that changes least of what an operator does.
        for name in sorted(current, key=lambda axis: (not _is_batch(axis), -current[axis])):
            if name in stuck:
                continue
            trial = _smaller(current, (name,), budget.cost(call), least)
            made = measure(trial) if trial else None
            if made is None:
                # What is equal may have to stay equal.
                alike = tuple(axis for axis in current if current[axis] == current[name])
                trial = _smaller(current, alike, budget.cost(call), least) if len(alike) > 1 else None
                made = measure(trial) if trial else None
            # A size that saves nothing, such as one of a weight that is computed away, is not tried again.
            if made is None or trial is None or budget.cost(made) >= budget.cost(call):
                stuck.add(name)
                continue
            smaller = trial, made
            break
        if smaller is None:
            break
        current, call = smaller
    return None if call is None else (current, call)


def ragged(sizes: Mapping[str, int], call: Any, budget: Budget, measure: _Measure) -> tuple[dict[str, int], Any]:
    """The same sizes, each less one where the file works with that: kernels have to do with tails."""
    current = dict(sizes)
    for name in current:
        trial = {**current, name: current[name] - 1}
        made = measure(trial) if current[name] > 2 else None
        if made is not None and budget.cost(made) <= 1.0:
            current, call = trial, made
    return current, call


def _smaller(sizes: Mapping[str, int], names: tuple[str, ...], excess: float, least: int) -> dict[str, int] | None:
    value = sizes[names[0]]
    # Far from the goal the steps are larger.
    smaller = value // (8 if excess > 64 and value >= 64 * least else 2)
    return {**sizes, **dict.fromkeys(names, smaller)} if smaller >= least else None


def _is_batch(name: str) -> bool:
    return "batch" in name.lower()
