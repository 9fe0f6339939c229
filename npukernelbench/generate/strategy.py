"""Strategies: how a kernel comes out of a model. What it is asked first, what is made of an answer, what follows.

With ``direct``, the default, a model writes Ascend C. Other strategies let it write something else and make the kernel
themselves, or lead it there in several steps; each is an object of a plugin. What a strategy makes is judged like any
other candidate. Every method is a pure function of its arguments, so that an interrupted run resumes with the same
words.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from npukernelbench.errors import UsageError
from npukernelbench.generate.extract import extract, extract_from_reasoning
from npukernelbench.generate.repair import next_prompt
from npukernelbench.generate.starting import with_start
from npukernelbench.nouns.evidence import Diagnostic
from npukernelbench.nouns.knowledge import Hints
from npukernelbench.nouns.outcomes import Outcome, Severity, Stage, Track
from npukernelbench.nouns.sample import Candidate, Completion, Prompt, Sample, ToolResult, Verdict
from npukernelbench.nouns.task import Case, Task
from npukernelbench.plugins.arguments import with_arguments

if TYPE_CHECKING:
    from npukernelbench.judge.documented import Documented
    from npukernelbench.plugins.registry import Registration
    from npukernelbench.prompts.style import PromptStyle, Tasks

__all__ = [
    "DIRECT",
    "FROM_REASONING",
    "SEARCH",
    "Answer",
    "Bench",
    "Calling",
    "Direct",
    "Made",
    "Searching",
    "Strategy",
    "load_strategy",
    "no_candidate",
]

#: The metric of a verdict whose kernel was taken out of the reasoning.
FROM_REASONING = "from_reasoning"

#: In the template of every prompt of a search: of its turns, the best one on public cases speaks.
SEARCH = "+search:"


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer and what it answers. ``parser`` is the one that the run names; ``timeout_s`` what making a kernel of
    the answer may take.
    """

    task: Task
    cases: tuple[Case, ...]
    track: Track
    prompt: Prompt
    completion: Completion
    parser: Registration
    timeout_s: float = 60.0


@dataclass(frozen=True, slots=True)
class Made:
    """What was made of an answer.

    With outcome OK ``candidate`` is judged, and ``diagnostics`` and ``metrics`` are added to its verdict. With any
    other outcome the sample ends at ``stage``; ``candidate`` then holds the files that ``diagnostics`` speak of.
    """

    candidate: Candidate | None
    outcome: Outcome = Outcome.OK
    stage: Stage = Stage.EXTRACT
    diagnostics: tuple[Diagnostic, ...] = ()
    metrics: Mapping[str, float] = field(default_factory=dict)


@runtime_checkable
class Strategy(Protocol):
    """A way from a model's answers to a kernel. Methods may be called from several threads."""

    @property
    def steps(self) -> int:
        """How many questions a conversation has where every answer is right; each may be asked ``--turns`` times."""
        ...

    def opening(self, task: Task, case: Case | None, track: Track, style: PromptStyle, tasks: Tasks) -> Prompt:
        """The first question. ``style`` is the prompt style that the run names, ``tasks`` gives all tasks by name."""
        ...

    def make(self, answer: Answer) -> Made:
        """The candidate out of an answer. Never raises for what a model wrote."""
        ...

    def following(self, sample: Sample, turns: int, hints: Hints) -> Prompt | None:
        """The next question after a judged turn, None when the conversation is over; ``turns`` is what ``--turns``
        says.
        """
        ...


@dataclass(frozen=True, slots=True)
class Bench:
    """What the tools of a strategy may use: the judge of the run, on cases that the model may know.

    ``documented`` is the executor as far as it documents its interface; None where it does not.
    """

    judge: Callable[[Candidate], Verdict]
    check: Callable[[Candidate], Verdict]
    documented: Documented | None


@runtime_checkable
class Calling(Protocol):
    """A strategy whose model calls tools: its prompts have some. Optional."""

    def call(self, answer: Answer, bench: Bench) -> tuple[ToolResult, ...]:
        """What the calls of an answer are answered with, one for each. Never raises for what a model wrote."""
        ...


@runtime_checkable
class Searching(Protocol):
    """A strategy that looks at all turns of a conversation before it asks again; its prompts' templates have
    :data:`SEARCH`. Optional: ``following`` is then not asked.
    """

    def proposal(self, turns: Sequence[Sample]) -> Prompt | None:
        """The next question after these judged turns, in order; None when the search is over."""
        ...


def load_strategy(registration: Registration, args: Mapping[str, object] | None = None) -> Strategy:
    """The strategy behind a registration, an object or a class that works without arguments; else PluginError.

    UsageError when ``args`` are given to one that takes none, or do not fit.
    """
    # An object is made already; arguments would have no effect, and nobody would notice.
    if args and not isinstance(registration.load(), type):
        raise UsageError(
            f"strategy {registration.name!r} takes no arguments", field="strategy_args", remedy="leave them out"
        )
    if args:
        construction = with_arguments(registration, args, field="strategy_args")
        strategy = registration.construct(construction.target, construction.args)
    else:
        strategy = registration.instance()
    if not isinstance(strategy, Strategy):
        raise registration.broken("lacks 'opening', 'make' or 'following'")
    return strategy


def no_candidate(outcome: Outcome) -> Made:
    """Nothing to judge: the answer holds no source, or was cut off."""
    remedy = "raise max_tokens" if outcome is Outcome.TRUNCATED else ""
    note = Diagnostic(Severity.ERROR, outcome.value, outcome.meaning, remedy=remedy)
    return Made(None, outcome, Stage.EXTRACT, (note,))


class Direct:
    """The model writes Ascend C: prompts of the style that the run names, code taken out by its parser."""

    steps = 1

    def opening(self, task: Task, case: Case | None, track: Track, style: PromptStyle, tasks: Tasks) -> Prompt:
        """What the style says, and the kernel that a task of optimisation begins with."""
        del tasks
        return with_start(style, task, case, track)

    def make(self, answer: Answer) -> Made:
        """The files that the parser finds, or a draft out of the reasoning where it may look there."""
        extracted = extract(answer.parser, answer.completion, answer.task, answer.track)
        if not isinstance(extracted, Outcome):
            return Made(extracted)
        draft = extract_from_reasoning(answer.parser, answer.completion, answer.task, answer.track)
        if draft is None:
            return no_candidate(extracted)
        # The verdict says it, so that results with drafts can be told from those without.
        return Made(draft, diagnostics=(_DRAFT,), metrics={FROM_REASONING: 1.0})

    def following(self, sample: Sample, turns: int, hints: Hints) -> Prompt | None:
        """The same question again with what is wrong, until the turns are used up."""
        if sample.key.turn + 1 >= turns or sample.completion is None or sample.verdict is None:
            return None
        return next_prompt(sample.prompt, sample.completion, sample.candidate, sample.verdict, hints)


_DRAFT = Diagnostic(
    Severity.WARNING,
    "code_from_reasoning",
    "the answer holds no kernel; this one comes from the model's reasoning",
    remedy="judge with another --parser to count such answers as no_code",
)

DIRECT = Direct()
