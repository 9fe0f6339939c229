"""A comparison for people and for programs: tables, sentences that say what they mean, and one JSON object."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from string import ascii_uppercase

from npukernelbench.errors import UsageError
from npukernelbench.nouns.codec import to_json
from npukernelbench.report.comparison.budgets import AtBudget, at_equal_budgets, budget_table
from npukernelbench.report.comparison.paired import Changed, Difference, Pair, compare_runs, on_shared_tasks
from npukernelbench.report.comparison.rates import CORRECT
from npukernelbench.report.comparison.records import RunRecord, read_record, timing_of
from npukernelbench.report.comparison.speeds import Entry, Speeds
from npukernelbench.report.comparison.times import Side, compare, comparison_json, in_common, read_side
from npukernelbench.report.finding import only_run
from npukernelbench.report.links import PAGE_NAME, sample_link
from npukernelbench.report.table import Column, Table
from npukernelbench.report.words import count
from npukernelbench.store import read_run

__all__ = ["Comparison", "compare_paths"]

#: Below this many tasks that changed sides no exact test of 5 % can be significant: 2 / 2^5 is 6 %.
_LEAST_CHANGED = 6
_ALPHA = 0.05


@dataclass(frozen=True, slots=True)
class Comparison:
    """Success rates of runs, times of the same kernels, or both. ``refusal`` says why there are no success rates,
    ``budgets`` what iterating runs had reached when they had spent the same.
    """

    pairs: tuple[Pair, ...] = ()
    times: tuple[Side, Side] | None = None
    refusal: str = ""
    budgets: tuple[AtBudget, ...] = ()

    @property
    def parts(self) -> tuple[Table | Speeds, ...]:
        """Everything, for a page: the tables, and how fast the runs' kernels are."""
        return (*self.tables, *_speeds(self.pairs))

    @property
    def tables(self) -> tuple[Table, ...]:
        """Everything, for a terminal."""
        tables = [table for index, pair in enumerate(self.pairs) for table in _of_pair(pair, *_names(index))]
        if self.pairs:
            tables.insert(0, _legend(self.pairs))
        if self.budgets:
            tables.append(budget_table(self.budgets, ascii_uppercase[: len(self.pairs) + 1]))
        if self.times:
            times = compare(*self.times)
            note = f"Success rates are not compared: {self.refusal}. {times.note}" if self.refusal else times.note
            tables.append(Table(times.title, times.columns, times.rows, note))
        return tuple(tables)

    def as_json(self) -> dict[str, object]:
        """Keys: ``runs``, ``comparisons`` with the first run, ``budgets`` with a row of ``effort`` per run, ``times``
        (null without kernels in common). Two profiles are ``first``, ``second`` and ``pairs``.
        """
        if self.times and not self.pairs and not self.refusal:
            return comparison_json(*self.times)
        records = [self.pairs[0].first, *(pair.second for pair in self.pairs)] if self.pairs else []
        return {
            "runs": [_run_json(record) for record in records],
            "comparisons": [_pair_json(pair, *_names(index)) for index, pair in enumerate(self.pairs)],
            "budgets": [to_json(budget) for budget in self.budgets],
            "times": comparison_json(*self.times) if self.times else None,
            "refusal": self.refusal or None,
        }


def compare_paths(paths: Sequence[Path], *, shared_tasks: bool = False) -> Comparison:
    """Folders of runs, or two files with profiles, side by side. UsageError where they cannot be compared."""
    if len(paths) < 2:
        raise UsageError("there is nothing to compare with", remedy="name two runs or more, or two profiles")
    missing = [path for path in paths if not path.exists()]
    if missing:
        raise UsageError(f"there is no {missing[0]}", remedy="name folders of runs, or two profiles")
    if not all(path.is_dir() for path in paths):
        if len(paths) > 2:
            raise UsageError("more than two can be compared only where all are folders of runs")
        sides = read_side(paths[0]), read_side(paths[1])
        # For its error alone: a single profile and a run have nothing in common.
        in_common(*sides)
        return Comparison(times=sides)
    # A letter stands for each run.
    if len(paths) > len(ascii_uppercase):
        raise UsageError(f"at most {len(ascii_uppercase)} runs are compared", remedy="npukb leaderboard takes more")
    # Once for all parts: a folder that holds a single run stands for it.
    runs = [only_run(path) for path in paths]
    records = [read_record(run) for run in runs]
    # The table of times has a ratio, which needs exactly two sides.
    times = _times(runs) if len(runs) == 2 else None
    try:
        pairs = compare_runs(on_shared_tasks(records) if shared_tasks else records)
        # Results have one curve of effort for all tasks of a run, none for the shared ones.
        return Comparison(pairs, times, budgets=() if shared_tasks else _budgets(runs))
    except UsageError as refusal:
        if times is None:
            raise
        # Times of the same kernel may be compared across rules and tiers, which success rates may not.
        return Comparison(times=times, refusal=refusal.message)


