"""What a page knows before any sample is opened: the run, its rates and curves, one row per sample."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence

from npukernelbench.judge.speed import SPEEDUPS
from npukernelbench.nouns import Outcome, Sample, Severity, Verdict
from npukernelbench.nouns.codec import JSON, to_json
from npukernelbench.nouns.results import Effort
from npukernelbench.report.comparison.rates import (
    COMPILED,
    CORRECT,
    Measure,
    Rate,
    fast_curve,
    fast_measure,
    fast_steps,
    pass_measure,
    rate_of,
)
from npukernelbench.report.comparison.records import OURS, Attempt, Problem, RunRecord, rules_name
from npukernelbench.report.estimates import KS
from npukernelbench.report.html.highlight import KINDS
from npukernelbench.report.summary import sentences
from npukernelbench.report.verdict import listed_diagnostics
from npukernelbench.run.turns import settled

__all__ = ["index_of", "row_of"]

Problems = Mapping[Problem, Sequence[Attempt]]


def index_of(
    record: RunRecord,
    provenance: Mapping[str, object],
    rows: Sequence[JSON],
    places: Sequence[JSON],
    effort: Effort | None,
) -> dict[str, JSON]:
    """The index of a run. ``rows`` are those of :func:`row_of`, ``places`` where each sample's details lie."""
    facts = {name: facts for name, facts in record.tasks.items() if isinstance(facts, Mapping)}
    return {
        "model": record.model,
        "run_id": record.run_id,
        "tier": record.tier,
        "track": record.track,
        "machine": record.machine,
        "rules": "" if (rules := rules_name(record.identity)) == OURS else rules,
        "folder": record.folder.name,
        "sentences": list(sentences(record)),
        "counted": record.counted,
        "expected": record.expected,
        "tiles": _tiles(record),
        "levels": _grouped(record, lambda task: f"level {facts.get(task, {}).get('level', 'unknown')}"),
        "categories": _grouped(record, lambda task: str(facts.get(task, {}).get("category", "unknown"))),
        "passes": _passes(record),
        "speeds": _speeds(record),
        "effort": [to_json(row) for row in effort.after] if effort else [],
        "tasks": {
            name: [str(fact.get("level", "")), str(fact.get("category", "")), str(fact.get("suite", ""))]
            for name, fact in facts.items()
        },
        "identity": to_json({name: value for name, value in record.identity.items() if name != "tasks"}),
        "provenance": to_json(dict(provenance)),
        "meanings": {outcome.value: outcome.meaning for outcome in Outcome},
        "kinds": list(KINDS),
        "rows": list(rows),
        "places": list(places),
    }


def row_of(turns: Sequence[Sample]) -> JSON:
    """One conversation as a row: where it is from, how it ended, how fast it is."""
    sample = settled(turns)
    verdict = sample.verdict
    if verdict is None:
        raise ValueError(f"{sample.key} has no verdict")
    metrics = verdict.metrics
    row: dict[str, object] = {
        "task": sample.key.task,
        "case": sample.key.case,
        "track": sample.key.track.value,
        "index": sample.key.index,
        "outcome": verdict.outcome.value,
        "owner": verdict.owner.value,
        "stage": verdict.stage.value,
        "turns": len(turns),
        "time": metrics.get("measured_time_us", metrics.get("predicted_time_us")),
        "bound": metrics.get("bound_us"),
        "roofline": metrics.get("roofline"),
        "golden": metrics.get("speedup_golden"),
        "message": _message(verdict),
    }
    return to_json(row)


def _message(verdict: Verdict) -> str:
    """The first line of the first error."""
    # A generator: the first error is enough, and a verdict may have hundreds of diagnostics.
    errors = (
        diagnostic.message for _, diagnostic in listed_diagnostics(verdict) if diagnostic.severity is Severity.ERROR
    )
    # A row of the table; the sample's own view has the whole message.
    return next(errors, "").strip().split("\n", 1)[0][:300]


def _tiles(record: RunRecord) -> list[JSON]:
    """The few rates that stand first."""
    least = _least(record)
    # pass@1 is the rate of right samples, which has a tile of its own.
    k = max((k for k in KS if 1 < k <= least), default=0)
    baselines = [name for name in ("golden", "eager", "roofline") if _has(record, name)]
    measures = [CORRECT, COMPILED, *([pass_measure(k)] if k else [])]
    # No kernel is beyond the roofline: half of it is the mark there.
    measures += [fast_measure(name, 0.5 if name == "roofline" else 1.0) for name in baselines]
    return [{"name": measure.name, **_rate(measure, record.problems)} for measure in measures]


def _rate(measure: Measure, problems: Problems) -> dict[str, JSON]:
    return _numbers(rate_of(measure, problems))


def _numbers(rate: Rate | None) -> dict[str, JSON]:
    return {"value": None, "low": None, "high": None} if rate is None else {**rate._asdict()}


def _grouped(record: RunRecord, group: Callable[[str], str]) -> list[JSON]:
    apart: defaultdict[str, dict[Problem, Sequence[Attempt]]] = defaultdict(dict)
    for problem, attempts in record.problems.items():
        apart[group(problem.task)][problem] = attempts
    return [
        {
            "name": name,
            "counted": sum(map(len, apart[name].values())),
            "correct": _rate(CORRECT, apart[name]),
            "compiled": _rate(COMPILED, apart[name]),
        }
        for name in sorted(apart)
    ]


def _passes(record: RunRecord) -> list[JSON]:
    ks = [k for k in KS if k <= _least(record)]
    return [
        {"name": name, "k": k, **_rate(Measure(name, measure.hit, k), record.problems)}
        for name, measure in (("correct", CORRECT), ("compiles", COMPILED))
        for k in ks
    ]


def _speeds(record: RunRecord) -> list[JSON]:
    baselines = [baseline for baseline in SPEEDUPS if _has(record, baseline)]
    steps = fast_steps(baselines, record.attempts)
    return [
        # Flat rows, as the charts' library takes them.
        {"baseline": baseline, "p": p, **_numbers(rate)}
        for baseline in baselines
        for p, rate in zip(steps, fast_curve(baseline, steps, record.problems), strict=True)
    ]


def _least(record: RunRecord) -> int:
    return min((len(attempts) for attempts in record.problems.values() if attempts), default=0)


def _has(record: RunRecord, baseline: str) -> bool:
    return any(baseline in attempt.speedups for attempt in record.attempts)
