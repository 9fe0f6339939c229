"""The tables of a run, out of the dictionary that ``results.json`` holds.

Reading back a dictionary, and not the samples, makes what ``npukb run`` shows at its end and what ``npukb report``
shows a year later the same thing.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from npukernelbench.report.table import Column, Table

__all__ = [
    "aggregate_tables",
    "failures",
    "headline",
    "level_table",
    "problem_table",
    "run_tables",
    "speed_tables",
    "spending",
    "turn_tables",
]

#: A JSON object that :func:`npukernelbench.report.results.summarise` built.
Object: TypeAlias = Mapping[str, Any]

_NONE = "–"


def run_tables(results: Object) -> tuple[Table, ...]:
    """Every table of a run: problem by problem, then aggregates."""
    return (problem_table(results), *aggregate_tables(results), *speed_tables(results), *turn_tables(results))


def problem_table(results: Object) -> Table:
    """One row per task and case: compiled, correct, predicted (or measured) time, outcome.

    With several samples per problem the marks become counts and the time is that of the fastest correct sample.
    """
    problems: defaultdict[tuple[str, str], list[Object]] = defaultdict(list)
    for sample in results["samples"]:
        problems[sample["task"], sample["case"]].append(sample)
    times = _time_columns(results["samples"])
    speeds = {
        m: name for m, name in _SPEEDS.items() if any(m in sample.get("metrics", ()) for sample in results["samples"])
    }
    several = any(len(samples) > 1 for samples in problems.values())
    best = "best " if several else ""
    columns = (
        Column("task"),
        Column("case"),
        Column("compile"),
        Column("correct"),
        *(Column(f"{best}{kind} µs ({tier})", numeric=True) for kind, tier in times),
        *(Column(f"{best}{name}", numeric=True) for name in speeds.values()),
        Column("outcome"),
    )
    rows = tuple(
        (
            task,
            case or "all",
            _mark([s["compiled"] for s in samples]),
            _mark([s["correct"] for s in samples]),
            *(_best_time(samples, kind, tier) for kind, tier in times),
            *(_best_speed(samples, metric) for metric in speeds),
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


def speed_tables(results: Object) -> tuple[Table, ...]:
    """How many samples are right and so many times as fast as a baseline; nothing where no baseline was known."""
    found = results["aggregates"]["all"].get("fast_p", {})
    if not found:
        return ()
    columns = (
        Column("baseline"),
        Column("p", numeric=True),
        Column("valid", numeric=True),
        Column("all", numeric=True),
    )
    rows = tuple(
        (name, p, _share(shares["valid"]), _share(shares["all"]))
        for name, ps in found.items()
        for p, shares in sorted(ps.items(), key=lambda one: float(one[0]))
    )
    note = "Samples that are right and at least p times as fast (docs/metrics.md); all others stay in the denominator."
    return (Table("fast_p", columns, rows, note),)


def turn_tables(results: Object) -> tuple[Table, ...]:
    """What was reached by which turn; nothing for a run of one turn."""
    turns = results.get("turns", ())
    if not turns:
        return ()
    columns = (
        Column("turn", numeric=True),
        Column("asked", numeric=True),
        Column("compiled by then valid", numeric=True),
        Column("correct by then valid", numeric=True),
        Column("correct by then all", numeric=True),
    )
    rows = tuple(
        (
            str(row["turn"]),
            str(row["asked"]),
            _share(row["compile"]["valid"]),
            _share(row["correct"]["valid"]),
            _share(row["correct"]["all"]),
        )
        for row in turns
    )
    return (Table("Turns", columns, rows, f"Between turns models were told: {results['identity'].get('hints')}."),)


def spending(results: Object) -> list[str]:
    """A line on tokens and cost; nothing where no backend counted any."""
    found = results.get("spent", {})
    tokens = found.get("tokens", {})
    if not (tokens.get("prompt") or tokens.get("completion") or found.get("cached")):
        return []
    cost = found.get("cost")
    price = f"{cost['amount']:.4f} {cost['currency']}" if cost else "price not known"
    cached = f", {found['cached']} of them from the cache" if found.get("cached") else ""
    return [
        f"{found['answers']} answers{cached}: {tokens['prompt']} tokens in, {tokens['completion']} out "
        f"({tokens['reasoning']} of reasoning), {price}"
    ]


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
    """One line: how many were right, of how many, what is not the model's fault, what the executor says of itself."""
    totals = results["totals"]
    identity = results.get("identity", {})
    strategy = identity.get("strategy")
    text = f"{totals['correct']} of {totals['valid']} valid samples correct, {totals['compiled']} compiled"
    text = f"strategy {strategy}: {text}" if strategy else text
    if ours := totals["samples"] - totals["valid"]:
        text += f"; {ours} of {totals['samples']} say nothing about the model ({_faults(totals)})"
    executor = identity.get("executor", {})
    status = executor.get("description", {}).get("status", "")
    return f"{text}; executor {executor['name']}: {status}" if status else text


#: Metrics of samples that compare with a baseline of ours, and what they are called in tables.
_SPEEDS = {"roofline": "roofline", "speedup_golden": "× golden", "speedup_eager": "× eager"}

_NOTE = (
    "valid: without samples that failed for other reasons than the model; all: those count as not solved. "
    "Brackets: 95 % intervals over tasks (docs/statistics.md)."
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


def _best_speed(samples: Sequence[Object], metric: str) -> str:
    found = [s["metrics"][metric] for s in samples if s["correct"] and metric in s.get("metrics", ())]
    return f"{max(found):.2f}" if found else _NONE


def _faults(totals: Object) -> str:
    owners = {name: count for name, count in totals["owners"].items() if name not in ("model", "none")}
    return ", ".join(f"{name} {count}" for name, count in sorted(owners.items()))
