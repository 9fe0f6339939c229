"""One sample from prompt to verdict. Pure frozen data; everything here can be written as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any, NamedTuple

from npukernelbench.nouns.evidence import Diagnostic, Profile
from npukernelbench.nouns.outcomes import Outcome, Owner, Stage, Tier, Track

__all__ = [
    "Candidate",
    "CaseResult",
    "Completion",
    "FinishReason",
    "Message",
    "Prompt",
    "Sample",
    "SampleKey",
    "TokenUsage",
    "Verdict",
]


@dataclass(frozen=True, slots=True, order=True)
class SampleKey:
    """Identity of a sample inside a run. ``case`` is empty on the dynamic track.

    ``turn`` counts the answers of one conversation from 0; only runs with several turns have more than that one.
    """

    task: str
    case: str
    track: Track
    index: int
    turn: int = 0

    def __str__(self) -> str:
        place = (self.task, self.case or "*", self.track.value, str(self.index))
        return "/".join((*place, f"turn{self.turn}") if self.turn else place)

    @property
    def conversation(self) -> SampleKey:
        """The key of the conversation's first turn, which stands for all of it."""
        return replace(self, turn=0) if self.turn else self

    @property
    def following(self) -> SampleKey:
        """The key of the conversation's next turn."""
        return replace(self, turn=self.turn + 1)


class Message(NamedTuple):
    """One chat message; ``role`` is ``system``, ``user`` or ``assistant``."""

    role: str
    content: str


@dataclass(frozen=True, slots=True)
class Prompt:
    """What a model is asked. ``template`` is ``name@version``, ``hash`` covers template and rendered text."""

    messages: tuple[Message, ...]
    template: str
    hash: str


class FinishReason(str, Enum):
    """Why a model stopped."""

    STOP = "stop"
    LENGTH = "length"
    CONTENT_FILTER = "content_filter"
    OTHER = "other"


class TokenUsage(NamedTuple):
    """Token counts as reported by the backend; 0 when it does not say."""

    prompt: int = 0
    completion: int = 0
    reasoning: int = 0


@dataclass(frozen=True, slots=True)
class Completion:
    """A model's answer. ``reasoning`` is kept apart, and code in it is no answer unless a run asks for that.

    ``sent`` is the sampling as it was sent, under the names of the server or engine; empty when the backend does not
    say. ``cached`` is true for an answer that came out of a cache and cost nothing now.
    """

    text: str
    finish_reason: FinishReason = FinishReason.STOP
    reasoning: str = ""
    usage: TokenUsage = field(default_factory=TokenUsage)
    model: str = ""
    sent: Mapping[str, Any] = field(default_factory=dict)
    cached: bool = False


@dataclass(frozen=True, slots=True)
class Candidate:
    """Source files taken from an answer, by relative name.

    The device source of the static track is ``kernel.cpp``; files of the dynamic track lie in ``op_host/`` and
    ``op_kernel/``.
    """

    files: Mapping[str, str]
    hash: str


@dataclass(frozen=True, slots=True)
class CaseResult:
    """Verdict on one case. ``metrics`` have fixed names: see ``docs/metrics.md``."""

    case: str
    stage: Stage
    outcome: Outcome
    diagnostics: tuple[Diagnostic, ...] = ()
    metrics: Mapping[str, float] = field(default_factory=dict)
    profile: Profile | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """The judge's word on one candidate.

    ``stage`` is the stage that decided (``DONE`` when ok), ``outcome`` the first failure in case order. ``timings``
    are wall seconds per stage of the harness itself: they are no property of the candidate and take no part in
    results. ``sandbox`` names the measures that confined the candidate, as the executor tells them.
    """

    track: Track
    tier: Tier
    stage: Stage
    outcome: Outcome
    owner: Owner
    cases: tuple[CaseResult, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    metrics: Mapping[str, float] = field(default_factory=dict)
    timings: Mapping[str, float] = field(default_factory=dict)
    # The same kernel gets the same verdict on machines with other sandboxes.
    sandbox: str = field(default="", compare=False)

    @property
    def meaning(self) -> str:
        """One sentence: the outcome's, or that it compiles, where no more than that was asked."""
        if self.outcome is Outcome.OK and self.stage is Stage.COMPILE:
            return "The source compiles. Nothing was run."
        return self.outcome.meaning


@dataclass(frozen=True, slots=True)
class Sample:
    """Everything about one sample."""

    key: SampleKey
    prompt: Prompt
    completion: Completion | None
    candidate: Candidate | None
    verdict: Verdict | None
