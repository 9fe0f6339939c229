"""What conversations with tools had reached after how many calls, and what their calls were worth.

Counted from the transcripts: a call is one of check or judge that was paid for. After k calls a conversation stands
where the kernel of its last turn with at most k calls stands, right or wrong, on all cases of the run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import accumulate

from npukernelbench.nouns import CallStatus, Outcome, Sample, ToolResult
from npukernelbench.nouns.results import CallRow, Calls
from npukernelbench.report.estimates import Judged, both
from npukernelbench.run.turns import settled

__all__ = ["calls_of"]

#: Numbers of calls that have a row, as far as some conversation made so many.
_KS = (0, 1, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 50, 100, 200, 500, 1000)


def calls_of(conversations: Iterable[Sequence[Sample]]) -> Calls | None:
    """The measures of all conversations; None where no model called anything."""
    listed = list(conversations)
    results = [result for turns in listed for sample in turns for result in sample.calls]
    if not results:
        return None
    kinds = Counter(result.status for result in results)
    # Calls of check are paid for, too, but only compile.
    judged = [result for result in results if result.paid and not result.compiled_only]
    rules = Counter(rule for result in judged for rule in result.rules)
    outcomes = Counter(result.outcome for result in judged if result.outcome is not None)
    return Calls(
        paid=sum(result.paid for result in results),
        judged=len(judged),
        free=sum(result.status is CallStatus.ANSWERED and not result.paid for result in results),
        malformed=kinds[CallStatus.MALFORMED],
        refused=kinds[CallStatus.REFUSED],
        faults=kinds[CallStatus.FAULT],
        outcomes={outcome: outcomes[outcome] for outcome in Outcome if outcomes[outcome]},
        rules={rule: rules[rule] for rule in sorted(rules)},
        violations_per_call=rules.total() / len(judged) if judged else None,
        after=_after(listed),
    )


def _after(listed: Sequence[Sequence[Sample]]) -> tuple[CallRow, ...]:
    # With the calls that each turn's kernel had cost, its own included.
    costs = [list(accumulate(_paid(sample.calls) for sample in turns)) for turns in listed]
    most = max(cost[-1] for cost in costs)
    # The largest number is always a row, so that the curve reaches its end.
    return tuple(_row(listed, costs, calls) for calls in sorted({*(k for k in _KS if k < most), most}))


def _row(listed: Sequence[Sequence[Sample]], costs: Sequence[Sequence[int]], calls: int) -> CallRow:
    everything: list[Judged] = []
    solved = set()
    for turns, cost in zip(listed, costs, strict=True):
        end = Judged.of(settled(turns))
        so_far = [sample for sample, spent in zip(turns, cost, strict=True) if spent <= calls]
        everything.append(end)
        if so_far and Judged.of(settled(so_far)).correct:
            # By conversation: the key of the turn that speaks differs from row to row.
            solved.add(end.key.conversation)
    # Whether a conversation says something about the model is decided at its end, so that denominators stay fixed.
    groups = {"valid": [judged for judged in everything if judged.valid], "all": everything}
    return CallRow(
        calls=calls,
        made=sum(cost[-1] >= calls for cost in costs),
        correct=both(groups, lambda judged: judged.key.conversation in solved),
    )


def _paid(results: Iterable[ToolResult]) -> int:
    return sum(result.paid for result in results)
