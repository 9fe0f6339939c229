"""The tables of a run, out of the dictionary that ``results.json`` holds.

Reading back a dictionary, and not the samples, makes what ``npukb run`` shows at its end and what ``npukb report``
shows a year later the same thing.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from npukernelbench.report.table import Column, Table

__all__ = ["aggregate_tables", "failures", "headline", "level_table", "problem_table", "run_tables"]

#: A JSON object that :func:`npukernelbench.report.results.summarise` built.
Object: TypeAlias = Mapping[str, Any]

_NONE = "–"


def run_tables(results: Object) -> tuple[Table, ...]:
    """Every table of a run: problem by problem, then aggregates."""
    return (problem_table(results), *aggregate_tables(results))


def problem_table(results: Object) -> Table:
    """One row per task and case: compiled, correct, predicted (or measured) time, outcome.

    With several samples per problem the marks become counts and the time is that of the fastest correct sample.
    """
    problems: defaultdict[tuple[str, str], list[Object]] = defaultdict(list)
    for sample in results["samples"]:
        problems[sample["task"], sample["case"]].append(sample)
    times = _time_columns(results["samples"])
    several = any(len(samples) > 1 for samples in problems.values())
    best = "best " if several else ""
    columns = (
        Column("task"),
        Column("case"),
        Column("compile"),
        Column("correct"),
        *(Column(f"{best}{kind} µs ({tier})", numeric=True) for kind, tier in times),
        Column("outcome"),
    )
    rows = tuple(
        (
            task,
            case or "all",
            _mark([s["compiled"] for s in samples]),
            _mark([s["correct"] for s in samples]),
            *(_best_time(samples, kind, tier) for kind, tier in times),
            _outcomes(samples),
        )
        for (task, case), samples in sorted(problems.items())
    )
    return Table("Problems", columns, rows)


def aggregate_tables(results: Object) -> tuple[Table, ...]:
    """Per task (when there are several cases or samples of one), per category, per level, and over everything."""
    aggregates = results["aggregates"]
    per_task = aggregates["tasks"]
    tables = []
    if any(row["samples"] > 1 for row in per_task.values()):
        tables.append(_aggregate_table("Tasks", "task", per_task))
    tables.append(_aggregate_table("Categories", "category", aggregates["categories"]))
    return (*tables, level_table(results))


def level_table(results: Object) -> Table:
    """Per level, and over everything."""
    aggregates = results["aggregates"]
    levels = {f"level {name}" if name.isdigit() else name: row for name, row in aggregates["levels"].items()}
    return _aggregate_table("Levels", "level", {**levels, "all": aggregates["all"]}, note=_NOTE)


def failures(results: Object, most: int = 12) -> list[str]:
    """One line per sample that is not correct, with the first line of its first error; at most ``most`` of them."""
    failed = [sample for sample in results["samples"] if not sample["correct"]]
    lines = [
        f"✗ {sample['task']}/{sample['case'] or 'all'}/{sample['index']}  {sample['outcome']}: {sample['message']}"
        for sample in failed[:most]
    ]
    if len(failed) > most:
        lines.append(f"… and {len(failed) - most} more")
    return lines


def headline(results: Object) -> str:
    """One line: how many were right, of how many, and what is not the model's fault."""
    totals = results["totals"]
    text = f"{totals['correct']} of {totals['valid']} valid samples correct, {totals['compiled']} compiled"
    ours = totals["samples"] - totals["valid"]
    return f"{text}; {ours} of {totals['samples']} say nothing about the model ({_faults(totals)})" if ours else text


_NOTE = (
    "valid: without samples that failed for other reasons than the model; all: those count as not solved. "
    "Brackets: 95 % Wilson intervals."
)


def _aggregate_table(title: str, name: str, groups: Object, note: str = "") -> Table:
    ks = sorted({k for row in groups.values() for k in row["pass@k"]}, key=int)
    ks = [k for k in ks if k != "1"]
    columns = (
        Column(name),
        Column("samples", numeric=True),
        Column("infra", numeric=True),
        Column("compile@1 valid", numeric=True),
        Column("correct@1 valid", numeric=True),
        Column("correct@1 all", numeric=True),
        *(Column(f"pass@{k} valid", numeric=True) for k in ks),
    )
    rows = tuple(
        (
            group,
            str(row["samples"]),
            str(row["infra"]),
            _share(row["compile@1"]["valid"]),
            _share(row["correct@1"]["valid"]),
            _share(row["correct@1"]["all"]),
            *(_share((row["pass@k"].get(k) or {}).get("valid")) for k in ks),
        )
        for group, row in groups.items()
    )
    return Table(title, columns, rows, note)


def _share(share: Object | None) -> str:
    if share is None:
        return _NONE
    return f"{share['value']:.3f} [{share['low']:.2f}, {share['high']:.2f}]"


def _mark(flags: Sequence[bool]) -> str:
    if len(flags) == 1:
        return "✓" if flags[0] else "✗"
    return f"{sum(flags)}/{len(flags)}"


def _outcomes(samples: Sequence[Object]) -> str:
    counts = Counter(sample["outcome"] for sample in samples)
    if len(samples) == 1:
        return str(samples[0]["outcome"])
    return ", ".join(f"{name} ×{count}" for name, count in counts.most_common())


def _time_columns(samples: Sequence[Object]) -> list[tuple[str, str]]:
    """``(kind, tier)`` of every sort of time that occurs; a predicted one is shown even when no sample has a time."""
    found = {
        (kind, sample["tier"]) for sample in samples for kind in ("predicted", "measured") if sample[f"{kind}_time_us"]
    }
    tiers = sorted({sample["tier"] for sample in samples})
    return sorted(found) or [("predicted", tier) for tier in tiers[:1]]


def _best_time(samples: Sequence[Object], kind: str, tier: str) -> str:
    times = [
        s[f"{kind}_time_us"] for s in samples if s["correct"] and s["tier"] == tier and s[f"{kind}_time_us"] is not None
    ]
    return f"{min(times):.2f}" if times else _NONE


def _faults(totals: Object) -> str:
    owners = {name: count for name, count in totals["owners"].items() if name not in ("model", "none")}
    return ", ".join(f"{name} {count}" for name, count in sorted(owners.items()))
