"""What searches cost: calls, tokens and time until an answer was right."""

from __future__ import annotations

from dataclasses import replace

from npukernelbench.generate.strategy import SEARCH
from npukernelbench.nouns import (
    CallStatus,
    CaseResult,
    Completion,
    Outcome,
    Owner,
    Prompt,
    Sample,
    SampleKey,
    Stage,
    Tier,
    TokenUsage,
    ToolResult,
    Track,
    Verdict,
)
from npukernelbench.report.effort import effort_of


def test_effort_counts_what_fits_only_what_it_saw():
    """Two answers right on public cases, one of them on hidden ones too; a guard refused a third; an agent's clock."""
    shown, held = (CaseResult("a", Stage.DONE, Outcome.OK), CaseResult("hidden-1", Stage.DONE, Outcome.OK))
    lost = replace(held, outcome=Outcome.WRONG_VALUE)

    def answer(name, verdict, *calls):
        key = SampleKey(name, "", Track.DYNAMIC, 0)
        completion = Completion("", usage=TokenUsage(30, 10))
        return [Sample(key, Prompt((), f"t{SEARCH}s@1", ""), completion, None, verdict, calls)]

    def verdict(outcome, owner, *cases):
        return Verdict(Track.DYNAMIC, Tier.TWIN, Stage.DONE, outcome, owner, cases)

    def call(outcome, time_us, tokens, seconds):
        told = {"paid": True, "outcome": outcome, "time_us": time_us, "tokens": tokens, "seconds": seconds}
        told["speedup"] = 4.0 / time_us if time_us else 0.0
        return ToolResult("c", "judge", "", CallStatus.ANSWERED, **told)

    calls = (call(Outcome.GUARD_REJECTED, 0, 10, 1.0), call(Outcome.OK, 8.0, 20, 2.0), call(Outcome.OK, 2.0, 40, 4.0))
    effort = effort_of(
        [
            answer("One", verdict(Outcome.OK, Owner.NONE, shown, held), *calls),
            answer("Two", verdict(Outcome.WRONG_VALUE, Owner.MODEL, shown, lost), call(Outcome.OK, 4.0, 40, 3.0)),
            answer("Ours", verdict(Outcome.INFRA_ERROR, Owner.INFRA)),
        ],
        {"input": 1e6, "output": 2e6},
    )
    assert (effort.conversations, effort.right_on_public, effort.right_on_hidden) == (2, 2, 1)
    assert (effort.refused, effort.with_refused) == ({Outcome.GUARD_REJECTED: 1}, 1)
    assert [(row.made, row.solved, row.speedup, row.seconds) for row in effort.after] == [
        (2, 0.5, 1.0, 2.0),
        (1, 1.0, 1.0, 2.5),
        (1, 1.0, 2.0, 3.5),
    ]
    fast = [tuple(row.fast_golden.get(p) for p in ("0.5", "1.0", "2.0")) for row in effort.after]
    assert fast == [(0.5, 0.5, 0.0), (1.0, 0.5, 0.0), (1.0, 1.0, 0.5)]
    assert [(row.tokens, row.cost) for row in effort.after] == [(25, 31.0), (30, 37.5), (40, 50.0)]
    assert effort_of([], {}) is None
