"""A run in a few sentences: what was reached, what it means, what was not counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from statistics import median

from npukernelbench.nouns import Outcome
from npukernelbench.report.comparison.rates import COMPILED, CORRECT, rate_of
from npukernelbench.report.comparison.records import OURS, RunRecord, rules_name
from npukernelbench.report.words import count

__all__ = ["sentences"]


def sentences(record: RunRecord) -> Iterator[str]:
    """What a reader should know before the numbers, one thought per sentence."""
    correct, compiled = rate_of(CORRECT, record.problems), rate_of(COMPILED, record.problems)
    if correct is None or compiled is None:
        yield "No sample says anything about the model yet."
    else:
        right = sum(attempt.correct for attempt in record.attempts)
        # Those that the interval is over: a problem without a counted sample takes no part in it.
        tasks = len({problem.task for problem, counted in record.problems.items() if counted})
        yield (
            f"{right} of {count(record.counted, 'counted sample')} {_are(right)} right: {_percent(correct.value)}, "
            f"with a 95\u00a0% interval from {_percent(correct.low)} to {_percent(correct.high)} over "
            f"{count(tasks, 'task')}; {_percent(compiled.value)} compile."
        )
    yield from _speed(record)
    yield from _uncounted(record)
    rules = rules_name(record.identity)
    if rules != OURS:
        yield f"Judged by the rules of {rules}, not by ours."
    if record.tier != "npu" and any(attempt.speedups for attempt in record.attempts):
        yield f"Times are predictions of tier {record.tier}; no device has measured them."


def _speed(record: RunRecord) -> Iterator[str]:
    shares = [
        attempt.speedups["roofline"]
        for attempt in record.attempts
        if attempt.correct and "roofline" in attempt.speedups
    ]
    if shares:
        best = max(shares)
        yield (
            f"Half of the right kernels reach {median(shares):.2g} of the roofline or more, the best {best:.2g}. "
            "The roofline is the least time in which the machine could move the data and do the work; for small cases "
            "a launch alone takes longer than that, so that even good kernels stay far below 1."
        )
    golden = [
        attempt.speedups["golden"] for attempt in record.attempts if attempt.correct and "golden" in attempt.speedups
    ]
    if golden:
        ahead = sum(speedup >= 1 for speedup in golden)
        # With none ahead the verb belongs to all of them.
        are = _are(ahead or len(golden))
        yield f"{ahead} of {count(len(golden), 'right kernel')} {are} as fast as ours or faster."


def _uncounted(record: RunRecord) -> Iterator[str]:
    reasons = Counter(attempt.outcome.value for attempt in record.attempts if not attempt.valid)
    missing = record.expected - len(record.attempts)
    parts = [f"{name} {times}" for name, times in sorted(reasons.items())]
    parts += [f"not judged yet {missing}"] if missing else []
    if parts:
        yield (
            f"{record.uncounted} of {count(record.expected, 'sample')} {_are(record.uncounted)} not "
            f"counted ({', '.join(parts)}): they say nothing about the model."
        )
        # A withheld answer counts as finished, and is not asked for again.
        if missing or reasons.keys() - {Outcome.FILTERED.value}:
            yield "The same command tries again what can be tried again."


def _are(number: int) -> str:
    return "is" if number == 1 else "are"


def _percent(value: float) -> str:
    return f"{100 * value:.0f}\u00a0%"  # not broken at the end of a line
