"""What is counted of calls of tools, out of conversations made by hand."""

from __future__ import annotations

import pytest

from npukernelbench.judge.score import stopped
from npukernelbench.nouns import CallStatus, Outcome, Prompt, Sample, SampleKey, Stage, Tier, ToolResult, Track
from npukernelbench.report.calls import calls_of


def check():
    return ToolResult("c", "check", "", CallStatus.ANSWERED, paid=True, outcome=Outcome.OK, compiled_only=True)


def judge(outcome, *rules):
    return ToolResult("j", "judge", "", CallStatus.ANSWERED, paid=True, outcome=outcome, rules=rules)


def other(status=CallStatus.ANSWERED):
    return ToolResult("o", "api", "", status)


def conversation(task, *turns):
    """Turns as (outcome of the kernel that stands, calls)."""
    return [
        Sample(
            SampleKey(task, "a", Track.STATIC, 0, number),
            Prompt((), "", ""),
            None,
            None,
            stopped(Track.STATIC, Tier.TWIN, Stage.CHECK, outcome),
            tuple(calls),
        )
        for number, (outcome, calls) in enumerate(turns)
    ]


def test_a_conversation_stands_where_its_kernel_stands_after_so_many_calls() -> None:
    wrong, right, broken = Outcome.WRONG_VALUE, Outcome.OK, Outcome.RULE_VIOLATION
    calls = calls_of(
        [
            conversation(
                "Early",
                (Outcome.NO_CODE, [other()]),
                (right, [judge(right)]),
                (right, []),
            ),
            conversation(
                "Late",
                (broken, [check(), judge(broken, "misaligned", "queue")]),
                (broken, [judge(broken, "queue"), other(CallStatus.MALFORMED)]),
                (right, [judge(right)]),
                (wrong, [judge(wrong), other(CallStatus.REFUSED)]),
            ),
            conversation("Silent", (right, [])),
            conversation("Ours", (Outcome.INFRA_ERROR, [other(CallStatus.FAULT)])),
        ]
    )
    assert calls is not None
    assert [(row.calls, row.made) for row in calls.after] == [(0, 4), (1, 2), (2, 1), (3, 1), (4, 1), (5, 1)]
    # One that its own last call made wrong again is not solved any more.
    assert [row.correct.valid.value * 3 for row in calls.after] == pytest.approx([1, 2, 2, 2, 3, 2])
    assert [row.correct.all.value * 4 for row in calls.after] == pytest.approx([1, 2, 2, 2, 3, 2])
    assert (calls.paid, calls.judged, calls.free) == (6, 5, 1)
    assert (calls.malformed, calls.refused, calls.faults) == (1, 1, 1)
    assert calls.outcomes == {right: 2, broken: 2, wrong: 1}
    assert calls.rules == {"misaligned": 1, "queue": 2}
    assert calls.violations_per_call == pytest.approx(3 / 5)


def test_a_run_without_tools_has_none() -> None:
    assert calls_of([conversation("Silent", (Outcome.OK, []))]) is None
    assert calls_of([]) is None
