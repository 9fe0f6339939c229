"""What a run amounts to: :class:`~npukernelbench.nouns.results.Results` out of a manifest and its samples.

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
from dataclasses import replace
from functools import partial
from math import fsum
from typing import TYPE_CHECKING

from npukernelbench.nouns import Completion, Outcome, Owner, Sample, SampleKey, Severity, Verdict
from npukernelbench.nouns.codec import JSON, to_json
from npukernelbench.nouns.results import Aggregate, Aggregates, Results, SampleRow, Timing, Totals, TurnRow
from npukernelbench.report.calls import calls_of
from npukernelbench.report.effort import effort_of
from npukernelbench.report.estimates import FAST_PS, KS, Judged, aggregate, both
from npukernelbench.report.optimised import optimised
from npukernelbench.report.spent import price_of, spent
from npukernelbench.run.turns import settled, spoken_for
from npukernelbench.store.migrations import RESULTS_SCHEMA

if TYPE_CHECKING:
    from npukernelbench.store import Manifest

__all__ = ["KS", "level_of", "sample_row", "summarise"]

_UNKNOWN = "unknown"


def summarise(manifest: Manifest, samples: Iterable[Sample]) -> Results:
    """The content of ``results.json``; wall times only under ``timing``.

    The order of ``samples`` does not matter; samples without a verdict are left out. Of a conversation the turn that
    speaks for it is counted; ``turns`` says what was reached by when.
    """
    listed = list(samples)
    conversations = spoken_for(listed)
    speaking = [settled(turns) for turns in conversations.values()]
    judged = [Judged(sample.key, sample.verdict) for sample in speaking if sample.verdict is not None]
    facts = _task_facts(manifest.identity)
    price = price_of(manifest.provenance)
    answers: defaultdict[str, list[Completion]] = defaultdict(list)
    for sample in listed:
        if sample.completion is not None:
            answers[sample.key.task].append(sample.completion)
    everything = [completion for task in sorted(answers) for completion in answers[task]]
    return Results(
        schema=RESULTS_SCHEMA,
        run_id=manifest.run_id,
        identity=_object(to_json(manifest.identity)),
        provenance=_object(to_json(manifest.provenance)),
        totals=_totals(judged),
        aggregates=Aggregates(
            all=aggregate(judged),
            levels=_grouped(judged, lambda sample: level_of(facts, sample.key.task)),
            categories=_grouped(judged, lambda sample: str(facts.get(sample.key.task, {}).get("category", _UNKNOWN))),
            tasks=_grouped(judged, lambda sample: sample.key.task, own=True),
        ),
        turns=_turns(conversations.values(), int(str(manifest.identity.get("turns", 1)))),
        calls=calls_of(conversations.values()),
        effort=effort_of(conversations.values(), price),
        optimised=optimised(judged),
        spent=spent(everything, price),
        samples=tuple(
            replace(sample_row(sample), turns=len(turns))
            for sample, turns in zip(speaking, conversations.values(), strict=True)
        ),
        timing=_timing(listed),
    )


def level_of(tasks: Mapping[str, object], name: str) -> str:
    """The level under which a task is counted; ``tasks`` is what the manifest says of each."""
    facts = tasks.get(name)
    return str(facts.get("level", _UNKNOWN)) if isinstance(facts, Mapping) else _UNKNOWN


def _object(value: JSON) -> Mapping[str, JSON]:
    assert isinstance(value, Mapping)
    return value


def _task_facts(identity: Mapping[str, object]) -> dict[str, Mapping[str, object]]:
    tasks = identity.get("tasks")
    if not isinstance(tasks, Mapping):
        return {}
    return {name: facts for name, facts in tasks.items() if isinstance(facts, Mapping)}


def _totals(judged: Sequence[Judged]) -> Totals:
    outcomes = Counter(sample.verdict.outcome for sample in judged)
    owners = Counter(sample.verdict.owner for sample in judged)
    return Totals(
        samples=len(judged),
        problems=len({sample.problem for sample in judged}),
        valid=sum(sample.valid for sample in judged),
        compiled=sum(sample.compiled for sample in judged),
        correct=sum(sample.correct for sample in judged),
        # In the order of the enumerations: equal samples give equal files, in whatever order they ended.
        outcomes={outcome: outcomes[outcome] for outcome in Outcome if outcomes[outcome]},
        owners={owner: owners[owner] for owner in Owner if owners[owner]},
    )


def _grouped(judged: Sequence[Judged], group: Callable[[Judged], str], *, own: bool = False) -> dict[str, Aggregate]:
    groups: defaultdict[str, list[Judged]] = defaultdict(list)
    for sample in judged:
        groups[group(sample)].append(sample)
    return {name: aggregate(groups[name], own=own) for name in sorted(groups)}


def _turns(conversations: Iterable[Sequence[Sample]], most: int) -> tuple[TurnRow, ...]:
    """Per turn, from 1: how many were asked, and what share was reached by then. Empty for runs of one turn."""
    listed = list(conversations)
    # A strategy may take several steps.
    most = max([most, *(sample.key.turn + 1 for turns in listed for sample in turns)])
    if most == 1 or not listed:
        return ()
    # Whether a conversation says something about the model is decided at its end, so that denominators stay fixed.
    ends = {
        last.key.conversation: Judged(last.key, last.verdict) for turns in listed if (last := settled(turns)).verdict
    }
    return tuple(_turn(listed, turn, ends) for turn in range(most))


def _turn(listed: Sequence[Sequence[Sample]], turn: int, ends: Mapping[SampleKey, Judged]) -> TurnRow:
    """What was reached by ``turn``, counted from 0."""
    so_far = [settled([sample for sample in turns if sample.key.turn <= turn]) for turns in listed]
    judged = [Judged(sample.key.conversation, sample.verdict) for sample in so_far if sample.verdict is not None]
    groups = {"valid": [sample for sample in judged if ends[sample.key].valid], "all": judged}
    # What compiled once has compiled by then, though the turn that speaks for it may not.
    compiled = {
        sample.key: any(Judged(t.key, t.verdict).compiled for t in turns[: turn + 1] if t.verdict)
        for sample, turns in zip(judged, listed, strict=True)
    }
    return TurnRow(
        turn=turn + 1,
        asked=sum(any(_answered_in(sample, turn) for sample in turns) for turns in listed),
        compile=both(groups, lambda sample: compiled[sample.key]),
        correct=both(groups, lambda sample: sample.correct),
        fast_golden={str(p): both(groups, partial(Judged.fast, baseline="golden", p=p)) for p in FAST_PS},
    )


def _answered_in(sample: Sample, turn: int) -> bool:
    """Whether this is the given turn, and the model could be asked for it."""
    return sample.key.turn == turn and sample.verdict is not None and sample.verdict.outcome is not Outcome.SKIPPED


def sample_row(sample: Sample) -> SampleRow:
    """One judged turn as flat data."""
    judged = Judged.of(sample)
    verdict = judged.verdict
    return SampleRow(
        task=sample.key.task,
        case=sample.key.case,
        track=sample.key.track,
        index=sample.key.index,
        turn=sample.key.turn,
        tier=verdict.tier,
        stage=verdict.stage,
        outcome=verdict.outcome,
        owner=verdict.owner,
        compiled=judged.compiled,
        correct=judged.correct,
        predicted_time_us=verdict.metrics.get("predicted_time_us"),
        measured_time_us=verdict.metrics.get("measured_time_us"),
        metrics=verdict.metrics,
        message=_message(verdict),
    )


def _message(verdict: Verdict) -> str:
    """The first line of the first error, for tables; empty when there is none."""
    everything = [*verdict.diagnostics, *(d for case in verdict.cases for d in case.diagnostics)]
    errors = [d.message for d in everything if d.severity is Severity.ERROR]
    return errors[0].strip().split("\n", 1)[0][:300] if errors and errors[0].strip() else ""


def _timing(samples: Iterable[Sample]) -> Timing:
    seconds: defaultdict[str, list[float]] = defaultdict(list)
    for sample in samples:
        for stage, value in (sample.verdict.timings if sample.verdict else {}).items():
            seconds[stage].append(value)
    # Sorted and added exactly, so that the sum is the same in whatever order samples ended.
    return Timing({stage: round(fsum(sorted(seconds[stage])), 6) for stage in sorted(seconds)})
