"""The tables of a run, out of its results.

Results, and not samples, make what ``npukb run`` shows at its end and what ``npukb report`` shows a year later the same
thing. Metrics that a plugin added have a column each, also where the plugin is no longer installed.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean

from npukernelbench.judge.metrics import BUILT_IN
from npukernelbench.nouns import Owner
from npukernelbench.nouns.codec import dumps
from npukernelbench.nouns.results import Aggregate, Results, SampleRow, Share, Shares, Totals
from npukernelbench.report.table import Column, Table

__all__ = [
    "aggregate_tables",
    "call_tables",
    "effort_tables",
    "failures",
    "headline",
    "level_table",
    "optimised_tables",
    "problem_table",
    "run_tables",
    "settings_table",
    "speed_tables",
    "spending",
    "turn_tables",
]

_NONE = "–"
_KINDS = ("predicted", "measured")


def run_tables(results: Results) -> tuple[Table, ...]:
    """Every table of a run: problem by problem, then aggregates."""
    tables = (problem_table(results), *aggregate_tables(results), *speed_tables(results), *optimised_tables(results))
    return (*tables, *turn_tables(results), *effort_tables(results), *call_tables(results))


def problem_table(results: Results) -> Table:
    """One row per task and case: compiled, correct, predicted (or measured) time, outcome.

    With several samples per problem the marks become counts and the time is that of the fastest correct sample.
    """
    problems: defaultdict[tuple[str, str], list[SampleRow]] = defaultdict(list)
    for sample in results.samples:
        problems[sample.problem].append(sample)
    times = _time_columns(results.samples)
    measured = {metric for sample in results.samples for metric in sample.metrics}
    speeds = {metric: name for metric, name in _SPEEDS.items() if metric in measured}
    added = sorted(measured - BUILT_IN.keys())
    # The words stand in the headers only where a cell stands for several samples.
    several = any(len(samples) > 1 for samples in problems.values())
    best, mean = ("best ", "mean ") if several else ("", "")
    columns = (
        Column("task"),
        Column("case"),
        Column("compile"),
        Column("correct"),
        *(Column(f"{best}{kind} µs ({tier})", numeric=True) for kind, tier in times),
        *(Column(f"{best}{name}", numeric=True) for name in speeds.values()),
        *(Column(f"{mean}{name}", numeric=True) for name in added),
        Column("outcome"),
    )
    rows = tuple(
        (
            task,
            case or "all",
            # Uncounted samples are no failures: without any counted one the mark is ○.
            _mark([sample.compiled for sample in samples if _counts(sample)]),
            _mark([sample.correct for sample in samples if _counts(sample)]),
            *(_best_time(samples, kind, tier) for kind, tier in times),
            *(_best_speed(samples, metric) for metric in speeds),
            *(_mean(samples, metric) for metric in added),
            _outcomes(samples),
        )
        for (task, case), samples in sorted(problems.items())
    )
    return Table("Problems", columns, rows)


def aggregate_tables(results: Results) -> tuple[Table, ...]:
    """Per task (when there are several cases or samples of one), per category, per level, and over everything."""
    aggregates = results.aggregates
    tables = []
    if any(row.samples > 1 for row in aggregates.tasks.values()):
        tables.append(_aggregate_table("Tasks", "task", aggregates.tasks))
    tables.append(_aggregate_table("Categories", "category", aggregates.categories))
    return (*tables, level_table(results))


def level_table(results: Results) -> Table:
    """Per level, and over everything."""
    aggregates = results.aggregates
    # Tasks that nothing is known of stand under a word in place of a number.
    levels = {f"level {name}" if name.isdigit() else name: row for name, row in aggregates.levels.items()}
    return _aggregate_table("Levels", "level", {**levels, "all": aggregates.all}, note=_NOTE)


def speed_tables(results: Results) -> tuple[Table, ...]:
    """How many samples are right and so many times as fast as a baseline; nothing where no baseline was known."""
    fast = results.aggregates.all.fast_p
    if not fast:
        return ()
    columns = (
        Column("baseline"),
        Column("p", numeric=True),
        Column("valid", numeric=True),
        Column("all", numeric=True),
    )
    rows = tuple(
        (name, p, _share(shares.valid), _share(shares.all))
        for name, ps in fast.items()
        # Keys are texts, whose order need not be that of the numbers.
        for p, shares in sorted(ps.items(), key=lambda item: float(item[0]))
    )
    note = "Samples that are right and at least p times as fast (docs/metrics.md); all others stay in the denominator."
    return (Table("fast_p", columns, rows, note),)


def optimised_tables(results: Results) -> tuple[Table, ...]:
    """How fast kernels became that had a slow start; nothing where no task was one of optimisation."""
    optimised = results.optimised
    if optimised is None:
        return ()
    names = (
        "counted",
        "right",
        "faster",
        "as golden",
        "score",
        *(f"{float(share):.0%}" for share in optimised.speedups),
    )
    shown = (optimised.counted, optimised.right, optimised.faster, optimised.as_golden)
    row = (*map(str, shown), f"{optimised.score:.2f}", *(f"{value:.2f}" for value in optimised.speedups.values()))
    note = (
        "score: geometric mean over counted samples of how many times as fast as the start a kernel is; one that is "
        "not right, or not faster, counts as 1. Then quantiles of the same numbers."
    )
    return (Table("Optimised", tuple(_numbers(*names)), (row,), note),)


def turn_tables(results: Results) -> tuple[Table, ...]:
    """What was reached by which turn; nothing for a run of one turn."""
    if not results.turns:
        return ()
    columns = tuple(_numbers("turn", "asked", "compiled by then valid", "correct by then valid", "correct by then all"))
    rows = tuple(
        (
            str(row.turn),
            str(row.asked),
            _share(row.compile.valid),
            _share(row.correct.valid),
            _share(row.correct.all),
        )
        for row in results.turns
    )
    hints = "" if results.calls else f"Between turns models were told: {results.identity.get('hints')}."
    return (Table("Turns", columns, rows, hints),)


def call_tables(results: Results) -> tuple[Table, ...]:
    """What was reached after how many calls of tools, and what the calls were; nothing where none was called."""
    calls = results.calls
    if calls is None:
        return ()
    columns = tuple(_numbers("calls", "made", "correct by then valid", "correct by then all"))
    rows = tuple(
        (str(row.calls), str(row.made), _share(row.correct.valid), _share(row.correct.all)) for row in calls.after
    )
    per_call = _NONE if calls.violations_per_call is None else f"{calls.violations_per_call:.2f}"
    # The most frequent first; the name decides between equals, so that the text is always the same.
    rules = ", ".join(
        f"{rule} {count}" for rule, count in sorted(calls.rules.items(), key=lambda counted: (-counted[1], counted[0]))
    )
    note = (
        f"Calls of check and judge: {calls.paid}, of judge {calls.judged}; rules of the hardware broken per call of "
        f"judge: {per_call}{f' ({rules})' if rules else ''}. Malformed {calls.malformed}, over the budget "
        f"{calls.refused}, faults of ours {calls.faults}."
    )
    return (Table("Calls", columns, rows, note),)


def effort_tables(results: Results) -> tuple[Table, ...]:
    """What judged kernels brought; nothing where a model is asked once."""
    effort = results.effort
    if effort is None or not effort.after:
        return ()
    # One p for the table; results.json has all of them.
    fast = str(1.0)
    columns = tuple(_numbers("judged", "made", "right on public", "as golden", "speed-up", "tokens", "cost", "seconds"))
    rows = tuple(
        (
            str(row.calls),
            str(row.made),
            f"{row.solved:.1%}",
            f"{row.fast_golden[fast]:.1%}" if fast in row.fast_golden else _NONE,
            _NONE if row.speedup is None else f"{row.speedup:.2f}",
            f"{row.tokens:.0f}",
            _NONE if row.cost is None else f"{row.cost:.4f}",
            _NONE if row.seconds is None else f"{row.seconds:.1f}",
        )
        for row in effort.after
    )
    notes = [
        f"Means of {effort.conversations} conversations; area under the curve of right on public: {effort.area:.3f}."
    ]
    if effort.right_on_public:
        share = f"{effort.right_on_hidden} of {effort.right_on_public}"
        notes.append(f"Of answers that are right on public cases, {share} are right on hidden ones.")
    if effort.refused:
        what = ", ".join(f"{outcome.value} {count}" for outcome, count in effort.refused.items())
        notes.append(f"Kernels that did not compute: {what}, in {effort.with_refused} conversations.")
    return (Table("Effort", columns, rows, " ".join(notes)),)


def spending(results: Results) -> list[str]:
    """A line on tokens and cost; nothing where no backend counted any."""
    spent, tokens = results.spent, results.spent.tokens
    if not (tokens.prompt or tokens.completion or spent.cached):
        return []
    price = f"{spent.cost.amount:.4f} {spent.cost.currency}" if spent.cost else "price not known"
    cached = f", {spent.cached} of them from the cache" if spent.cached else ""
    return [
        f"{spent.answers} answers{cached}: {tokens.prompt} tokens in, {tokens.completion} out "
        f"({tokens.reasoning} of reasoning), {price}"
    ]


def failures(results: Results, most: int = 12) -> list[str]:
    """One line per sample that is not correct, with the first line of its first error; at most ``most`` of them.

    ✗ is the model's failure. What says nothing about the model stands behind, under ○.
    """
    # The sort is stable: on both sides the order of the results stays.
    failed = sorted(
        (sample for sample in results.samples if not sample.correct), key=lambda sample: not _counts(sample)
    )
    lines = [
        f"{'✗' if _counts(sample) else '○'} {sample.task}/{sample.case or 'all'}/{sample.index}  "
        f"{sample.outcome.value}: {sample.message}"
        for sample in failed[:most]
    ]
    if len(failed) > most:
        lines.append(f"… and {len(failed) - most} more")
    return lines


def headline(results: Results) -> str:
    """One line: how many were right, of how many, what is not the model's fault, what the executor says of itself."""
    totals = results.totals
    strategy = results.identity.get("strategy")
    text = f"{totals.correct} of {totals.valid} valid samples correct, {totals.compiled} compiled"
    text = f"strategy {strategy}: {text}" if strategy else text
    shard = results.identity.get("shard")
    text = f"shard {shard}: {text}" if shard else text
    if ours := totals.samples - totals.valid:
        text += f"; {ours} of {totals.samples} say nothing about the model ({_faults(totals)})"
    executor = _object(results.identity.get("executor"))
    status = _object(executor.get("description")).get("status", "")
    # A status is part of an executor's description, so that its name is there, too.
    return f"{text}; executor {executor['name']}: {status}" if status else text


