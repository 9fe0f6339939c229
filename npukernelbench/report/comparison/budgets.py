"""What agents, tools and searches of several runs had reached when each had spent as much as the others.

The budget of a measure is what the run spent that spent least: beyond it some run has nothing to compare.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass

from npukernelbench.nouns.results import Effort, EffortRow
from npukernelbench.report.table import Column, Table

__all__ = ["AtBudget", "at_equal_budgets", "budget_table"]

#: Fields of a row that are spent, as people call them.
_MEASURES = {"calls": "judged kernels", "tokens": "tokens", "cost": "money", "seconds": "seconds"}
_NOTE = (
    "Where each run stood when its conversations had spent as much as those of the run that spent least: the mean over "
    "conversations. Right is right on public cases; speed-up is the first right kernel's time over the best one's."
)


@dataclass(frozen=True, slots=True)
class AtBudget:
    """One measure. ``reached`` is by run; None where even its first judged kernel took more."""

    measure: str
    budget: float
    reached: tuple[EffortRow | None, ...]


def at_equal_budgets(efforts: Sequence[Effort | None], currencies: Set[str] = frozenset()) -> tuple[AtBudget, ...]:
    """Every measure that is known of all runs; none unless all are of agents, with tools, or searches. ``currencies``
    are those of the runs' costs.
    """
    rows = [effort.after for effort in efforts if effort is not None and effort.after]
    # One run without steps would leave an empty column beside numbers that look comparable.
    if len(rows) < len(efforts) or not rows:
        return ()
    # Amounts of several currencies cannot be compared: 2 CNY are not twice as much as 1 USD.
    fields = [field for field in _MEASURES if field != "cost" or len(currencies) <= 1]
    return tuple(_measures(rows, fields))


def budget_table(found: Sequence[AtBudget], names: Sequence[str]) -> Table:
    """A row per measure; per run what it had reached."""
    columns = [Column("spent"), Column("each", numeric=True)]
    columns += [Column(f"{name} {what}", numeric=True) for name in names for what in ("right", "speed-up")]
    rows = tuple(
        (level.measure, f"{level.budget:.4g}", *(cell for row in level.reached for cell in _cells(row)))
        for level in found
    )
    return Table("At equal budgets", tuple(columns), rows, _NOTE)


def _measures(runs: Sequence[Sequence[EffortRow]], fields: Sequence[str]) -> Iterator[AtBudget]:
    for field in fields:
        # A price or a clock may be missing in some rows of a run: such rows cannot be placed on this measure.
        known = [[row for row in rows if getattr(row, field) is not None] for rows in runs]
        if all(known):
            # Rows stand in the order of what was spent.
            budget = min(getattr(rows[-1], field) for rows in known)
            yield AtBudget(_MEASURES[field], budget, tuple(_last(rows, field, budget) for rows in known))


def _last(rows: Sequence[EffortRow], field: str, budget: float) -> EffortRow | None:
    within = [row for row in rows if getattr(row, field) <= budget]
    return within[-1] if within else None


def _cells(row: EffortRow | None) -> tuple[str, str]:
    if row is None:
        return "–", "–"
    return f"{row.solved:.1%}", "–" if row.speedup is None else f"{row.speedup:.2f}"
