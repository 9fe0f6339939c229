"""Conversations: the turns of one sample, where each goes on, and which of its turns speaks for it.

A conversation is over when its kernel is right, when its turns are used up, or when the model cannot be asked further.
Its last turn speaks for it, but where turns follow a right kernel (hint level ``full``) the fastest right one does.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from npukernelbench.generate.repair import Hints
from npukernelbench.generate.strategy import Strategy
from npukernelbench.nouns import Outcome, Prompt, Sample, SampleKey

__all__ = ["Position", "follow_up", "position", "settled", "spoken_for"]

_TIMES = ("measured_time_us", "predicted_time_us")


class Position(NamedTuple):
    """Where a conversation stands: the turn to come and its prompt."""

    key: SampleKey
    prompt: Prompt


def position(
    first: Position,
    strategy: Strategy,
    turns: int,
    hints: Hints,
    samples: Mapping[SampleKey, Sample],
    finished: Collection[SampleKey],
) -> Position | None:
    """The turn of a stored conversation that is not judged yet; None when the conversation is over."""
    here: Position | None = first
    while here is not None and here.key in finished:
        here = follow_up(samples[here.key], strategy, turns, hints)
    return here


def follow_up(sample: Sample, strategy: Strategy, turns: int, hints: Hints) -> Position | None:
    """The turn after a judged one; None when there is none."""
    prompt = strategy.following(sample, turns, hints)
    return None if prompt is None else Position(sample.key.following, prompt)


def spoken_for(samples: Iterable[Sample]) -> dict[SampleKey, list[Sample]]:
    """The judged turns of each conversation in order, by the key of the first."""
    found: defaultdict[SampleKey, list[Sample]] = defaultdict(list)
    for sample in samples:
        if sample.verdict is not None:
            found[sample.key.conversation].append(sample)
    return {key: sorted(found[key], key=lambda one: one.key.turn) for key in sorted(found)}


def settled(turns: Sequence[Sample]) -> Sample:
    """The turn that speaks for a conversation."""
    right = [turn for turn in turns if turn.verdict is not None and turn.verdict.outcome is Outcome.OK]
    if right:
        return min(right, key=lambda one: (_time_us(one), one.key.turn))
    asked = [turn for turn in turns if turn.verdict is not None and turn.verdict.outcome is not Outcome.SKIPPED]
    return asked[-1] if asked else turns[-1]


def _time_us(sample: Sample) -> float:
    metrics = sample.verdict.metrics if sample.verdict else {}
    return next((metrics[name] for name in _TIMES if name in metrics), float("inf"))