def settings_table(results: Results) -> Table:
    """What decided these results and, below, what was set beside it and may change while the run goes on."""
    decided = _flat("", {name: value for name, value in results.identity.items() if name != "tasks"})
    asked = _flat("model_args", results.provenance.get("asked_how", {}))
    rows = (
        ("tasks", f"{len(_object(results.identity.get('tasks')))}, listed in manifest.json", "decides"),
        *((name, value, "decides") for name, value in decided),
        *((name, value, "may change") for name, value in asked),
    )
    columns = (Column("setting"), Column("value"), Column(""))
    return Table("Settings", columns, rows, "With another value of one that decides it is another run.")


def _flat(prefix: str, value: object) -> Iterator[tuple[str, str]]:
    """The leaves of nested objects by dotted name."""
    # Empty mappings have no leaves and go unmentioned.
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _flat(f"{prefix}.{name}" if prefix else str(name), inner)
    elif value not in (None, "", []):
        yield prefix, value if isinstance(value, str) else dumps(value)


def _object(value: object) -> Mapping[str, object]:
    return value if isinstance(value, Mapping) else {}


#: Metrics of samples that compare with a baseline of ours, and what they are called in tables.
_SPEEDS = {
    "roofline": "roofline",
    "speedup_golden": "× golden",
    "speedup_eager": "× eager",
    "speedup_start": "× start",
}

