"""Many runs, one row per model and settings: boards apart by tier, rules and tasks, ties shown as ties.

Runs that differ in nothing but their seed are one row. A row's rank is one more than the number of rows that are
better than it beyond doubt, that is, whose paired difference to it has an interval above 0 and an exact test below 5 %:
rows that cannot be told apart may share a rank.
"""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from io import StringIO
from pathlib import Path

from npukernelbench.errors import UsageError
from npukernelbench.judge.speed import SPEEDUPS
from npukernelbench.nouns.codec import dumps
from npukernelbench.report.comparison.paired import clusters, shares
from npukernelbench.report.comparison.rates import (
    COMPILED,
    CORRECT,
    Measure,
    Rate,
    fast_measure,
    pass_measure,
    rate_of,
)
from npukernelbench.report.comparison.records import (
    OURS,
    RunRecord,
    named_differences,
    read_record,
    rule_differences,
    rules_name,
    rules_of,
    settings_of,
    shown,
    timing_of,
)
from npukernelbench.report.comparison.speeds import Entry, Speeds
from npukernelbench.report.estimates import MAIN_KS
from npukernelbench.report.finding import find_runs
from npukernelbench.report.table import Column, Table
from npukernelbench.report.words import count
from npukernelbench.stats import mean_difference, sign_flip_test

__all__ = ["Board", "Row", "as_csv", "board_json", "board_parts", "board_table", "leaderboards", "read_boards"]

#: The share of the bound, or the speed beside a baseline, that a column of a board stands for.
_FAST = {"roofline": 0.5, "golden": 1.0, "eager": 1.0, "start": 1.0}
_ALPHA = 0.05


@dataclass(frozen=True, slots=True)
class Row:
    """A model with its settings. ``rates`` are by measure, None where too few samples tell; ``ahead`` counts the rows
    that are better beyond doubt. ``record`` has the samples of all its runs."""

    model: str
    settings: str
    record: RunRecord
    rates: tuple[Rate | None, ...]
    counted: int
    expected: int
    folders: tuple[Path, ...]
    ahead: int = 0

    @property
    def name(self) -> str:
        """The model, and what tells it from its namesakes."""
        return f"{self.model} {self.settings}".strip()

    @property
    def rank(self) -> int:
        """1 for rows that no other is better than."""
        return self.ahead + 1


@dataclass(frozen=True, slots=True)
class Board:
    """Rows that may be set beside each other, best first: one tier, one set of rules, one set of tasks."""

    tier: str
    track: str
    machine: str
    tasks: int
    rules: str
    measures: tuple[str, ...]
    rows: tuple[Row, ...]

    @property
    def title(self) -> str:
        """What all rows have in common."""
        parts = (f"tier {self.tier}", count(self.tasks, "task"), f"track {self.track}", self.machine, self.rules)
        return " · ".join(part for part in parts if part)

    def is_tied(self, row: Row) -> bool:
        """Whether another row has the same rank."""
        return sum(other.rank == row.rank for other in self.rows) > 1


def read_boards(*folders: Path, by: str = CORRECT.name) -> tuple[tuple[Board, ...], tuple[str, ...]]:
    """The boards of every run at or below some folders, and a line per run in which nothing was judged, per shard and
    per copy of a run. A run that lies below two of the folders is one."""
    records, empty = [], []
    for path in {path.resolve(): path for folder in folders for path in find_runs(folder)}.values():
        try:
            record = read_record(path)
            # A shard has judged a part of the problems, and its rates would stand beside those of whole runs.
            if "shard" in record.identity:
                empty.append(f"{path}: shard {record.identity['shard']} is part of a run; rank what npukb merge writes")
            else:
                records.append(record)
        except UsageError as error:
            empty.append(f"{path}: {error.message}")
    ranked, copies = _each_once(records)
    return leaderboards(ranked, by=by), (*empty, *copies)


def _each_once(records: Sequence[RunRecord]) -> tuple[list[RunRecord], list[str]]:
    """Of the copies of a run the one with most samples, and a line per other one: a copy is no further seed."""
    kept: dict[str, RunRecord] = {}
    for record in records:
        other = kept.setdefault(record.run_id, record)
        if len(record.attempts) > len(other.attempts):
            kept[record.run_id] = record
    copies = [record for record in records if record is not kept[record.run_id]]
    return [record for record in records if record is kept[record.run_id]], [
        f"{copy.folder}: a copy of the run in {kept[copy.run_id].folder}, which is ranked" for copy in copies
    ]


