"""What judged kernels brought: curves against calls, tokens, money and time, and whether what was right on the cases
that were shown is right on the others too.

For conversations that ask the judge several times: agents, tools, searches. A step is a kernel that was judged on
public cases: a call of the tool judge, or a turn of a search.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from npukernelbench.generate.strategy import SEARCH
from npukernelbench.generate.telling import public_time_us, public_verdict
from npukernelbench.judge.speed import GOLDEN_US
from npukernelbench.nouns import Outcome, Owner, Sample, ToolResult, Verdict
from npukernelbench.nouns.results import Effort, EffortRow
from npukernelbench.report.estimates import FAST_PS
from npukernelbench.report.spent import cost_of
from npukernelbench.run.turns import settled

__all__ = ["UNCOMPUTED", "effort_of", "iterates"]

#: Numbers of steps that have a row, as far as some conversation made so many.
_KS = (1, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 50, 100, 200, 500, 1000)
#: How kernels end that a guard refused or that did not compute their outputs.
UNCOMPUTED = (Outcome.GUARD_REJECTED, Outcome.CHEAT)


class Step(NamedTuple):
    """A kernel that was judged. ``time_us`` is 0 unless it is right, ``seconds`` where nobody looked at a clock,
    ``speedup`` against our golden kernel unless it is right and that one's time is known. Tokens and seconds are those
    of the conversation so far, of answers and judging.
    """

    outcome: Outcome
    time_us: float
    prompt: int
    completion: int
    seconds: float
    speedup: float


def effort_of(conversations: Iterable[Sequence[Sample]], price: Mapping[str, object]) -> Effort | None:
    """The measures of all conversations; None where none is of an agent, with tools, or a search."""
    listed = [turns for turns in conversations if iterates(turns)]
    if not listed:
        return None
    steps = [_steps(turns) for turns in listed]
    # Up to the longest conversation: shorter ones count on with what they had reached.
    most = max(map(len, steps))
    # A fault of ours at the end says nothing about the model: such conversations are left out, as everywhere.
    kept = [step for step, turns in zip(steps, listed, strict=True) if _valid(settled(turns))]
    rows = {k: _row(kept, k, price) for k in range(1, most + 1)} if kept else {}
    cheats = [[step for step in conversation if step.outcome in UNCOMPUTED] for conversation in steps]
    counted = Counter(step.outcome for cheat in cheats for step in cheat)
    shown, held = _generalised(listed)
    return Effort(
        conversations=len(kept),
        after=tuple(row for k, row in rows.items() if k in _KS or k == most),
        area=sum(row.solved for row in rows.values()) / len(rows) if rows else None,
        right_on_public=shown,
        right_on_hidden=held,
        refused={outcome: counted[outcome] for outcome in UNCOMPUTED if counted[outcome]},
        with_refused=sum(map(bool, cheats)),
    )


def iterates(turns: Sequence[Sample]) -> bool:
    """Whether a conversation is of an agent, with tools, or a search."""
    return any(turn.calls for turn in turns) or SEARCH in turns[0].prompt.template


def _valid(sample: Sample) -> bool:
    return sample.verdict is not None and sample.verdict.owner in (Owner.MODEL, Owner.NONE)


def _steps(turns: Sequence[Sample]) -> list[Step]:
    calling = any(turn.calls for turn in turns)
    prompt, completion, seconds = 0, 0, 0.0
    steps: list[Step] = []
    for turn in turns:
        before = (prompt, completion)
        if turn.completion is not None and not turn.completion.cached:
            prompt, completion = prompt + turn.completion.usage.prompt, completion + turn.completion.usage.completion
            # An agent's calls have the seconds since it began, and it begins once.
            seconds += 0.0 if turn.completion.results else turn.completion.seconds
        if calling:
            steps += [_called(turn, result, before, seconds) for result in turn.calls if _judging(result)]
            # Calls say what had passed when they ended, so that the largest covers all of them.
            seconds += max((result.seconds for result in turn.calls), default=0.0)
        elif turn.verdict is not None and turn.verdict.owner in (Owner.MODEL, Owner.NONE):
            public = public_verdict(turn.verdict)
            time_us = public_time_us(turn.verdict) if public.outcome is Outcome.OK else 0.0
            seconds += math.fsum(turn.verdict.timings.values())
            steps.append(
                Step(
                    public.outcome,
                    # Infinite where no case has a time.
                    time_us if math.isfinite(time_us) else 0.0,
                    prompt,
                    completion,
                    seconds,
                    _speedup(public),
                )
            )
    return steps


def _judging(result: ToolResult) -> bool:
    return result.paid and not result.compiled_only and result.outcome is not None


def _called(turn: Sample, result: ToolResult, before: tuple[int, int], seconds: float) -> Step:
    """A call. An agent's says itself what was spent when it was made; others come at the end of an answer."""
    usage = turn.completion.usage if turn.completion else None
    asked, answered = (usage.prompt, usage.completion) if usage else (0, 0)
    if result.tokens and asked + answered:
        # Only the sum was noted: both kinds are taken to grow alike.
        share = result.tokens / (asked + answered)
        asked, answered = round(asked * share), round(answered * share)
    assert result.outcome is not None  # of every call that judged
    return Step(
        result.outcome,
        result.time_us,
        before[0] + asked,
        before[1] + answered,
        seconds + result.seconds,
        result.speedup,
    )