_NOTE = (
    "valid: without samples that failed for other reasons than the model; all: those count as not solved. "
    "Brackets: 95 % intervals over tasks (docs/statistics.md)."
)


def _numbers(*names: str) -> Iterator[Column]:
    """Columns of numbers."""
    return (Column(name, numeric=True) for name in names)


def _aggregate_table(title: str, name: str, groups: Mapping[str, Aggregate], note: str = "") -> Table:
    ks = sorted({k for row in groups.values() for k in row.pass_at_k}, key=int)
    # pass@1 is correct@1, which has columns of its own.
    ks = [k for k in ks if k != "1"]
    columns = (
        Column(name),
        *_numbers("samples", "infra", "compile@1 valid", "correct@1 valid", "correct@1 all"),
        *_numbers(*(f"pass@{k} valid" for k in ks)),
    )
    rows = tuple(
        (
            group,
            str(row.samples),
            str(row.infra),
            _share(row.compile_at_1.valid),
            _share(row.correct_at_1.valid),
            _share(row.correct_at_1.all),
            *(_share(row.pass_at_k.get(k, Shares(None, None)).valid) for k in ks),
        )
        for group, row in groups.items()
    )
    return Table(title, columns, rows, note)


def _share(share: Share | None) -> str:
    if share is None:
        return _NONE
    return f"{share.value:.3f} [{share.low:.2f}, {share.high:.2f}]"