def leaderboards(records: Sequence[RunRecord], *, by: str = CORRECT.name) -> tuple[Board, ...]:
    """Boards with the most tasks first. ``by`` is the measure that ranks; UsageError when no board has it."""
    apart: defaultdict[str, list[RunRecord]] = defaultdict(list)
    for record in records:
        # With the time model: below a board its rows are compared by speed, too.
        apart[dumps([rules_of(record), timing_of(record), record.tasks])].append(record)
    measures = {key: _measures(group) for key, group in apart.items()}
    known = list(dict.fromkeys(measure.name for group in measures.values() for measure in group))
    if records and by not in known:
        raise UsageError(f"no run has a rate {by!r}", field="--by", remedy=f"rates: {', '.join(known)}")
    groups = sorted(apart, key=lambda key: (-len(apart[key][0].tasks), apart[key][0].tier, key))
    alike = [apart[key][0] for key in groups]
    # Not every board has every rate. Where it is missing, rows are ranked by what all boards have.
    return tuple(
        _board(
            apart[key], measures[key], by if by in {measure.name for measure in measures[key]} else CORRECT.name, rules
        )
        for key, rules in zip(groups, _told_apart(alike), strict=True)
    )


def board_table(board: Board) -> Table:
    """A board for people. A rank with = is shared."""
    rows = tuple(
        (
            f"{row.rank}{'=' if board.is_tied(row) else ''}",
            row.name,
            *(_cell(rate) for rate in row.rates),
            f"{row.counted}/{row.expected}",
        )
        for row in board.rows
    )
    columns = (
        Column("#"),
        Column("model"),
        *(Column(name, numeric=True) for name in board.measures),
        Column("counted", numeric=True),
    )
    note = (
        "Brackets: 95 % intervals over tasks. Rows with = share their rank: rows above are better beyond doubt, "
        "in a paired comparison on the same tasks. Counted: samples that say something about the model, of all."
    )
    return Table(board.title, columns, rows, note)


def board_parts(boards: Sequence[Board]) -> list[Table | Speeds]:
    """Every board, and below it how fast its rows are."""
    return [part for board in boards for part in (board_table(board), _speeds(board))]


def board_json(board: Board) -> dict[str, object]:
    """A board for programs."""
    return {
        "tier": board.tier,
        "track": board.track,
        "machine": board.machine,
        "tasks": board.tasks,
        "rules": board.rules,
        "rows": [
            {
                "rank": row.rank,
                "tied": board.is_tied(row),
                "model": row.model,
                "settings": row.settings,
                "counted": row.counted,
                "expected": row.expected,
                "folders": [str(folder) for folder in row.folders],
                "rates": {
                    name: rate._asdict() if rate else None for name, rate in zip(board.measures, row.rates, strict=True)
                },
            }
            for row in board.rows
        ],
    }


def as_csv(boards: Sequence[Board]) -> str:
    """All boards as one table; a column ``tier`` keeps them apart. Rates that a board lacks are empty."""
    names = list(dict.fromkeys(name for board in boards for name in board.measures))
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    ends = ("", "_low", "_high")
    writer.writerow(
        ["board", "tier", "track", "machine", "tasks", "rank", "tied", "model", "settings"]
        + [f"{name}{end}" for name in names for end in ends]
        + ["counted", "expected", "folders"]
    )
    for number, board in enumerate(boards, 1):
        for row in board.rows:
            rates = dict(zip(board.measures, row.rates, strict=True))
            writer.writerow(
                [number, board.tier, board.track, board.machine, board.tasks, row.rank, int(board.is_tied(row))]
                + [row.model, row.settings]
                + [value for name in names for value in (rates.get(name) or ("", "", ""))]
                + [row.counted, row.expected, " ".join(map(str, row.folders))]
            )
    return text.getvalue()


def _speeds(board: Board) -> Speeds:
    # Samples of several runs in a row share their numbers, so that none can be found by its own.
    folders = [row.folders[0] if len(row.folders) == 1 else None for row in board.rows]
    return Speeds(
        board.title,
        tuple(Entry(row.name, row.record, folder) for row, folder in zip(board.rows, folders, strict=True)),
    )


def _board(records: Sequence[RunRecord], measures: Sequence[Measure], by: str, rules: str) -> Board:
    # Seeds are repetitions of one setting: apart, every repetition would be a rank of its own.
    groups = _but_for_seeds(records)
    names = _settings([group[0] for group in groups])
    pooled = [_pooled(group) for group in groups]
    rows = [
        Row(
            record.model,
            named,
            record,
            tuple(rate_of(measure, record.problems) for measure in measures),
            record.counted,
            record.expected,
            tuple(run_record.folder for run_record in group),
        )
        for group, record, named in zip(groups, pooled, names, strict=True)
    ]
    main = next(measure for measure in measures if measure.name == by)
    ahead = _ahead(main, pooled)
    ranked = [replace(row, ahead=better) for row, better in zip(rows, ahead, strict=True)]
    place = [measure.name for measure in measures].index(by)

    def order(row: Row) -> tuple[int, float, str, str]:
        rate = row.rates[place]
        # Rows without the rate come last of their rank.
        return (row.rank, -rate.value if rate else 1.0, row.model, row.settings)

    first = records[0]
    return Board(
        first.tier,
        first.track,
        first.machine,
        len(first.tasks),
        rules,
        tuple(measure.name for measure in measures),
        tuple(sorted(ranked, key=order)),
    )


