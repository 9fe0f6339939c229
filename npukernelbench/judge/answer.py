"""From an answer to a verdict: the one way that runs, ``npukb judge``, ``npukb rejudge`` and rewards share.

A strategy makes a candidate out of the answer, with the parser that was named, and the judge decides on it. An answer
that holds no candidate ends here. Whoever asks only says how answers are read (:class:`Reading`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, Protocol

from npukernelbench.errors import UsageError
from npukernelbench.generate.strategy import FROM_REASONING, Answer, Bench, Calling, Strategy, load_strategy
from npukernelbench.judge.once import JudgedOnce
from npukernelbench.judge.score import stopped
from npukernelbench.nouns import FinishReason, Outcome, Prompt, Stage, Track

if TYPE_CHECKING:
    from npukernelbench.judge.pipeline import Judge
    from npukernelbench.nouns import Candidate, Case, Completion, Task, ToolResult, Verdict
    from npukernelbench.plugins import Plugins
    from npukernelbench.plugins.registry import Registration

__all__ = ["NO_PROMPT", "AnswerJudge", "Asked", "Judged", "Reading", "Shared"]

# Ids of hidden cases begin so (`tasks.hidden`).
_HIDDEN = "hidden-"
#: For answers whose question is not known, such as a file or a trainer's sample.
NO_PROMPT = Prompt((), "", "")


@dataclass(frozen=True, slots=True)
class Reading:
    """How answers are read. ``name`` says it in a word and tells readings apart: ``direct/auto``."""

    name: str
    strategy: Strategy
    parser: Registration

    @classmethod
    def of(cls, plugins: Plugins, strategy: str, parser: str, args: Mapping[str, object] | None = None) -> Reading:
        """The strategy and the parser of these names. UsageError for an unknown one, PluginError for a broken one."""
        chosen, taken = plugins.strategies.find(strategy), plugins.parsers.find(parser)
        return cls(f"{chosen.name}/{taken.name}", load_strategy(chosen, args), taken)

    @classmethod
    def of_single(cls, plugins: Plugins, strategy: str, parser: str) -> Reading:
        """The same for answers that come without their question. UsageError when the strategy asks several questions:
        what an answer of its means depends on which one it answers.
        """
        reading = cls.of(plugins, strategy, parser)
        if reading.strategy.steps > 1:
            raise UsageError(
                f"strategy {strategy!r} asks {reading.strategy.steps} questions; an answer alone cannot be judged",
                field="strategy",
                remedy="judge it with npukb run or npukb rejudge",
            )
        return reading


class Judged(NamedTuple):
    """What became of an answer. ``candidate`` is None when the answer holds no code; ``repeated`` says that equal code
    had been judged before. ``calls`` are what the tools that it called had to say.
    """

    candidate: Candidate | None
    verdict: Verdict
    repeated: bool = False
    calls: tuple[ToolResult, ...] = ()


class Asked(NamedTuple):
    """What a verdict depends on besides the executor and the judge's settings; ``seed`` is what inputs are drawn from,
    None where that does not matter.
    """

    reading: str
    task: Task
    cases: tuple[Case, ...]
    track: Track
    candidate: Candidate
    seed: int | None


class Shared(Protocol):
    """Verdicts that several judges share. Neither method raises. ``found`` counts those of others that were used."""

    @property
    def found(self) -> int: ...

    def find(self, asked: Asked) -> Verdict | None:
        """A verdict on the same candidate, problem and inputs that was reached somewhere; None where there is none."""
        ...

    def add(self, asked: Asked, verdict: Verdict) -> None:
        """Let others find a verdict."""
        ...


class AnswerJudge:
    """Judges answers with one judge. Equal code for one problem is judged once. Safe to call from several threads.

    The last ``limit`` verdicts are remembered, all without one, as ``kept`` makes them; those of other judges are found
    in ``shared``.
    """

    def __init__(
        self,
        judge: Judge,
        *,
        limit: int | None = None,
        kept: Callable[[Verdict], Verdict] = lambda verdict: verdict,
        shared: Shared | None = None,
    ) -> None:
        self._judge, self._kept, self._shared = judge, kept, shared
        self._known = JudgedOnce(limit)

    def judge(
        self,
        reading: Reading,
        completion: Completion,
        *,
        task: Task,
        cases: Sequence[Case],
        track: Track,
        prompt: Prompt = NO_PROMPT,
        seed: int | None = None,
        on_stage: Callable[[Stage], None] | None = None,
    ) -> Judged:
        """The verdict on the answer over ``cases``; ``on_stage`` is told the judge's stages as they begin. ``seed``
        takes the place of the judge's own; code that was judged before keeps the verdict that it got with another.

        Never raises for what a model wrote; PluginError when strategy or parser are broken.
        """
        if completion.finish_reason is FinishReason.CONTENT_FILTER:
            # Whatever came through is not what the model wrote.
            return Judged(None, stopped(track, self._judge.tier, Stage.GENERATE, Outcome.FILTERED))
        cases, timeout_s = tuple(cases), self._judge.settings.compile_timeout_s
        answer = Answer(task, cases, track, prompt, completion, reading.parser, timeout_s)

        once = partial(self._once, reading, task, track, seed=seed, on_stage=on_stage)
        calls = completion.results
        if completion.calls and isinstance(reading.strategy, Calling):
            calls = reading.strategy.call(answer, self.bench(reading, task, cases, track, seed=seed, on_stage=on_stage))
        made = reading.strategy.make(answer)
        candidate = made.candidate
        if made.outcome is not Outcome.OK or candidate is None:
            verdict = stopped(track, self._judge.tier, made.stage, made.outcome, made.diagnostics)
            return Judged(candidate, verdict, calls=calls)
        verdict, repeated = once(cases, candidate)
        verdict = replace(
            verdict,
            diagnostics=(*verdict.diagnostics, *made.diagnostics),
            metrics={**verdict.metrics, **made.metrics},
            # The time was spent once, for the answer that was judged first.
            timings={} if repeated else verdict.timings,
        )
        return Judged(candidate, verdict, repeated, calls)

    def bench(
        self,
        reading: Reading,
        task: Task,
        cases: Sequence[Case],
        track: Track,
        *,
        seed: int | None = None,
        on_stage: Callable[[Stage], None] | None = None,
    ) -> Bench:
        """The judge as a tool, on those of ``cases`` that whoever writes the kernel may know."""
        known = _told(task, tuple(cases), track)
        once = partial(self._once, reading, task, track, known, seed=seed, on_stage=on_stage)
        check = partial(self._judge.check, task, known, track)
        return Bench(lambda candidate: once(candidate)[0], check, self._judge.documented)

    def _once(
        self,
        reading: Reading,
        task: Task,
        track: Track,
        cases: tuple[Case, ...],
        candidate: Candidate,
        *,
        seed: int | None,
        on_stage: Callable[[Stage], None] | None,
    ) -> tuple[Verdict, bool]:
        inputs = self._judge.settings.seed if seed is None else seed
        asked = Asked(reading.name, task, cases, track, candidate, inputs)
        remembered: list[Verdict] = []

        def reach() -> Verdict:
            # In here, so that equal candidates that wait for this verdict ask the storage only once.
            if self._shared is not None and (elsewhere := self._shared.find(asked)) is not None:
                remembered.append(elsewhere)
                return elsewhere
            verdict = self._judge.judge(task, cases, track, candidate, seed=seed, on_stage=on_stage)
            if self._shared is not None:
                # In the form that is remembered here: whoever finds it gets what a repetition gets.
                self._shared.add(asked, self._kept(verdict))
            return verdict

        key = _key(reading, task, cases, track, candidate)
        verdict, repeated = self._known.verdict(key, reach, kept=self._kept)
        return verdict, repeated or bool(remembered)

    def remember(
        self, reading: Reading, candidate: Candidate, verdict: Verdict, *, task: Task, cases: Sequence[Case]
    ) -> None:
        """Take over a verdict that an earlier session of the same run reached.

        One on a draft out of the reasoning says so, which is not true of an answer that gives the same code: such a
        verdict is not taken over.
        """
        if FROM_REASONING not in verdict.metrics:
            self._known.remember(_key(reading, task, cases, verdict.track, candidate), verdict)


def _told(task: Task, cases: tuple[Case, ...], track: Track) -> tuple[Case, ...]:
    """The cases that tools may judge on: public ones, those of the task where none was selected. A static kernel has
    its one case only, hidden or not: what is told of a hidden one is the strategy's to limit.
    """
    if track is Track.STATIC:
        return cases
    return tuple(case for case in cases if not case.id.startswith(_HIDDEN)) or tuple(task.cases)


def _key(reading: Reading, task: Task, cases: Sequence[Case], track: Track, candidate: Candidate) -> tuple[object, ...]:
    """What a verdict depends on besides the executor and the judge's settings."""
    return reading.name, task.name, tuple(case.id for case in cases), track, candidate.hash