def _budgets(runs: Sequence[Path]) -> tuple[AtBudget, ...]:
    """What the runs had reached when they had spent the same; nothing unless all have ended."""
    results = [read_run(run).results for run in runs]
    currencies = {result.spent.cost.currency for result in results if result and result.spent.cost}
    return at_equal_budgets([result.effort if result else None for result in results], currencies)


def _times(runs: Sequence[Path]) -> tuple[Side, Side] | None:
    """Times of the kernels that two runs have in common; None where they have none."""
    try:
        sides = read_side(runs[0]), read_side(runs[1])
        in_common(*sides)
    except UsageError:
        return None
    return sides


def _names(index: int) -> tuple[str, str]:
    return ascii_uppercase[0], ascii_uppercase[index + 1]


def _legend(pairs: Sequence[Pair]) -> Table:
    records = [pairs[0].first, *(pair.second for pair in pairs)]
    rows = tuple(
        (
            letter,
            record.model,
            str(record.counted),
            str(record.uncounted),
            str(record.folder),
        )
        for letter, record in zip(ascii_uppercase, records, strict=False)
    )
    columns = (
        Column("run"),
        Column("model"),
        Column("counted", numeric=True),
        Column("uncounted", numeric=True),
        Column("folder"),
    )
    note = f"Tier {records[0].tier}, {count(len(records[0].tasks), 'task')}, track {records[0].track}."
    if any(record.uncounted for record in records):
        note += " Uncounted samples are missing or say nothing about the model."
    return Table("Runs", columns, rows, note)


def _speeds(pairs: Sequence[Pair]) -> Iterator[Speeds]:
    """The runs by letter; none where they were timed by different time models."""
    # Predictions of different time models differ for the same kernel, so that curves would show the models.
    if not pairs or any(timing_of(pair.second) != timing_of(pair.first) for pair in pairs):
        return
    records = [pairs[0].first, *(pair.second for pair in pairs)]
    named = zip(ascii_uppercase, records, strict=False)
    yield Speeds(
        "All runs", tuple(Entry(f"{letter}: {record.model}", record, record.folder) for letter, record in named)
    )


def _of_pair(pair: Pair, first: str, second: str) -> Iterator[Table]:
    # Rates that are 0 in both runs say nothing; the sentences below the table say that they were left out.
    shown = [difference for difference in pair.differences if difference.first or difference.second]
    # With two runs Holm's correction changes nothing, and the column would repeat the one before it.
    several = any(difference.holm_p != difference.p for difference in shown)
    rows = tuple(
        (
            difference.measure,
            f"{difference.first:.3f}",
            f"{difference.second:.3f}",
            f"{difference.value:+.3f} [{difference.low:+.2f}, {difference.high:+.2f}]",
            _p(difference.p),
            *((_p(difference.holm_p),) if several else ()),
        )
        for difference in shown
    )
    columns = (
        Column("rate"),
        Column(first, numeric=True),
        Column(second, numeric=True),
        Column(f"{second} − {first}", numeric=True),
        Column("p", numeric=True),
        *((Column("p of all", numeric=True),) if several else ()),
    )
    yield Table(f"{second} against {first}", columns, rows, " ".join(sentences(pair, first, second)))
    if pair.changed:
        yield _changed_table(pair, first, second)


