"""A judged run, reduced to what comparisons and leaderboards count: by which rules, who, and how every sample ended.

Records come out of the event log. A published folder without one is read from the samples of its ``results.json``.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from npukernelbench.errors import SourceLocation, UsageError
from npukernelbench.judge.speed import SPEEDUPS
from npukernelbench.nouns import Outcome, Owner, Sample
from npukernelbench.nouns.results import Results
from npukernelbench.report.estimates import Judged
from npukernelbench.run.turns import settled
from npukernelbench.store import StoredRun, read_run
from npukernelbench.store.manifest import differences

__all__ = [
    "OURS",
    "Attempt",
    "Problem",
    "RunRecord",
    "attempt_of",
    "conversations",
    "named_differences",
    "read_record",
    "record_of",
    "record_of_results",
    "record_with",
    "rule_differences",
    "rules_name",
    "rules_of",
    "settings_of",
    "shown",
    "timing_of",
]

#: Characters by which a digest is told from others.
_DIGEST = 12
#: What the executor says of itself that decides times and no verdict.
_TIMING = ("launch", "time_model")
#: Fields of the identity by which a sample is judged. Everything else says who was asked, and how.
_RULES = ("track", "hidden", "compile_timeout_s", "run_timeout_s", "harness", "rules")
#: The rules of task files, not of a benchmark.
OURS = "ours"
# Inputs are drawn from a secret that is another one in every run, and no setting.
_FIELDS_OF_OTHERS = frozenset((*_RULES, "tasks", "executor", "inputs"))


class Problem(NamedTuple):
    """A task with one case, or on the dynamic track with all of them (``case`` is empty)."""

    task: str
    case: str

    def __str__(self) -> str:
        return f"{self.task}/{self.case or '*'}"


@dataclass(frozen=True, slots=True)
class Attempt:
    """One sample, or one conversation by the turn that speaks for it. ``speedups`` are by baseline."""

    problem: Problem
    index: int
    outcome: Outcome
    valid: bool
    compiled: bool
    correct: bool
    speedups: Mapping[str, float]

    def fast(self, baseline: str, p: float) -> bool:
        """Whether it is right and at least p times as fast as the baseline."""
        return self.speed(baseline) >= p

    def speed(self, baseline: str) -> float:
        """How many times as fast as the baseline; below 0 where it is wrong, which is slower than any p."""
        return self.speedups.get(baseline, 0.0) if self.correct else -1.0


@dataclass(frozen=True)
class RunRecord:
    """A run as far as it is compared. ``expected`` is the number of samples that a finished run has."""

    folder: Path
    run_id: str
    identity: Mapping[str, object]
    attempts: tuple[Attempt, ...]

    @cached_property
    def problems(self) -> Mapping[Problem, tuple[Attempt, ...]]:
        """The samples that say something about the model, by problem; a problem without any is there, and empty."""
        by_problem: defaultdict[Problem, list[Attempt]] = defaultdict(list)
        for attempt in self.attempts:
            # Extended by nothing for an uncounted sample, so that its problem is there all the same.
            by_problem[attempt.problem].extend([attempt] if attempt.valid else [])
        return {problem: tuple(by_problem[problem]) for problem in sorted(by_problem)}

    @property
    def tasks(self) -> Mapping[str, object]:
        """Facts about each task: hash, version, cases, level."""
        tasks = self.identity.get("tasks")
        return tasks if isinstance(tasks, Mapping) else {}

    @property
    def tier(self) -> str:
        """What proved its verdicts."""
        return str(_mapping(self.identity.get("executor")).get("tier", "unknown"))

    @property
    def track(self) -> str:
        """What models had to write."""
        return str(self.identity.get("track", "unknown"))

    @property
    def machine(self) -> str:
        """The machine that kernels ran on, or that was predicted."""
        description = _mapping(_mapping(self.identity.get("executor")).get("description"))
        return str(description.get("machine", ""))

    @property
    def model(self) -> str:
        """The model's own name where one is given, else the backend's."""
        named = _mapping(self.identity.get("model_args")).get("model")
        return str(named or self.identity.get("model") or "unknown")

    @property
    def expected(self) -> int:
        """Samples that the run asked for."""
        samples = self.identity.get("samples")
        per_problem = samples if isinstance(samples, int) else 1
        cases = (_mapping(facts).get("cases") for facts in self.tasks.values())
        # Only the static track asks once per case; on others all cases of a task are one problem.
        problems = sum(len(ids) if self.track == "static" and isinstance(ids, list) else 1 for ids in cases)
        # At least what is there, so that the number of missing samples is never below 0.
        return max(problems * per_problem, len(self.attempts))

    @property
    def counted(self) -> int:
        """Samples that say something about the model."""
        return sum(attempt.valid for attempt in self.attempts)

    @property
    def uncounted(self) -> int:
        """Samples that are missing or say nothing about the model."""
        return self.expected - self.counted

    def only(self, tasks: Iterable[str]) -> RunRecord:
        """The same run as if it had been asked for these tasks alone."""
        kept = set(tasks)
        identity = {**self.identity, "tasks": {name: facts for name, facts in self.tasks.items() if name in kept}}
        attempts = tuple(attempt for attempt in self.attempts if attempt.problem.task in kept)
        return RunRecord(self.folder, self.run_id, identity, attempts)


def read_record(folder: Path) -> RunRecord:
    """The run in a folder. UsageError when there is none, or nothing in it was judged."""
    run = read_run(folder)
    record = record_of(run)
    if not record.attempts:
        raise UsageError(
            "nothing in this run was judged yet",
            location=SourceLocation(folder),
            remedy="give the command that began the run again: it goes on where it stopped",
        )
    return record


def record_of(run: StoredRun) -> RunRecord:
    """A stored run, as far as it was judged."""
    if not run.samples and run.results is not None:
        return record_of_results(run.results, run.directory)
    return record_with(run, map(attempt_of, conversations(run)))


def record_with(run: StoredRun, attempts: Iterable[Attempt]) -> RunRecord:
    """A stored run whose conversations somebody has read already, by :func:`attempt_of`."""
    return RunRecord(run.directory, run.manifest.run_id, run.manifest.identity, tuple(attempts))


def record_of_results(results: Results, folder: Path) -> RunRecord:
    """A run out of its results, without reading every sample again."""
    return RunRecord(folder, results.run_id, results.identity, tuple(_of_results(results)))


def rules_of(record: RunRecord) -> dict[str, object]:
    """Everything by which its samples were judged but the tasks: track, tier, executor, limits, version."""
    executor = _mapping(record.identity.get("executor"))
    description = _mapping(executor.get("description"))
    # Whoever runs another time model still judges by the same rules, so that rates may be compared.
    judged_by = {
        **executor,
        "description": {name: value for name, value in description.items() if name not in _TIMING},
    }
    return {**{name: record.identity.get(name) for name in _RULES}, "executor": judged_by}


def timing_of(record: RunRecord) -> dict[str, object]:
    """What decides its times beside the rules."""
    description = _mapping(_mapping(record.identity.get("executor")).get("description"))
    return {name: description.get(name) for name in _TIMING}


def settings_of(record: RunRecord) -> dict[str, object]:
    """Who was asked, and how: model, sampling, prompt, strategy, turns, number of samples, seed."""
    return {name: value for name, value in record.identity.items() if name not in _FIELDS_OF_OTHERS}


def rules_name(identity: Mapping[str, object]) -> str:
    """By whose rules a run was judged, for people: ``ours``, or the benchmark's name and whether it would compare."""
    rules = _mapping(identity.get("rules"))
    comparable = "comparable" if rules.get("comparable") else "not comparable"
    return f"{rules.get('name')} ({comparable})" if rules else OURS


