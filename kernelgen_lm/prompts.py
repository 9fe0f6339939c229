"""The prompt style ``few-shot``: a question and its right answer as earlier turns of the conversation.

The example is a generated question of the task's family and the kernel that its tile program is lowered to, of an
operator that is not held out. It stands in messages of its own, so that models whose chat template shortens prompts see
it whole.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache
from random import Random

from kernelgen_lm.corpus.judged import kernel_of
from kernelgen_lm.corpus.questions import FAMILIES, draw_question, is_held_out
from kernelgen_lm.corpus.spec import Spec
from npukernelbench.errors import UsageError
from npukernelbench.generate.extract import DEVICE_SOURCE
from npukernelbench.generate.fences import wrap
from npukernelbench.nouns import Case, Message, Prompt, Task, Track
from npukernelbench.plugins import Plugins
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
        family = task.category.lower() if task.category.lower() in FAMILIES else "elementwise"
        rest = tuple(message for message in asked.messages if message.role != "system")
        shown = tuple(message for number in range(self.examples) for message in _example(family, number, task.name))
        messages = (*system, *shown, *rest)
        digest = hashlib.sha256(asked.hash.encode())
        for message in shown:
            # Each message by a hash of its own: other messages cannot give the same bytes together.
            digest.update(hashlib.sha256(f"{message.role}\0{message.content}".encode()).digest())
        return Prompt(messages, "few-shot@2", digest.hexdigest())


def _example(family: str, number: int, asked: str) -> tuple[Message, Message]:
    """A question of another operator than the one that is asked, and its answer; the same for equal arguments."""
    rng = Random(derive("few-shot", family, number))
    while True:
        spec = draw_question(rng, {family: 1})
        if not is_held_out(spec.function, _HELD_OUT) and spec.operator != asked:
            return _shown(spec)


@cache
def _shown(spec: Spec) -> tuple[Message, Message]:
    task = spec.task()
    messages = TERSE.render(task, task.cases[0], Track.STATIC).messages
    question = next(message for message in messages if message.role == "user")
    files = kernel_of(spec, task, Track.STATIC, Plugins.load())
    return question, Message("assistant", wrap(files[DEVICE_SOURCE]))


FEW_SHOT = FewShot()