def _but_for_seeds(records: Sequence[RunRecord]) -> list[list[RunRecord]]:
    """The runs in groups that differ in their seed only."""
    apart: defaultdict[str, list[RunRecord]] = defaultdict(list)
    for record in records:
        apart[dumps({name: value for name, value in settings_of(record).items() if name != "seed"})].append(record)
    return list(apart.values())


def _pooled(group: Sequence[RunRecord]) -> RunRecord:
    """Several runs as one with all their samples."""
    # How many samples are expected follows from it.
    identity = {**group[0].identity, "samples": _samples(group[0]) * len(group)}
    return replace(
        group[0], identity=identity, attempts=tuple(attempt for run_record in group for attempt in run_record.attempts)
    )


def _samples(record: RunRecord) -> int:
    samples = record.identity.get("samples")
    return samples if isinstance(samples, int) else 1


def _measures(records: Sequence[RunRecord]) -> list[Measure]:
    attempts = [attempt for record in records for attempt in record.attempts]
    # A column is worth having as soon as one row can fill it.
    least = max(min((len(tries) for tries in record.problems.values() if tries), default=0) for record in records)
    passes = [pass_measure(k) for k in MAIN_KS if 1 < k <= least]
    baselines = [name for name in SPEEDUPS if any(name in attempt.speedups for attempt in attempts)]
    return [COMPILED, CORRECT, *passes, *(fast_measure(name, _FAST[name]) for name in baselines)]


def _ahead(measure: Measure, records: Sequence[RunRecord]) -> list[int]:
    """Per run, how many others are better beyond doubt."""
    ahead = [0] * len(records)
    for i, first in enumerate(records):
        for j in range(i + 1, len(records)):
            rates = shares(measure, first, records[j])
            if not rates:
                continue
            drawn = clusters(rates)
            # Both must agree: with few tasks an interval may lie above 0 where no exact test can be significant.
            if sign_flip_test([cluster.part for cluster in drawn]).p >= _ALPHA:
                continue
            _, (low, high) = mean_difference(drawn)
            ahead[i] += low > 0
            ahead[j] += high < 0
    return ahead


def _settings(records: Sequence[RunRecord]) -> list[str]:
    """What tells rows of one model apart, as ``name value`` in brackets; empty for a model with one row."""
    texts = []
    for record in records:
        # By the object and not by value: two rows may be equal in all that is compared here.
        namesakes = [other for other in records if other.model == record.model and other is not record]
        # Differences are texts of the form `name: value against value`.
        fields = {name.split(":")[0] for other in namesakes for name in named_differences(_own(record), _own(other))}
        values = (f"{field.rpartition('.')[2]} {shown(_value(_own(record), field))}" for field in sorted(fields))
        texts.append(f"({', '.join(values)})" if fields else "")
    return texts


def _own(record: RunRecord) -> dict[str, object]:
    """Settings that name a row: hashes tell people nothing where the name of the style is there."""
    settings = settings_of(record)
    prompt = settings.get("prompt")
    if isinstance(prompt, dict):
        settings["prompt"] = {name: value for name, value in prompt.items() if name != "hash"}
    return {name: value for name, value in settings.items() if name != "seed"}


def _value(settings: object, field: str) -> object:
    for name in field.split("."):
        settings = settings.get(name) if isinstance(settings, dict) else None
    return settings


def _told_apart(records: Sequence[RunRecord]) -> Iterator[str]:
    """A benchmark's rules, and what tells boards apart that would else have one title; empty for the others."""
    for record in records:
        title = (record.tier, record.track, record.machine, len(record.tasks))
        alike = [
            other
            for other in records
            if other is not record and title == (other.tier, other.track, other.machine, len(other.tasks))
        ]
        rules, name = {**rules_of(record), **timing_of(record)}, rules_name(record.identity)
        fields = {
            difference.split(":")[0]
            for other in alike
            for difference in (
                *rule_differences(record, other),
                *named_differences(timing_of(record), timing_of(other)),
            )
        }
        named = [f"rules {name}"] if name != OURS or "rules" in fields else []
        values = [f"{field.rpartition('.')[2]} {shown(_value(rules, field))}" for field in sorted(fields - {"rules"})]
        others = any(record.tasks != other.tasks for other in alike)
        # The first task's name tells two boards of equally many tasks apart.
        yield ", ".join([*named, *values, *([f"tasks from {min(record.tasks, default='')}"] if others else [])])


def _cell(rate: Rate | None) -> str:
    return "–" if rate is None else f"{rate.value:.3f} [{rate.low:.2f}, {rate.high:.2f}]"
