"""Preference pairs out of runs: answers of a model to one question, one right and one that compiles but fails.

A model that is sure of its mistakes answers a question wrong every time: there is nothing right to choose. Where a
corpus holds the question, its kernel, which the judge found right, can be chosen against such an answer.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, NamedTuple

from kernelgen_lm.corpus.sample import write_lines
from npukernelbench.errors import UsageError
from npukernelbench.nouns import Outcome, Owner, Sample
from npukernelbench.store.run import read_run

if TYPE_CHECKING:
    from kernelgen_lm.corpus.sample import Sample as CorpusSample

__all__ = ["Chosen", "Mining", "known_answers", "mine", "rejected_outcomes", "write_pairs"]

#: Which right kernels are chosen first: the fastest, or those that were answered first.
Chosen = Literal["fastest", "first"]
#: Kinds of what is rejected, beside the names of outcomes: kernels that compile but fail (best by the paper's
#: ablation), answers that do not compile, every wrong answer.
KINDS = ("fails", "uncompiled", "any")
_UNCOMPILED = frozenset({Outcome.TRUNCATED, Outcome.NO_CODE, Outcome.GUARD_REJECTED, Outcome.COMPILE_ERROR})
_WRONG = frozenset(outcome for outcome in Outcome if outcome.owner is Owner.MODEL)


class Mining(NamedTuple):
    """How pairs are made. ``rejected`` is one of :data:`KINDS` or names outcomes, separated by commas.

    With ``slower`` above 1, right kernels that take that many times as long as the chosen one are rejected, too.
    """

    rejected: str = "fails"
    chosen: Chosen = "fastest"
    slower: float = 0.0
    per_question: int = 4


def rejected_outcomes(text: str) -> frozenset[Outcome]:
    """What a kind or a list of outcomes stands for. UsageError for names of no wrong outcome."""
    if text in KINDS:
        return {"fails": _WRONG - _UNCOMPILED, "uncompiled": _UNCOMPILED, "any": _WRONG}[text]
    known = {outcome.value: outcome for outcome in _WRONG}
    names = [name.strip() for name in text.split(",")]
    for name in names:
        if name not in known:
            remedy = f"{', '.join(KINDS)}, or of {', '.join(sorted(known))}"
            raise UsageError(f"{name!r} is no wrong outcome", field="rejected", remedy=remedy)
    return frozenset(known[name] for name in names)


def known_answers(samples: Iterable[CorpusSample]) -> Mapping[str, str]:
    """The right answers of a corpus by the hash of what was asked, for :func:`mine`."""
    return {sample.hashes["prompt"]: sample.answer for sample in samples if "prompt" in sample.hashes}


def mine(
    runs: Sequence[Path], how: Mining, known: Mapping[str, str] = MappingProxyType({})
) -> Iterator[Mapping[str, object]]:
    """Pairs of every question that has a right and a wrong answer, each answer in one pair at most.

    ``known`` holds right answers by the hash of the prompt (:func:`known_answers`): each comes after the model's own.
    """
    outcomes = rejected_outcomes(how.rejected)
    questions: dict[str, list[Sample]] = defaultdict(list)
    for run in runs:
        for key, sample in read_run(run).samples.items():
            if sample.completion is not None and sample.verdict is not None:
                # With the prompt's hash: runs may ask the same case in other words, and a pair has one prompt.
                questions[f"{key.track.value}:{key.task}/{key.case}/{sample.prompt.hash}"].append(sample)
    for name in sorted(questions):
        samples = _different(questions[name])
        right = [sample for sample in samples if _outcome(sample) is Outcome.OK]
        if how.chosen == "fastest":
            right.sort(key=_time)
        wrong = [sample for sample in samples if _outcome(sample) in outcomes]
        # Each answer once: one right kernel against many wrong ones would be learned by heart.
        own = [*zip(right, wrong, strict=False), *_slower(right, how.slower)]
        pairs = [_pair(_text(chosen), other, "run") for chosen, other in own]
        # What found no partner above.
        left = wrong[len(right) :]
        if left and (answer := known.get(left[0].prompt.hash)):
            pairs.append(_pair(answer, left[0], "corpus"))
        yield from pairs[: how.per_question]


def _pair(chosen: str, rejected: Sample, source: str) -> Mapping[str, object]:
    """A line of a file of pairs; ``source`` says where the chosen answer comes from."""
    return {
        "prompt": [{"role": m.role, "content": m.content} for m in rejected.prompt.messages],
        "chosen": [{"role": "assistant", "content": chosen}],
        "rejected": [{"role": "assistant", "content": _text(rejected)}],
        "rejected_outcome": _outcome(rejected).value,
        "source": source,
        "operator": rejected.key.task,
    }


def write_pairs(path: Path, pairs: Iterator[Mapping[str, object]]) -> int:
    """Write pairs as JSON lines; how many there are."""
    lines = [json.dumps(pair, ensure_ascii=False) + "\n" for pair in pairs]
    write_lines(path, lines)
    return len(lines)


def _outcome(sample: Sample) -> Outcome:
    return sample.verdict.outcome if sample.verdict else Outcome.INFRA_ERROR


def _different(samples: Sequence[Sample]) -> list[Sample]:
    """One sample per text."""
    different: dict[str, Sample] = {}
    for sample in samples:
        different.setdefault(_text(sample), sample)
    return list(different.values())


def _slower(right: Sequence[Sample], factor: float) -> list[tuple[Sample, Sample]]:
    """The fastest kernel against those that are slower by the factor, slowest first."""
    timed = sorted((sample for sample in right if _time(sample) > 0), key=_time)
    if factor <= 1 or not timed:
        return []
    return [(timed[0], sample) for sample in reversed(timed) if _time(sample) >= factor * _time(timed[0])]


def _time(sample: Sample) -> float:
    cases = sample.verdict.cases if sample.verdict else ()
    return sum(case.profile.time_us for case in cases if case.profile is not None)


def _text(sample: Sample) -> str:
    completion = sample.completion
    if completion is None:
        return ""
    thinking = f"<think>\n{completion.reasoning.strip()}\n</think>\n\n" if completion.reasoning else ""
    return thinking + completion.text.lstrip()
