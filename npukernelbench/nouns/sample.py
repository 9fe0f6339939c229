"""One sample from prompt to verdict. Pure frozen data; everything here can be written as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any, NamedTuple

from npukernelbench.nouns.evidence import Diagnostic, Profile
from npukernelbench.nouns.outcomes import Outcome, Owner, Stage, Tier, Track

#: Where files of a candidate lie that its author took from elsewhere: an include path of every compilation.
INCLUDE_FOLDER = "include"
#: Says which function of a candidate of the launch track is called, and with what.
LAUNCH_FILE = "launch.yaml"


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
        # The same object for first turns, which most keys are.
        return replace(self, turn=0) if self.turn else self

    @property
    def following(self) -> SampleKey:
        """The key of the conversation's next turn."""
        return replace(self, turn=self.turn + 1)


class ToolCall(NamedTuple):
    """What a model wrote to call a tool. ``arguments`` is its text as it came, which may be no JSON."""

    id: str
    name: str
    arguments: str


class Message(NamedTuple):
    """One chat message; ``role`` is ``system``, ``user``, ``assistant`` or ``tool``.

    ``calls`` are those of an assistant's message; ``call`` is the id of the call that a tool's message answers.
    """

    role: str
    content: str
    calls: tuple[ToolCall, ...] = ()
    call: str = ""

    @property
    def RARE(self) -> frozenset[str]:  # noqa: N802  a constant of the class would be a field of the tuple
        return frozenset({"call", "calls"})

    @property
    def shown(self) -> str:
        """Content and calls as text for people."""
        return "\n".join([*([self.content] if self.content else []), *(f"{c.name}({c.arguments})" for c in self.calls)])


@dataclass(frozen=True, slots=True)
class Tool:
    """A function that a model may call. ``parameters`` is the JSON schema of its arguments."""

    name: str
    description: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Prompt:
    """What a model is asked. ``template`` is ``name@version``, ``hash`` covers template and rendered text.

    ``tools`` are those that it may call; none for most prompts.
    """

    # Without an annotation, or it would be a field of the dataclass.
    RARE = frozenset({"tools"})

    messages: tuple[Message, ...]
    template: str
    hash: str
    tools: tuple[Tool, ...] = ()


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
    say. ``cached`` is true for an answer that came out of a cache and cost nothing now. ``calls`` are the tools that
    the model called in it. An agent has called them before it answered: then ``results`` are what it was told, and
    ``transcript`` is its own record of the work. ``seconds`` are those between question and answer, 0 when the backend
    does not say.
    """

    RARE = frozenset({"calls", "results", "transcript", "seconds"})

    text: str
    finish_reason: FinishReason = FinishReason.STOP
    reasoning: str = ""
    usage: TokenUsage = field(default_factory=TokenUsage)
    model: str = ""
    sent: Mapping[str, Any] = field(default_factory=dict)
    cached: bool = False
    calls: tuple[ToolCall, ...] = ()
    results: tuple[ToolResult, ...] = ()
    transcript: str = ""
    # Equal answers are equal, however long a server took.
    seconds: float = field(default=0.0, compare=False)


class CallStatus(str, Enum):
    """What became of a call."""

    ANSWERED = "answered"  # the tool did its work
    MALFORMED = "malformed"  # no tool of that name, or no arguments that it takes
    REFUSED = "refused"  # the budget is used up
    FAULT = "fault"  # the tool failed by our fault


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a model was told in answer to a call. ``paid`` calls count against its budget.

    ``outcome`` is that of a kernel that the call had judged or, with ``compiled_only``, compiled; ``rules`` are the
    rules of the hardware that it broke. ``time_us`` is the time of a right kernel, ``speedup`` how many times as fast
    as our golden kernel it is; 0 where none is known. ``tokens`` and ``seconds`` are what the answer had taken when an
    agent had been told; of calls that end an answer, ``seconds`` are those since the answer and ``tokens`` are 0.
    """

    RARE = frozenset({"time_us", "tokens", "seconds"})

    id: str
    name: str
    content: str
    status: CallStatus
    paid: bool = False
    outcome: Outcome | None = None
    compiled_only: bool = False
    rules: tuple[str, ...] = ()
    time_us: float = 0.0
    tokens: int = 0
    # The same call gets the same answer, however long the judge took.
    seconds: float = field(default=0.0, compare=False)
    speedup: float = 0.0


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
    """Everything about one sample. ``calls`` are what the tools that its answer called had to say."""

    RARE = frozenset({"calls"})

    key: SampleKey
    prompt: Prompt
    completion: Completion | None
    candidate: Candidate | None
    verdict: Verdict | None
    calls: tuple[ToolResult, ...] = ()