def _counts(sample: SampleRow) -> bool:
    """Whether a sample says something about the model."""
    return sample.owner in (Owner.MODEL, Owner.NONE)


def _mark(flags: Sequence[bool]) -> str:
    """✓ or ✗, or how many of how many; ○ where nothing says anything about the model."""
    if not flags:
        return "○"
    if len(flags) == 1:
        return "✓" if flags[0] else "✗"
    return f"{sum(flags)}/{len(flags)}"


def _outcomes(samples: Sequence[SampleRow]) -> str:
    counts = Counter(sample.outcome.value for sample in samples)
    if len(samples) == 1:
        return samples[0].outcome.value
    return ", ".join(f"{name} ×{count}" for name, count in counts.most_common())


def _time_columns(samples: Sequence[SampleRow]) -> list[tuple[str, str]]:
    """``(kind, tier)`` of every sort of time that occurs; a predicted one is shown even when no sample has a time."""
    # Tiers are columns of their own: a number of one never stands beside one of another.
    timed = {(kind, sample.tier.value) for sample in samples for kind in _KINDS if _time_us(sample, kind)}
    tiers = sorted({sample.tier.value for sample in samples})
    return sorted(timed) or [("predicted", tier) for tier in tiers[:1]]


def _best_time(samples: Sequence[SampleRow], kind: str, tier: str) -> str:
    times = [
        time_us
        for sample in samples
        if sample.correct and sample.tier.value == tier and (time_us := _time_us(sample, kind)) is not None
    ]
    return f"{min(times):.2f}" if times else _NONE


def _time_us(sample: SampleRow, kind: str) -> float | None:
    return sample.predicted_time_us if kind == "predicted" else sample.measured_time_us


def _best_speed(samples: Sequence[SampleRow], metric: str) -> str:
    values = [sample.metrics[metric] for sample in samples if sample.correct and metric in sample.metrics]
    return f"{max(values):.2f}" if values else _NONE


def _mean(samples: Sequence[SampleRow], metric: str) -> str:
    """Over the samples that have the metric, right or not: what it measures is its author's business."""
    values = [sample.metrics[metric] for sample in samples if metric in sample.metrics]
    return f"{fmean(values):.4g}" if values else _NONE


def _faults(totals: Totals) -> str:
    ours = {owner.value: count for owner, count in totals.owners.items() if owner not in (Owner.MODEL, Owner.NONE)}
    return ", ".join(f"{name} {count}" for name, count in sorted(ours.items()))
