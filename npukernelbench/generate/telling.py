"""What a model may be told of a diagnostic: everything but what the reference expects.

Expected values replace the computation for whoever knows them. Places, what the kernel wrote and the name of a pattern
do not.
"""

from __future__ import annotations

import math
import re
from dataclasses import replace

from npukernelbench.nouns import CaseResult, Diagnostic, Outcome, Owner, Stage, Verdict

__all__ = ["EXPECTED", "public_time_us", "public_verdict", "without_values"]

_HIDDEN = "hidden-"

#: The second half of a wrong element, wherever one diagnostic quotes another: ``y[0] = 1, expected 2``.
EXPECTED = re.compile(r"( = [^,\n]+), expected [^\n]*")
#: Messages of compilers, which say "expected" of arguments and semicolons.
_COMPILER = frozenset({"compile", "forbidden_name"})


def without_values(diagnostic: Diagnostic) -> str:
    """The message without expected values: of wrong elements it keeps place and what the kernel wrote, of patterns
    their names, because a sentence such as "all are off by 3" would give the values away.
    """
    if diagnostic.rule in _COMPILER:
        return diagnostic.message
    lines = EXPECTED.sub(r"\1", diagnostic.message).split("\n")
    kept = [line for line in lines if not line.startswith("pattern: ")]
    patterns = diagnostic.details.get("patterns")
    if isinstance(patterns, list | tuple) and patterns:
        kept.append(f"pattern: {', '.join(str(pattern) for pattern in patterns)}")
    return "\n".join(kept)


def public_verdict(verdict: Verdict) -> Verdict:
    """The verdict on the public cases alone: what a search may choose by. Of a kernel that is for one hidden case it
    says how it ended.
    """
    hidden = [case for case in verdict.cases if case.case.startswith(_HIDDEN)]
    if not hidden:
        return verdict
    if len(hidden) == len(verdict.cases):
        bare = tuple(CaseResult(case.case, case.stage, case.outcome) for case in hidden)
        return replace(verdict, cases=bare, diagnostics=(), metrics={})
    shown = tuple(case for case in verdict.cases if not case.case.startswith(_HIDDEN))
    passed = sum(case.outcome is Outcome.OK for case in shown)
    metrics = {"cases_passed": float(passed), "cases_total": float(len(shown))}
    failed = next((case for case in shown if case.outcome is not Outcome.OK), None)
    if failed is not None:
        return replace(verdict, stage=failed.stage, outcome=failed.outcome, cases=shown, metrics=metrics)
    if verdict.owner not in (Owner.MODEL, Owner.NONE):
        return replace(verdict, cases=shown, metrics=metrics)
    return replace(
        verdict, stage=Stage.DONE, outcome=Outcome.OK, owner=Owner.NONE, cases=shown, diagnostics=(), metrics=metrics
    )


def public_time_us(verdict: Verdict) -> float:
    """The geometric mean of the times of the public cases; infinity where none is known."""
    times = [case.profile.time_us for case in verdict.cases if case.profile and not case.case.startswith(_HIDDEN)]
    known = [time for time in times if time > 0]
    return math.exp(sum(map(math.log, known)) / len(known)) if known else math.inf
