"""What a run amounts to: one deterministic dictionary out of a manifest and its samples.

``summarise`` is called by the runner to write ``results.json`` and by ``npukb report`` to compute the same thing
again. It reads the level and the category of each task from ``manifest.identity["tasks"]``, a mapping of task name to
an object that holds at least ``level``, ``category`` and ``suite``; tasks that are not listed there are counted under
"unknown".

Two denominators, always side by side: ``valid`` counts samples whose outcome says something about the model; ``all``
counts every sample of the run, so that a fault of the infrastructure, of a task or of the user reads as not solved.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from npukernelbench.nouns import Outcome, Owner, Sample, SampleKey, Severity, Stage, Verdict
from npukernelbench.nouns.codec import to_json

if TYPE_CHECKING:
    from npukernelbench.store import Manifest

__all__ = ["KS", "SCHEMA", "summarise"]

#: Version of the layout of ``results.json``.
SCHEMA = 1

#: The k of pass@k that are reported, as far as every problem has that many samples.
KS = (1, 2, 4, 5, 8, 10, 16, 32, 50, 64, 100, 128, 256)
_UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class _Judged:
    """One judged sample, reduced to what the aggregates count."""

    key: SampleKey
    verdict: Verdict

    @property
    def problem(self) -> tuple[str, str]:
        return (self.key.task, self.key.case)

    @property
    def valid(self) -> bool:
        return self.verdict.owner in (Owner.MODEL, Owner.NONE)

    @property
    def compiled(self) -> bool:
        return self.valid and self.verdict.stage.order > Stage.COMPILE.order

    @property
    def correct(self) -> bool:
        return self.verdict.outcome is Outcome.OK


def summarise(manifest: Manifest, samples: Iterable[Sample]) -> dict[str, object]:
    """The content of ``results.json``: plain JSON values, sorted, wall times only under ``timing``.

    The order of ``samples`` does not matter; samples without a verdict are left out. Keys: ``schema, run_id, identity,
    provenance, totals, aggregates {all, levels, categories, tasks}, samples, timing``.
    """
    by_key = {s.key: _Judged(s.key, s.verdict) for s in samples if s.verdict is not None}
    judged = [by_key[key] for key in sorted(by_key)]
    facts = _task_facts(manifest.identity)
    return {
        "schema": SCHEMA,
        "run_id": manifest.run_id,
        "identity": to_json(manifest.identity),
        "provenance": to_json(manifest.provenance),
        "totals": _totals(judged),
        "aggregates": {
            "all": _aggregate(judged),
            "levels": _grouped(judged, lambda one: str(facts.get(one.key.task, {}).get("level", _UNKNOWN))),
            "categories": _grouped(judged, lambda one: str(facts.get(one.key.task, {}).get("category", _UNKNOWN))),
            "tasks": _grouped(judged, lambda one: one.key.task),
        },
        "samples": [_sample_row(one) for one in judged],
        "timing": _timing(judged),
    }


def _task_facts(identity: Mapping[str, object]) -> dict[str, Mapping[str, object]]:
    tasks = identity.get("tasks")
    if not isinstance(tasks, Mapping):
        return {}
    return {name: facts for name, facts in tasks.items() if isinstance(facts, Mapping)}


def _totals(judged: Sequence[_Judged]) -> dict[str, object]:
    outcomes = Counter(one.verdict.outcome for one in judged)
    owners = Counter(one.verdict.owner for one in judged)
    return {
        "samples": len(judged),
        "problems": len({one.problem for one in judged}),
        "valid": sum(one.valid for one in judged),
        "compiled": sum(one.compiled for one in judged),
        "correct": sum(one.correct for one in judged),
        "outcomes": {outcome.value: outcomes[outcome] for outcome in Outcome if outcomes[outcome]},
        "owners": {owner.value: owners[owner] for owner in Owner if owners[owner]},
    }


def _grouped(judged: Sequence[_Judged], group: Callable[[_Judged], str]) -> dict[str, object]:
    groups: defaultdict[str, list[_Judged]] = defaultdict(list)
    for one in judged:
        groups[group(one)].append(one)
    return {name: _aggregate(groups[name]) for name in sorted(groups)}


def _aggregate(judged: Sequence[_Judged]) -> dict[str, object]:
    valid = [one for one in judged if one.valid]
    return {
        "samples": len(judged),
        "problems": len({one.problem for one in judged}),
        "valid": len(valid),
        "infra": sum(one.verdict.owner is Owner.INFRA for one in judged),
        "compile@1": _both(valid, judged, lambda some: _proportion([one.compiled for one in some])),
        "correct@1": _both(valid, judged, lambda some: _proportion([one.correct for one in some])),
        "pass@k": _pass_at_k(valid, judged),
    }


def _both(
    valid: Sequence[_Judged], everything: Sequence[_Judged], measure: Callable[[Sequence[_Judged]], object]
) -> dict[str, object]:
    return {"valid": measure(valid), "all": measure(everything)}


def _proportion(hits: Sequence[bool]) -> dict[str, object] | None:
    """A share with its 95 % Wilson interval; None when nothing was counted."""
    if not hits:
        return None
    from npukernelbench.stats import wilson

    low, high = wilson(sum(hits), len(hits))
    return {"value": sum(hits) / len(hits), "low": low, "high": high, "n": len(hits)}


def _pass_at_k(valid: Sequence[_Judged], everything: Sequence[_Judged]) -> dict[str, object]:
    """Per k, as far as every problem has k samples: the mean over problems of the unbiased estimator."""
    counted = {"valid": _counts(valid), "all": _counts(everything)}
    ks = [k for k in KS if any(counts and k <= min(n for n, _ in counts) for counts in counted.values())]
    return {str(k): {name: _mean_pass(counts, k) for name, counts in counted.items()} for k in ks}


def _counts(judged: Iterable[_Judged]) -> list[tuple[int, int]]:
    """``(samples, correct samples)`` of every problem, in the order of the problems."""
    counts: defaultdict[tuple[str, str], list[bool]] = defaultdict(list)
    for one in judged:
        counts[one.problem].append(one.correct)
    return [(len(counts[problem]), sum(counts[problem])) for problem in sorted(counts)]


def _mean_pass(counts: Sequence[tuple[int, int]], k: int) -> dict[str, object] | None:
    if not counts or min(n for n, _ in counts) < k:
        return None
    from npukernelbench.stats import pass_at_k, wilson

    solved = math.fsum(pass_at_k(n, c, k) for n, c in counts)
    low, high = wilson(solved, len(counts))
    return {"value": solved / len(counts), "low": low, "high": high, "n": len(counts)}


def _sample_row(one: _Judged) -> dict[str, object]:
    verdict = one.verdict
    return {
        "task": one.key.task,
        "case": one.key.case,
        "track": one.key.track.value,
        "index": one.key.index,
        "tier": verdict.tier.value,
        "stage": verdict.stage.value,
        "outcome": verdict.outcome.value,
        "owner": verdict.owner.value,
        "compiled": one.compiled,
        "correct": one.correct,
        "predicted_time_us": verdict.metrics.get("predicted_time_us"),
        "measured_time_us": verdict.metrics.get("measured_time_us"),
        "metrics": to_json(verdict.metrics),
        "message": _message(verdict),
    }


def _message(verdict: Verdict) -> str:
    """The first line of the first error, for tables; empty when there is none."""
    everything = [*verdict.diagnostics, *(d for case in verdict.cases for d in case.diagnostics)]
    errors = [d.message for d in everything if d.severity is Severity.ERROR]
    return errors[0].strip().split("\n", 1)[0][:300] if errors and errors[0].strip() else ""


def _timing(judged: Iterable[_Judged]) -> dict[str, object]:
    """Wall seconds of the harness per stage, summed over samples. The only part that differs between equal runs."""
    seconds: defaultdict[str, list[float]] = defaultdict(list)
    for one in judged:
        for stage, value in one.verdict.timings.items():
            seconds[stage].append(value)
    return {"stage_seconds": {stage: round(math.fsum(seconds[stage]), 6) for stage in sorted(seconds)}}
