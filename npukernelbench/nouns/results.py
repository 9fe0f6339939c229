"""What a run amounts to: the content of ``results.json`` as frozen data, for reports, thresholds and plugins.

Names follow the file, with ``_at_`` for ``@``: ``pass_at_k`` is written ``pass@k``. The file is read and written by
:mod:`npukernelbench.store.results` only. docs/statistics.md says what each number means.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from npukernelbench.nouns.outcomes import Outcome, Owner, Stage, Tier, Track

__all__ = [
    "After",
    "Aggregate",
    "Aggregates",
    "CallRow",
    "Calls",
    "Cost",
    "Counted",
    "Optimised",
    "Results",
    "SampleRow",
    "Share",
    "Shares",
    "Spent",
    "Timing",
    "Tokens",
    "Totals",
    "TurnRow",
]


@dataclass(frozen=True, slots=True)
class Share:
    """A share with its 95 % interval over tasks; ``n`` is what was counted: samples, or problems."""

    value: float
    low: float
    high: float
    n: int


@dataclass(frozen=True, slots=True)
class Counted:
    """How many samples there are, and of how many problems. ``valid`` are the samples that say something about the
    model.
    """

    samples: int
    problems: int
    valid: int


@dataclass(frozen=True, slots=True)
class Shares:
    """A share over both denominators: samples that say something about the model, and all. None when none counted."""

    valid: Share | None
    all: Share | None


@dataclass(frozen=True, slots=True)
class Aggregate(Counted):
    """What some samples of a run reached. Keys of mappings are k, baseline and p, as texts."""

    infra: int
    compile_at_1: Shares
    correct_at_1: Shares
    pass_at_k: Mapping[str, Shares] = field(default_factory=dict)
    compile_at_k: Mapping[str, Shares] = field(default_factory=dict)
    pass_all_at_k: Mapping[str, Shares] = field(default_factory=dict)
    fast_p: Mapping[str, Mapping[str, Shares]] = field(default_factory=dict)
    fast_p_at_k: Mapping[str, Mapping[str, Mapping[str, Shares]]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Aggregates:
    """Over everything, and by level, category and task."""

    all: Aggregate
    levels: Mapping[str, Aggregate]
    categories: Mapping[str, Aggregate]
    tasks: Mapping[str, Aggregate]


@dataclass(frozen=True, slots=True)
class Totals(Counted):
    """Counts of samples. Outcomes and owners that do not occur are left out."""

    compiled: int
    correct: int
    outcomes: Mapping[Outcome, int]
    owners: Mapping[Owner, int]


@dataclass(frozen=True, slots=True)
class TurnRow:
    """What conversations had reached by a turn, counted from 1, and how many were asked for it."""

    turn: int
    asked: int
    compile: Shares
    correct: Shares
    fast_golden: Mapping[str, Shares]


@dataclass(frozen=True, slots=True)
class After:
    """Where conversations stood after so many calls, or so many judged kernels. ``made`` is how many conversations made
    as many.
    """

    calls: int
    made: int


@dataclass(frozen=True, slots=True)
class EffortRow(After):
    """Where conversations stood after so many judged kernels.

    ``solved`` is the share with a kernel that is right on public cases, ``speedup`` the geometric mean over those of
    the first right kernel's time divided by the best one's. ``fast_golden`` is per p the share with a kernel that is
    right and at least p times as fast as our golden kernel. ``tokens``, ``cost`` and ``seconds`` are means of what was
    spent by then; None where it is not known.
    """

    solved: float
    speedup: float | None
    tokens: float
    cost: float | None
    seconds: float | None
    fast_golden: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Effort:
    """What judged kernels brought to agents, tools and searches.

    ``area`` is the mean of ``solved`` over all numbers of kernels. Of ``right_on_public`` answers ``right_on_hidden``
    are right on cases that were not shown. ``refused`` are judged kernels that did not compute, by outcome, and
    ``with_refused`` conversations that had one.
    """

    conversations: int
    after: tuple[EffortRow, ...]
    area: float | None
    right_on_public: int
    right_on_hidden: int
    refused: Mapping[Outcome, int]
    with_refused: int


@dataclass(frozen=True, slots=True)
class Optimised:
    """How fast kernels became that had a slow start.

    Of ``counted`` samples that say something about the model, ``right`` are right, ``faster`` faster than their start,
    and ``as_golden`` at least as fast as our golden kernel. A sample's number is how many times as fast as its start it
    is, 1 where it is not right or not faster: ``score`` is the geometric mean, ``speedups`` are quantiles by
    share, ``0.50`` the median.
    """

    counted: int
    right: int
    faster: int
    as_golden: int
    score: float
    speedups: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class CallRow(After):
    """What conversations with tools had reached after so many calls of check and judge."""

    correct: Shares


@dataclass(frozen=True, slots=True)
class Calls:
    """What models did with their tools. ``paid`` are calls of check and judge, ``judged`` those of judge alone, by
    outcome; ``rules`` says how many of those broke a rule of the hardware, and ``violations_per_call`` how many rules
    one broke on average, None without any.
    """

    paid: int
    judged: int
    free: int
    malformed: int
    refused: int
    faults: int
    outcomes: Mapping[Outcome, int]
    rules: Mapping[str, int]
    violations_per_call: float | None
    after: tuple[CallRow, ...]


@dataclass(frozen=True, slots=True)
class Cost:
    """An amount of money."""

    amount: float
    currency: str = "USD"


@dataclass(frozen=True, slots=True)
class Tokens:
    """Tokens as backends counted them; ``reasoning`` is part of ``completion``."""

    prompt: int = 0
    completion: int = 0
    reasoning: int = 0


@dataclass(frozen=True, slots=True)
class Spent:
    """What answers took. Those out of a cache cost nothing; ``uncounted`` are those whose backend gave no counts.

    ``cost`` is None where no price is known, never 0.
    """

    answers: int = 0
    cached: int = 0
    uncounted: int = 0
    tokens: Tokens = Tokens()
    cost: Cost | None = None


@dataclass(frozen=True, slots=True)
class SampleRow:
    """One judged turn. ``message`` is the first line of its first error, ``turns`` the length of its conversation."""

    task: str
    case: str
    track: Track
    index: int
    turn: int
    tier: Tier
    stage: Stage
    outcome: Outcome
    owner: Owner
    compiled: bool
    correct: bool
    predicted_time_us: float | None
    measured_time_us: float | None
    metrics: Mapping[str, float]
    message: str
    turns: int = 1

    @property
    def problem(self) -> tuple[str, str]:
        """Task and case."""
        return (self.task, self.case)


@dataclass(frozen=True, slots=True)
class Timing:
    """Wall seconds of the harness per stage, summed over samples. Beside the seconds of :class:`EffortRow` the only
    part that differs between equal runs.
    """

    stage_seconds: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Results:
    """All of ``results.json``. ``identity`` and ``provenance`` are those of the manifest, as JSON values."""

    #: How pydantic reads and writes all of these types; a plain dictionary, so that nothing is imported for it.
    __pydantic_config__: ClassVar[dict[str, object]] = {
        "alias_generator": lambda name: name.replace("_at_", "@"),
        "extra": "forbid",
    }

    schema: int
    run_id: str
    identity: Mapping[str, object]
    provenance: Mapping[str, object]
    totals: Totals
    aggregates: Aggregates
    samples: tuple[SampleRow, ...]
    timing: Timing
    turns: tuple[TurnRow, ...] = ()
    spent: Spent = Spent()
    calls: Calls | None = None
    effort: Effort | None = None
    optimised: Optimised | None = None
