"""Conversations: the turns of one sample, where each goes on, and which of its turns speaks for it.

A conversation is over when its kernel is right, when its turns are used up, or when the model cannot be asked further.
Its last turn speaks for it, but where turns follow a right kernel (hint level ``full``) the fastest right one does. Of
a conversation with tools it is always the last one: the model was told what its kernels reached, and chose. Of a search
it is the best one on public cases.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from npukernelbench.generate.strategy import SEARCH, Searching, Strategy
from npukernelbench.generate.telling import public_time_us, public_verdict
from npukernelbench.nouns import Outcome, Prompt, Sample, SampleKey
from npukernelbench.nouns.knowledge import Hints

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
    before: list[Sample] = []
    # From the first turn on, since each prompt follows from the verdict before it.
    while here is not None and here.key in finished:
        before.append(samples[here.key])
        here = follow_up(before, strategy, turns, hints)
    return here


def follow_up(before: Sequence[Sample], strategy: Strategy, turns: int, hints: Hints) -> Position | None:
    """The turn after those judged so far; None when there is none."""
    last = before[-1]
    prompt = strategy.proposal(before) if isinstance(strategy, Searching) else strategy.following(last, turns, hints)
    return None if prompt is None else Position(last.key.following, prompt)


def spoken_for(samples: Iterable[Sample]) -> dict[SampleKey, list[Sample]]:
    """The judged turns of each conversation in order, by the key of the first."""
    conversations: defaultdict[SampleKey, list[Sample]] = defaultdict(list)
    for sample in samples:
        if sample.verdict is not None:
            conversations[sample.key.conversation].append(sample)
    return {key: sorted(conversations[key], key=lambda sample: sample.key.turn) for key in sorted(conversations)}


def settled(turns: Sequence[Sample]) -> Sample:
    """The turn that speaks for a conversation."""
    judged = [turn for turn in turns if turn.verdict is not None and turn.verdict.outcome is not Outcome.SKIPPED]
    # The template is all that a stored sample tells of its strategy.
    if judged and SEARCH in judged[0].prompt.template:
        return min(judged, key=_searched)
    right = [turn for turn in turns if turn.verdict is not None and turn.verdict.outcome is Outcome.OK]
    if right and not any(turn.calls for turn in turns):
        return min(right, key=lambda sample: (_time_us(sample), sample.key.turn))
    return judged[-1] if judged else turns[-1]


def _searched(sample: Sample) -> tuple[bool, float, float, int]:
    """Right on public cases, then more of them right, then faster, then earlier."""
    assert sample.verdict is not None
    public = public_verdict(sample.verdict)
    right = public.outcome is Outcome.OK
    # A kernel that did not compile has no cases, and its share is 0.
    share = public.metrics.get("cases_passed", 0.0) / max(1.0, public.metrics.get("cases_total", 1.0))
    return not right, -share, public_time_us(sample.verdict) if right else 0.0, sample.key.turn


def _time_us(sample: Sample) -> float:
    metrics = sample.verdict.metrics if sample.verdict else {}
    # Measured before predicted: where a device measured, its time is what counts.
    return next((metrics[name] for name in _TIMES if name in metrics), float("inf"))