def _row(conversations: Sequence[Sequence[Step]], calls: int, price: Mapping[str, object]) -> EffortRow:
    so_far = [steps[:calls] for steps in conversations]
    times = [[step.time_us for step in steps if step.outcome is Outcome.OK] for steps in so_far]
    gains = [known[0] / min(known) for time_ in times if (known := [time for time in time_ if time > 0])]
    ends = [steps[-1] for steps in so_far if steps]
    cost = cost_of(sum(step.prompt for step in ends), sum(step.completion for step in ends), price)
    total = len(conversations)
    return EffortRow(
        calls=calls,
        made=sum(len(steps) >= calls for steps in conversations),
        solved=sum(map(bool, times)) / total,
        # A geometric mean, as of all ratios here: an arithmetic one depends on which time is divided by which.
        speedup=math.exp(sum(map(math.log, gains)) / len(gains)) if gains else None,
        tokens=sum(step.prompt + step.completion for step in ends) / total,
        cost=cost.amount / total if cost else None,
        seconds=sum(step.seconds for step in ends) / total if any(step.seconds for step in ends) else None,
        fast_golden=_fast(so_far),
    )


def _fast(conversations: Sequence[Sequence[Step]]) -> dict[str, float]:
    """The share of conversations with a kernel so many times as fast as ours; nothing where no time is known."""
    best = [max((step.speedup for step in steps), default=0.0) for steps in conversations]
    return {str(p): sum(speedup >= p for speedup in best) / len(best) for p in FAST_PS} if any(best) else {}


def _speedup(public: Verdict) -> float:
    """Against our golden kernel, over the cases that were shown; 0 unless all are right and both times are known."""
    pairs = [(case.metrics.get(GOLDEN_US, 0.0), case.profile) for case in public.cases]
    if public.outcome is not Outcome.OK or not all(golden and profile for golden, profile in pairs):
        return 0.0
    taken = sum(profile.time_us for _, profile in pairs if profile)
    return sum(golden for golden, _ in pairs) / taken if taken else 0.0


def _generalised(conversations: Sequence[Sequence[Sample]]) -> tuple[int, int]:
    """Answers that are right on public cases and were judged on hidden ones too, and how many are right there."""
    shown = held = 0
    for turns in conversations:
        verdict = settled(turns).verdict
        if verdict is None:
            continue
        public = public_verdict(verdict)
        if public.outcome is Outcome.OK and 0 < len(public.cases) < len(verdict.cases):
            shown += 1
            held += verdict.outcome is Outcome.OK
    return shown, held
