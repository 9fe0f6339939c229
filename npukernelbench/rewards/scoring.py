"""Whatever scores answers: in this process (:class:`~npukernelbench.rewards.scorer.Scorer`), or by a server
(:class:`~npukernelbench.rewards.client.RemoteScorer`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from npukernelbench.generate import Hints
from npukernelbench.nouns import FinishReason, Verdict
from npukernelbench.rewards.question import Question
from npukernelbench.rewards.reward import Reward

__all__ = ["Answer", "Scored", "Scoring", "Terms", "Turn"]


class Answer(NamedTuple):
    """A model's answer to a question. Thinking, in tags in ``text`` or apart in ``reasoning``, is searched for code
    only by a parser that says so.
    """

    question: Question
    text: str
    finish_reason: FinishReason = FinishReason.STOP
    reasoning: str = ""


class Terms(NamedTuple):
    """What one request wants otherwise than the scorer does by itself: names of a policy, a strategy and a parser
    (empty: the scorer's own), the hint level of the feedback (None: no feedback), the seed of inputs that a batch
    shares with others (None: the scorer draws one; see :mod:`npukernelbench.rewards.drawing`), and in whose name it
    asks: callers take turns.
    """

    policy: str = ""
    strategy: str = ""
    parser: str = ""
    hints: Hints | None = None
    seed: int | None = None
    caller: str = ""


class Scored(NamedTuple):
    """A reward with the verdict it was derived from. ``candidate`` is the hash of the code; empty when there is none.
    A repeated verdict has no profiles. ``waited_s`` is how long the answer waited for its turn.
    """

    reward: Reward
    candidate: str
    repeated: bool
    feedback: str
    verdict: Verdict
    waited_s: float = 0.0


class Turn(NamedTuple):
    """A reward, and what the model is told next (:func:`npukernelbench.generate.next_prompt`).

    ``feedback`` is empty when there is nothing to repair: the kernel is right, or the fault is ours.
    """

    reward: Reward
    feedback: str


class Scoring(Protocol):
    """Whatever scores answers. Safe to call from several threads."""

    def score(self, answers: Sequence[Answer]) -> list[Reward]:
        """One reward per answer, in their order. UsageError for a question that does not exist."""
        ...

    def repair(self, answers: Sequence[Answer], hints: Hints) -> list[Turn]:
        """The same with what the model is told at this hint level, for conversations of several turns."""
        ...

    async def score_async(self, answers: Sequence[Answer]) -> list[Reward]:
        """The same without blocking the event loop."""
        ...

    def close(self) -> None:
        """Give everything back."""
        ...
