"""From an answer to a verdict: the one way that runs, ``npukb judge``, ``npukb rejudge`` and rewards share.

A strategy makes a candidate out of the answer, with the parser that was named, and the judge decides on it. An answer
that holds no candidate ends here. Whoever asks only says how answers are read (:class:`Reading`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from npukernelbench.errors import UsageError
from npukernelbench.generate.strategy import FROM_REASONING, Answer, Strategy, load_strategy
from npukernelbench.judge.once import JudgedOnce
from npukernelbench.judge.score import stopped
from npukernelbench.nouns import FinishReason, Outcome, Prompt, Stage

if TYPE_CHECKING:
    from npukernelbench.judge.pipeline import Judge
    from npukernelbench.nouns import Candidate, Case, Completion, Task, Track, Verdict
    from npukernelbench.plugins import Plugins
    from npukernelbench.plugins.registry import Registration

__all__ = ["NO_PROMPT", "AnswerJudge", "Judged", "Reading"]

#: For answers whose question is not known, such as a file or a trainer's sample.
NO_PROMPT = Prompt((), "", "")


@dataclass(frozen=True, slots=True)
class Reading:
    """How answers are read. ``name`` says it in a word and tells readings apart: ``direct/auto``."""

    name: str
    strategy: Strategy
    parser: Registration

    @classmethod
    def of(cls, plugins: Plugins, strategy: str, parser: str) -> Reading:
        """The strategy and the parser of these names. UsageError for an unknown one, PluginError for a broken one."""
        chosen, taken = plugins.strategies.find(strategy), plugins.parsers.find(parser)
        return cls(f"{chosen.name}/{taken.name}", load_strategy(chosen), taken)

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
    had been judged before.
    """

    candidate: Candidate | None
    verdict: Verdict
    repeated: bool = False


class AnswerJudge:
    """Judges answers with one judge. Equal code for one problem is judged once. Safe to call from several threads.

    The last ``limit`` verdicts are remembered, all without one, as ``kept`` makes them.
    """

    def __init__(
        self, judge: Judge, *, limit: int | None = None, kept: Callable[[Verdict], Verdict] = lambda verdict: verdict
    ) -> None:
        self._judge, self._kept = judge, kept
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
        on_stage: Callable[[Stage], None] | None = None,
    ) -> Judged:
        """The verdict on the answer over ``cases``; ``on_stage`` is told the judge's stages as they begin.

        Never raises for what a model wrote; PluginError when strategy or parser are broken.
        """
        if completion.finish_reason is FinishReason.CONTENT_FILTER:
            # Whatever came through is not what the model wrote.
            return Judged(None, stopped(track, self._judge.tier, Stage.GENERATE, Outcome.FILTERED))
        cases, timeout_s = tuple(cases), self._judge.settings.compile_timeout_s
        made = reading.strategy.make(Answer(task, cases, track, prompt, completion, reading.parser, timeout_s))
        candidate = made.candidate
        if made.outcome is not Outcome.OK or candidate is None:
            return Judged(candidate, stopped(track, self._judge.tier, made.stage, made.outcome, made.diagnostics))
        verdict, repeated = self._known.verdict(
            _key(reading, task, cases, track, candidate),
            lambda: self._judge.judge(task, cases, track, candidate, on_stage=on_stage),
            kept=self._kept,
        )
        verdict = replace(
            verdict,
            diagnostics=(*verdict.diagnostics, *made.diagnostics),
            metrics={**verdict.metrics, **made.metrics},
            timings={} if repeated else verdict.timings,
        )
        return Judged(candidate, verdict, repeated)

    def remember(
        self, reading: Reading, candidate: Candidate, verdict: Verdict, *, task: Task, cases: Sequence[Case]
    ) -> None:
        """Take over a verdict that an earlier session of the same run reached.

        One on a draft out of the reasoning says so, which is not true of an answer that gives the same code: such a
        verdict is not taken over.
        """
        if FROM_REASONING not in verdict.metrics:
            self._known.remember(_key(reading, task, cases, verdict.track, candidate), verdict)


def _key(reading: Reading, task: Task, cases: Sequence[Case], track: Track, candidate: Candidate) -> tuple[object, ...]:
    """What a verdict depends on besides the executor and the judge's settings."""
    return reading.name, task.name, tuple(case.id for case in cases), track, candidate.hash
