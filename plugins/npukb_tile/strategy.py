"""``--strategy tile``: the model writes a tile program, the lowering is ours.

Faults of a program are reported with line and remedy before anything is compiled; the lowered kernel is judged like
any other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from npukb_tile.answers import program_in
from npukb_tile.brief import brief_opening
from npukb_tile.child import Request
from npukb_tile.making import PROGRAM, lower
from npukb_tile.prompting import opening, refusal
from npukernelbench.generate import Hints, candidate_of, next_prompt
from npukernelbench.generate.strategy import Answer, Made, no_candidate
from npukernelbench.nouns import Case, Outcome, Prompt, Sample, Stage, Task, Track
from npukernelbench.prompts.style import TERSE, TemplateStyle

if TYPE_CHECKING:
    from npukernelbench.prompts.style import PromptStyle, Tasks

__all__ = ["TILE", "TileStrategy", "made_of"]

_HIDDEN = "hidden-"


class TileStrategy:
    """One question, and repair with what reading, interpreter, checker or judge found wrong."""

    steps = 1

    def refuses(self, task: Task, track: Track) -> str | None:
        """Tasks that the language has no words for."""
        del track
        return refusal(task)

    def opening(self, task: Task, case: Case | None, track: Track, style: PromptStyle, tasks: Tasks) -> Prompt:
        """The language, a program of the same category, the operator; with the prompt style ``terse`` only what the
        language has for operators of that class.
        """
        del track
        if isinstance(style, TemplateStyle) and style.name == TERSE.name:
            return brief_opening(task, case)
        return opening(task, case, tasks())

    def make(self, answer: Answer) -> Made:
        """The kernel that the program is lowered to; the program stays beside it."""
        source = program_in(answer.completion)
        return no_candidate(source) if isinstance(source, Outcome) else made_of(source, answer)

    def following(self, sample: Sample, turns: int, hints: Hints) -> Prompt | None:
        """The same question again with what is wrong, until the turns are used up."""
        if sample.key.turn + 1 >= turns or sample.completion is None or sample.verdict is None:
            return None
        return next_prompt(sample.prompt, sample.completion, sample.candidate, sample.verdict, hints)


def made_of(source: str, answer: Answer) -> Made:
    """What a program is lowered to, or what is wrong with it. Only cases that the model may know are tried."""
    # A static kernel is made for its one case, hidden or not; a dynamic one must not be fitted to hidden shapes.
    told = [case for case in answer.cases if answer.track is Track.STATIC or not case.id.startswith(_HIDDEN)]
    lowered = lower(Request(source, answer.task, tuple(told), answer.track), answer.timeout_s)
    if lowered.wrong is None:
        return Made(candidate_of({**lowered.files, PROGRAM: source}))
    # A fault of the lowering does not count against the model.
    outcome = Outcome.INFRA_ERROR if lowered.ours else Outcome.COMPILE_ERROR
    return Made(candidate_of({PROGRAM: source}), outcome, Stage.COMPILE, (lowered.wrong,))


TILE = TileStrategy()