def sentences(pair: Pair, first: str, second: str) -> Iterator[str]:
    """What the numbers say, what they could have shown, what was left out, what else differs."""
    # The rate of right answers decides the sentence; every other rate is only shown.
    main = next((difference for difference in pair.differences if difference.measure == CORRECT.name), None)
    if main is None:
        yield "No problem has a sample of both runs that says something about the model."
        return
    yield _verdict(main, first, second)
    yield _power(main)
    if len(pair.differences) > sum(bool(difference.first or difference.second) for difference in pair.differences):
        yield "Rates that are 0 in both runs are not shown."
    yield from pair.notes
    if pair.left_out:
        yield f"{count(len(pair.left_out), 'problem')} without a valid sample in one of the runs left out."
    if pair.settings:
        yield f"The runs differ in {'; '.join(pair.settings)}."


def _verdict(main: Difference, first: str, second: str) -> str:
    test = "exact test" if main.exact else "test with drawn signs"
    if main.holm_p >= _ALPHA:
        return f"No difference in correct@1 is shown ({test}, p {_p(main.holm_p)})."
    better, worse = (second, first) if main.value > 0 else (first, second)
    return f"{better} is right more often than {worse} ({test} over tasks, p {_p(main.holm_p)})."


def _power(main: Difference) -> str:
    if main.tasks < _LEAST_CHANGED:
        return f"{count(main.tasks, 'task')} cannot show any: at least {_LEAST_CHANGED} must change sides."
    if main.detectable is None:
        return (
            f"With {count(main.tasks, 'task')} at least {_LEAST_CHANGED} must change sides, all in one direction, "
            "before a difference can be shown."
        )
    tasks = count(main.tasks, "task")
    text = f"{tasks} like these would show a true difference of {main.detectable:.2f} in 4 of 5 comparisons"
    # The detectable difference goes with one over the root of the number of tasks. Differences that are shown as 0.00
    # would need a number of tasks beyond reason.
    if main.holm_p >= _ALPHA and abs(main.value) >= 0.005:
        needed = round(main.tasks * (main.detectable / main.value) ** 2)
        return f"{text}; to show the {abs(main.value):.2f} seen here takes about {needed:,}."
    return f"{text}."


def _changed_table(pair: Pair, first: str, second: str) -> Table:
    rows = tuple(
        (
            changed.problem.task,
            changed.problem.case or "all",
            f"{changed.first[0]}/{changed.first[1]}",
            f"{changed.second[0]}/{changed.second[1]}",
            changed.outcomes,
        )
        for changed in pair.changed
    )
    columns = (
        Column("task"),
        Column("case"),
        Column(first, numeric=True),
        Column(second, numeric=True),
        Column("the other ended in"),
    )
    gained = sum(changed.gained for changed in pair.changed)
    note = f"{gained} gained and {len(rows) - gained} lost by {second}: right samples of counted ones."
    return Table("Changed sides", columns, rows, note, tuple(_link(pair, changed) for changed in pair.changed))


def _link(pair: Pair, changed: Changed) -> str:
    """The problem in the page of a run that has one, of the run that did not solve it if it can be chosen."""
    records = (pair.first, pair.second) if changed.gained else (pair.second, pair.first)
    paged = [record for record in records if (record.folder / PAGE_NAME).exists()]
    return sample_link(paged[0].folder, *changed.problem, paged[0].track) if paged else ""


def _p(p: float) -> str:
    return "<0.001" if p < 0.001 else f"{p:.3f}"


def _run_json(record: RunRecord) -> dict[str, object]:
    return {
        "folder": str(record.folder),
        "run_id": record.run_id,
        "model": record.model,
        "tier": record.tier,
        "tasks": len(record.tasks),
        "counted": record.counted,
        "uncounted": record.uncounted,
    }


def _pair_json(pair: Pair, first: str, second: str) -> dict[str, object]:
    return {
        "first": str(pair.first.folder),
        "second": str(pair.second.folder),
        "rates": [asdict(difference) for difference in pair.differences],
        "changed": [
            {
                "task": changed.problem.task,
                "case": changed.problem.case,
                "first": list(changed.first),
                "second": list(changed.second),
                "outcomes": changed.outcomes,
                "links": [
                    sample_link(record.folder, *changed.problem, record.track) for record in (pair.first, pair.second)
                ],
            }
            for changed in pair.changed
        ],
        "left_out": [list(problem) for problem in pair.left_out],
        "settings": list(pair.settings),
        "notes": list(pair.notes),
        "summary": " ".join(sentences(pair, first, second)),
    }
