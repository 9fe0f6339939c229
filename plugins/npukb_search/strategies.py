"""The three searches. Every proposal is a pure function of the judged turns before it, so that a run resumes with the
same words; what a model is told, and what is chosen by, are public cases alone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from pydantic import BaseModel, Field

from npukernelbench.generate.repair import extended, feedback
from npukernelbench.generate.sources import as_completion
from npukernelbench.generate.strategy import DIRECT, SEARCH, Answer, Made
from npukernelbench.generate.telling import public_time_us, public_verdict
from npukernelbench.nouns import Case, Message, Outcome, Owner, Prompt, Sample, Task, Track, Verdict
from npukernelbench.nouns.knowledge import Hints
from npukernelbench.seed import derive
from npukernelbench.strict import Strict

if TYPE_CHECKING:
    from npukernelbench.prompts.style import PromptStyle, Tasks

__all__ = ["BestOf", "BestOfArgs", "Evolve", "EvolveArgs", "Optimise"]

#: Raised with every change of wording or of choice, so that results name what was done.
VERSION = 1
_CHARACTERS_PER_TOKEN = 4
_ANOTHER = "\n\nHere is another kernel for the same task, which does something else. Use what is good in it:\n\n"


class BestOfArgs(Strict):
    """The budget of a search, given by ``--strategy_args key=value,…``."""

    calls: int = Field(8, ge=1, description="kernels that are asked for and judged")
    tokens: int = Field(1_000_000, ge=1, description="tokens of all questions and answers together")


class EvolveArgs(BestOfArgs):
    """The same, and how kernels are kept apart."""

    calls: int = Field(32, ge=1, description="kernels that are asked for and judged")
    islands: int = Field(3, ge=1, description="populations that breed apart")
    migration: int = Field(8, ge=1, description="after so many kernels an island sees its neighbour's best")


class Kernel(NamedTuple):
    """A judged turn, as a search sees it: on public cases."""

    sample: Sample
    verdict: Verdict
    time_us: float

    @property
    def right(self) -> bool:
        """On all public cases."""
        return self.verdict.outcome is Outcome.OK

    @property
    def rank(self) -> tuple[bool, int, float, float, int]:
        """Better kernels have a smaller one."""
        metrics = self.verdict.metrics
        share = metrics.get("cases_passed", 0.0) / max(1.0, metrics.get("cases_total", 1.0))
        stage = list(type(self.verdict.stage)).index(self.verdict.stage)
        # False sorts before True. The time of a wrong kernel counts nothing, and the turn makes the order total.
        return not self.right, -stage, -share, self.time_us if self.right else 0.0, self.sample.key.turn

    @property
    def cell(self) -> tuple[str, str, int]:
        """What it does: how it ended, which unit is busiest, and to within a factor of two how many cores work."""
        profile = next((case.profile for case in self.verdict.cases if case.profile), None)
        if profile is None:
            return self.verdict.outcome.value, "", 0
        busy = {name: value for name, value in profile.counters.items() if name.endswith("_ratio")}
        # Sorted first: of equal ratios max() takes the first, which must not depend on an executor's order.
        busiest = max(sorted(busy), key=lambda name: busy[name]) if busy else ""
        return self.verdict.outcome.value, busiest, int(math.log2(max(1, profile.blocks)))


class _Search:
    """What all searches share: the opening, the making of a kernel, the budget."""

    name: ClassVar[str] = ""
    args: BestOfArgs

    @property
    def steps(self) -> int:
        """The most questions."""
        return self.args.calls

    def opening(self, task: Task, case: Case | None, track: Track, style: PromptStyle, tasks: Tasks) -> Prompt:
        """What the style says."""
        return self._named(DIRECT.opening(task, case, track, style, tasks))

    def make(self, answer: Answer) -> Made:
        """As a model without a strategy."""
        return DIRECT.make(answer)

    def following(self, sample: Sample, turns: int, hints: Hints) -> Prompt | None:
        """A search looks at all turns: see ``proposal``."""
        del turns, hints
        return self.proposal((sample,))

    def proposal(self, turns: Sequence[Sample]) -> Prompt | None:
        """The next question; None when the budget is used up, or the model cannot be asked."""
        last = turns[-1].verdict
        # A fault of ours ends it for now: the run resumes there.
        if last is None or last.owner is Owner.INFRA:
            return None
        # Skipped is a question that the model's server refused for good, one that is too long for instance.
        if len(turns) >= self.args.calls or last.outcome is Outcome.SKIPPED:
            return None
        if sum(map(_tokens, turns)) >= self.args.tokens:
            return None
        return self._next(turns)

    def _next(self, turns: Sequence[Sample]) -> Prompt:
        raise NotImplementedError

    def _named(self, prompt: Prompt) -> Prompt:
        return extended(prompt, (), f"{prompt.template}{SEARCH}{self.name}@{VERSION}")


class BestOf(_Search):
    """The same question again and again; the best kernel on public cases is the answer."""

    Args: ClassVar[type[BaseModel]] = BestOfArgs
    name = "best-of"

    def __init__(self, args: BestOfArgs | None = None) -> None:
        self.args = args or BestOfArgs()

    def _next(self, turns: Sequence[Sample]) -> Prompt:
        return turns[0].prompt


class Optimise(_Search):
    """From the best kernel so far: its messages until it is right, then where its time goes."""

    Args: ClassVar[type[BaseModel]] = BestOfArgs
    name = "optimise"

    def __init__(self, args: BestOfArgs | None = None) -> None:
        self.args = args or BestOfArgs()

    def _next(self, turns: Sequence[Sample]) -> Prompt:
        kernels = _kernels(turns)
        return _from(turns[0].prompt, min(kernels, key=lambda kernel: kernel.rank)) if kernels else turns[0].prompt


class Evolve(_Search):
    """Islands, each with the best kernel of every kind; parents are drawn from them, better ones more often."""

    Args: ClassVar[type[BaseModel]] = EvolveArgs
    name = "evolve"

    def __init__(self, args: EvolveArgs | None = None) -> None:
        self.args: EvolveArgs = args or EvolveArgs()

    def _next(self, turns: Sequence[Sample]) -> Prompt:
        number = len(turns)
        # By the number of the turn: islands take turns, and a resumed run knows which one is next.
        here = number % self.args.islands
        island = self.archive(turns, here)
        if number % self.args.migration == 0:
            # Only the best of one neighbour: islands are to stay different.
            island += self.archive(turns, (here + 1) % self.args.islands)[:1]
        if not island:
            return turns[0].prompt
        # The square favours the front of the list, without a parameter.
        drawn = (derive("evolve", str(turns[0].key), number) % 10_000 / 10_000) ** 2
        parent = island[int(drawn * len(island))]
        # Of what does something else, the best.
        other = next((kernel for kernel in island if kernel.cell != parent.cell), None)
        return _from(turns[0].prompt, parent, other)

    def archive(self, turns: Sequence[Sample], island: int) -> list[Kernel]:
        """The best kernel of every kind on an island, better ones first."""
        best: dict[tuple[str, str, int], Kernel] = {}
        for kernel in _kernels(turns):
            if kernel.sample.key.turn % self.args.islands == island:
                known = best.get(kernel.cell)
                best[kernel.cell] = kernel if known is None else min(kernel, known, key=lambda kept: kept.rank)
        return sorted(best.values(), key=lambda kept: kept.rank)


def _kernels(turns: Sequence[Sample]) -> list[Kernel]:
    """Those turns that gave a kernel which was judged. A fault of ours says nothing about one."""
    return [
        Kernel(turn, public_verdict(turn.verdict), public_time_us(turn.verdict))
        for turn in turns
        if turn.candidate is not None and turn.verdict is not None and turn.verdict.owner in (Owner.MODEL, Owner.NONE)
    ]


def _from(opening: Prompt, parent: Kernel, other: Kernel | None = None) -> Prompt:
    """The question, the parent as if it had been the answer, and what is to be said about it."""
    candidate = parent.sample.candidate
    assert candidate is not None  # only such turns are kernels
    text = feedback(candidate, parent.verdict, Hints.FULL)
    if other is not None and other.sample.candidate is not None:
        text += _ANOTHER + as_completion(other.sample.candidate.files, opening)
    # Only these two: a conversation that grew with every turn would use the tokens up.
    said = (Message("assistant", as_completion(candidate.files, opening)), Message("user", text))
    return extended(opening, said, opening.template)


def _tokens(turn: Sample) -> int:
    """Tokens of a question and its answer, estimated where the server counts none."""
    completion = turn.completion
    if completion is None:
        return 0
    counted = completion.usage.prompt + completion.usage.completion
    characters = sum(len(message.content) for message in turn.prompt.messages) + len(completion.text)
    return counted or characters // _CHARACTERS_PER_TOKEN
