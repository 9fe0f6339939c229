"""What a run amounts to: one deterministic dictionary out of a manifest and its samples.

``summarise`` is called by the runner to write ``results.json`` and by ``npukb report`` to compute the same thing
again. It reads the level and the category of each task from ``manifest.identity["tasks"]``, a mapping of task name to
an object that holds at least ``level``, ``category`` and ``suite``; tasks that are not listed there are counted under
"unknown".

Two denominators, always side by side: ``valid`` counts samples whose outcome says something about the model; ``all``
counts every sample of the run, so that a fault of the infrastructure, of a task or of the user reads as not solved.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import fsum
from typing import TYPE_CHECKING

from npukernelbench.nouns import Completion, Outcome, Owner, Sample, Severity, Verdict
from npukernelbench.nouns.codec import to_json
from npukernelbench.report.estimates import FAST_PS, KS, Judged, both, estimates
from npukernelbench.report.spent import spent
from npukernelbench.run.turns import settled, spoken_for

if TYPE_CHECKING:
    from npukernelbench.store import Manifest

__all__ = ["KS", "SCHEMA", "sample_row", "summarise"]

#: Version of the layout of ``results.json``.
SCHEMA = 1

_UNKNOWN = "unknown"


def summarise(manifest: Manifest, samples: Iterable[Sample]) -> dict[str, object]:
    """The content of ``results.json``: plain JSON values, sorted, wall times only under ``timing``.

    The order of ``samples`` does not matter; samples without a verdict are left out. Keys: ``schema, run_id, identity,
    provenance, totals, aggregates {all, levels, categories, tasks}, turns, spent, samples, timing``. Of a conversation
    the turn that speaks for it is counted; ``turns`` says what was reached by when.
    """
    listed = list(samples)
    conversations = spoken_for(listed)
    speaking = [settled(turns) for turns in conversations.values()]
    judged = [Judged(one.key, one.verdict) for one in speaking if one.verdict is not None]
    facts = _task_facts(manifest.identity)
    price = manifest.provenance.get("price")
    answers: defaultdict[str, list[Completion]] = defaultdict(list)
    for one in listed:
        if one.completion is not None:
            answers[one.key.task].append(one.completion)
    everything = [completion for task in sorted(answers) for completion in answers[task]]
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
        "turns": _turns(conversations.values(), int(str(manifest.identity.get("turns", 1)))),
        "spent": spent(everything, price if isinstance(price, Mapping) else {}),
        "samples": [
            {**sample_row(one), "turns": len(turns)}
            for one, turns in zip(speaking, conversations.values(), strict=True)
        ],
        "timing": _timing(listed),
    }


def _task_facts(identity: Mapping[str, object]) -> dict[str, Mapping[str, object]]:
    tasks = identity.get("tasks")
    if not isinstance(tasks, Mapping):
        return {}
    return {name: facts for name, facts in tasks.items() if isinstance(facts, Mapping)}


def _totals(judged: Sequence[Judged]) -> dict[str, object]:
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


def _grouped(judged: Sequence[Judged], group: Callable[[Judged], str]) -> dict[str, object]:
    groups: defaultdict[str, list[Judged]] = defaultdict(list)
    for one in judged:
        groups[group(one)].append(one)
    return {name: _aggregate(groups[name]) for name in sorted(groups)}


def _aggregate(judged: Sequence[Judged]) -> dict[str, object]:
    return {
        "samples": len(judged),
        "problems": len({one.problem for one in judged}),
        "valid": sum(one.valid for one in judged),
        "infra": sum(one.verdict.owner is Owner.INFRA for one in judged),
        **estimates(judged),
    }


def _turns(conversations: Iterable[Sequence[Sample]], most: int) -> list[dict[str, object]]:
    """Per turn, from 1: how many were asked, and what share was reached by then. Empty for runs of one turn."""
    listed = list(conversations)
    most = max([most, *(one.key.turn + 1 for turns in listed for one in turns)])  # a strategy may take several steps
    if most == 1 or not listed:
        return []
    rows: list[dict[str, object]] = []
    for turn in range(most):
        so_far = [settled([one for one in turns if one.key.turn <= turn]) for turns in listed]
        judged = [Judged(one.key.conversation, one.verdict) for one in so_far if one.verdict is not None]
        # Whether a conversation says something about the model is decided at its end, so that denominators stay fixed.
        ends = {one.key.conversation: Judged(one.key, one.verdict) for t in listed if (one := settled(t)).verdict}
        groups = {"valid": [one for one in judged if ends[one.key].valid], "all": judged}
        reached = {
            one.key: any(Judged(t.key, t.verdict).compiled for t in turns[: turn + 1] if t.verdict)
            for one, turns in zip(judged, listed, strict=True)
        }
        rows.append(
            {
                "turn": turn + 1,
                "asked": sum(any(_answered_in(one, turn) for one in turns) for turns in listed),
                "compile": both(groups, lambda one, reached=reached: reached[one.key]),  # type: ignore[misc]
                "correct": both(groups, lambda one: one.correct),
                "fast_golden": {
                    str(p): both(groups, lambda one, p=p: one.fast("golden", p))  # type: ignore[misc]
                    for p in FAST_PS
                },
            }
        )
    return rows


def _answered_in(one: Sample, turn: int) -> bool:
    """Whether this is the given turn, and the model could be asked for it."""
    return one.key.turn == turn and one.verdict is not None and one.verdict.outcome is not Outcome.SKIPPED


def sample_row(sample: Sample) -> dict[str, object]:
    """One judged turn as a flat object."""
    verdict = sample.verdict
    if verdict is None:
        raise ValueError(f"{sample.key} has no verdict")
    one = Judged(sample.key, verdict)
    return {
        "task": one.key.task,
        "case": one.key.case,
        "track": one.key.track.value,
        "index": one.key.index,
        "turn": one.key.turn,
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


def _timing(samples: Iterable[Sample]) -> dict[str, object]:
    """Wall seconds of the harness per stage, summed over samples. The only part that differs between equal runs."""
    seconds: defaultdict[str, list[float]] = defaultdict(list)
    for one in samples:
        for stage, value in (one.verdict.timings if one.verdict else {}).items():
            seconds[stage].append(value)
    return {"stage_seconds": {stage: round(fsum(sorted(seconds[stage])), 6) for stage in sorted(seconds)}}