def rule_differences(first: RunRecord, second: RunRecord) -> Iterator[str]:
    """:func:`named_differences` of the rules. Of different benchmarks the names say enough."""
    pair = [rules_of(record) for record in (first, second)]
    names = [rules_name(record.identity) for record in (first, second)]
    if names[0] != names[1]:
        pair = [{**rules, "rules": name} for rules, name in zip(pair, names, strict=True)]
    yield from named_differences(*pair)


def named_differences(first: Mapping[str, object], second: Mapping[str, object]) -> Iterator[str]:
    """``name: value against value`` per field in which two mappings differ."""
    for name, old, new in differences("", first, second):
        yield f"{name}: {shown(old)} against {shown(new)}"


def conversations(run: StoredRun) -> Iterator[list[Sample]]:
    """The judged turns of every conversation in order, one conversation in memory at a time."""
    # `groupby` joins neighbours only.
    for _, keys in groupby(sorted(run.samples), key=lambda key: key.conversation):
        turns = [sample for key in keys if (sample := run.samples[key]).verdict is not None]
        if turns:
            yield turns


def attempt_of(turns: Sequence[Sample]) -> Attempt:
    """One conversation by the turn that speaks for it."""
    sample = settled(turns)
    judged = Judged.of(sample)
    verdict = judged.verdict
    return Attempt(
        Problem(sample.key.task, sample.key.case),
        sample.key.index,
        verdict.outcome,
        judged.valid,
        judged.compiled,
        judged.correct,
        _speedups(verdict.metrics),
    )


def _of_results(results: Results) -> Iterator[Attempt]:
    for row in results.samples:
        valid = row.owner in (Owner.MODEL, Owner.NONE)
        yield Attempt(
            Problem(row.task, row.case),
            row.index,
            row.outcome,
            valid,
            # As `Judged.compiled` has it: a fault of ours says nothing about the compiler either.
            valid and row.compiled,
            row.correct,
            _speedups(row.metrics),
        )


def _speedups(metrics: Mapping[str, object]) -> dict[str, float]:
    there = ((baseline, metrics.get(metric)) for baseline, metric in SPEEDUPS.items())
    # Only numbers: results that were read again hold whatever their JSON held.
    return {baseline: float(value) for baseline, value in there if isinstance(value, int | float)}


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, Mapping) else {}


def shown(value: object) -> str:
    """A setting for people: of a digest its beginning, of a long text what fits a line, of no value ``unset``."""
    text = "unset" if value is None else str(value) if isinstance(value, str) else repr(value)
    if re.fullmatch("[0-9a-f]{32,}", text):
        return text[:_DIGEST] + "…"
    return text if len(text) <= 40 else text[:37] + "…"
