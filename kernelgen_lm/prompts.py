"""The prompt style ``few-shot``: a question and its right answer as earlier turns of the conversation.

The example is a generated question of the task's family and the kernel that the corpus would hold for it, of an
operator that is not held out. It stands in messages of its own, so that models whose chat template shortens prompts see
it whole.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from random import Random

from kernelgen_lm.corpus.kernels import write_kernel
from kernelgen_lm.corpus.questions import FAMILIES, draw_question, is_held_out
from kernelgen_lm.corpus.reasoning import reason
from kernelgen_lm.corpus.sample import answer_text
from kernelgen_lm.corpus.style import draw_style
from npukernelbench.errors import UsageError
from npukernelbench.nouns import Case, Message, Prompt, Task, Track
from npukernelbench.prompts.style import TERSE
from npukernelbench.seed import derive

__all__ = ["FEW_SHOT", "FewShot"]

#: The share that ``corpus build`` holds out.
_HELD_OUT = 0.1


@dataclass(frozen=True, slots=True)
class FewShot:
    """``terse`` after a number of worked examples."""

    examples: int = 1

    @property
    def tracks(self) -> frozenset[Track]:
        """The static one: there are no examples for the other."""
        return frozenset({Track.STATIC})

    def render(self, task: Task, case: Case | None, track: Track) -> Prompt:
        """The examples, then the question. UsageError on a track for which there are none."""
        if track not in self.tracks:
            raise UsageError("examples are of the static track", field="--prompt_style", remedy="use default")
        asked = TERSE.render(task, case, track)
        system = tuple(message for message in asked.messages if message.role == "system")
        rest = tuple(message for message in asked.messages if message.role != "system")
        shown = tuple(message for number in range(self.examples) for message in _example(task, number))
        messages = (*system, *shown, *rest)
        digest = hashlib.sha256(asked.hash.encode())
        for message in shown:
            digest.update(hashlib.sha256(f"{message.role}\0{message.content}".encode()).digest())
        return Prompt(messages, "few-shot@1", digest.hexdigest())


def _example(task: Task, number: int) -> tuple[Message, Message]:
    """A question and its answer; the same for equal arguments."""
    family = task.category.lower() if task.category.lower() in FAMILIES else "elementwise"
    rng = Random(derive("few-shot", family, number))
    while True:
        spec = draw_question(rng, {family: 1})
        style = draw_style(rng)
        kernel = write_kernel(spec, style)
        if kernel is None or is_held_out(spec.function, _HELD_OUT) or spec.operator == task.name:
            continue
        other = spec.task()
        question = next(
            message for message in TERSE.render(other, other.cases[0], Track.STATIC).messages if message.role == "user"
        )
        return question, Message("assistant", answer_text(reason(spec, style, kernel, rng), kernel.source))


FEW_SHOT = FewShot()
