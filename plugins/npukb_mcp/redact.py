"""What an agent or a model with tools is shown of a verdict: everything that helps to repair the kernel, nothing that
replaces writing it.

Left out are expected values, faults of ours in detail (their texts may name this machine's paths), and whatever
belongs to hidden cases but how they ended. What is shown is built up from known parts, so that a new field of a
diagnostic stays outside.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable
from dataclasses import replace

from npukb_mcp.results import Budget, Judged, Note, Timing, Told
from npukernelbench.errors import NpukbError, UsageError
from npukernelbench.generate.telling import without_values
from npukernelbench.nouns import CaseResult, Diagnostic, Outcome, Owner, Profile, Severity, Verdict

__all__ = ["judged", "timing", "told", "words"]

_log = logging.getLogger(__name__)

_HIDDEN = "hidden-"
_COUNTS = frozenset({"compiled", "correct", "cases_passed", "cases_total"})
#: Numbers of a verdict that say nothing about single values of the reference.
_METRICS = _COUNTS | {"predicted_time_us", "measured_time_us", "roofline"}
_MOST_NOTES = 20
_MOST_CHARACTERS = 4000
_GAP = "unsupported_api"
_FAULT = Note(
    severity="error",
    rule="infra_error",
    message="The judge failed. This says nothing about the kernel.",
    remedy="Call the tool again.",
)
# Ratios of busy units; the ratio of waiting is no part of the short answer.
_BUSY = re.compile(r"(?<!wait)_ratio$")
_SUGGESTIONS = 5
_LINES = 10


def judged(verdict: Verdict, *, result: str, budget: Budget) -> Judged:
    """The verdict as a result of a session."""
    return Judged(**dict(told(verdict)), result=result, budget=budget)


def told(verdict: Verdict) -> Told:
    """The verdict as a tool tells it."""
    verdict = _public(verdict)
    outcome, ours = verdict.outcome, verdict.owner in (Owner.INFRA, Owner.TASK)
    notes = list(_notes(verdict))
    if ours:
        # What this machine lacks is told; what went wrong on it is in its own log.
        notes = [note for note in notes if note.rule == _GAP] or [_FAULT]
    right = outcome is Outcome.OK
    # The time of a wrong kernel says nothing.
    profile = next((case.profile for case in verdict.cases if right and case.profile is not None), None)
    return Told.model_validate(
        {
            "outcome": outcome.value,
            "meaning": verdict.meaning,
            "stage": verdict.stage.value,
            "fault_of": verdict.owner.value,
            "tier": verdict.tier.value,
            "cases": {case.case: case.outcome.value for case in verdict.cases},
            "diagnostics": notes[:_MOST_NOTES],
            "left_out": max(0, len(notes) - _MOST_NOTES),
            "metrics": {name: value for name, value in verdict.metrics.items() if name in _METRICS},
            "time": None if profile is None else timing(profile),
        }
    )


def words(error: NpukbError) -> str:
    """Field, message and remedy of what was asked wrongly. Faults of ours may name paths: those are logged only."""
    if not isinstance(error, UsageError):
        _log.error("a tool failed: %s", error)
        return "the server failed, which says nothing about the kernel. Remedy: call the tool again"
    named = f"{error.field}: " if error.field else ""
    return f"{named}{error.message}" + (f". Remedy: {error.remedy}" if error.remedy else "")


def _public(verdict: Verdict) -> Verdict:
    """The verdict without what would tell a hidden case: messages, values and the time, which tells its size."""
    # The server never makes hidden cases, but `--strategy tools` judges a static kernel on its own, which may be one.
    if not any(case.case.startswith(_HIDDEN) for case in verdict.cases):
        return verdict
    cases = tuple(
        CaseResult(case.case, case.stage, case.outcome) if case.case.startswith(_HIDDEN) else case
        for case in verdict.cases
    )
    # The counts alone: a time or a roofline would tell the sizes of hidden cases.
    metrics = {name: value for name, value in verdict.metrics.items() if name in _COUNTS}
    return replace(verdict, cases=cases, metrics=metrics)


def timing(profile: Profile) -> Timing:
    """Where a launch's time goes: all counters where an analysis was asked for, else how busy each unit was."""
    analysis = profile.analysis
    suggestions = () if analysis is None else analysis.suggestions[:_SUGGESTIONS]
    lines = () if analysis is None else analysis.lines[:_LINES]
    return Timing(
        time_us=profile.time_us,
        predicted=profile.predicted,
        low_us=profile.low_us,
        high_us=profile.high_us,
        machine=profile.machine,
        cores=profile.blocks,
        bottleneck=profile.bottleneck,
        counters={name: value for name, value in profile.counters.items() if analysis or _BUSY.search(name)},
        suggestions=[f"{suggestion.change}: {suggestion.time_us:.2f} us" for suggestion in suggestions],
        lines=[
            f"{line.file}:{line.line} {line.pipe}: {line.busy_us:.2f} us busy, {line.times} times" for line in lines
        ],
    )


def _notes(verdict: Verdict) -> Iterable[Note]:
    seen: set[str] = set()
    for case, diagnostics in [
        ("", verdict.diagnostics),
        *((result.case, result.diagnostics) for result in verdict.cases),
    ]:
        # Errors before warnings: a long list is cut at its end.
        for diagnostic in sorted(diagnostics, key=lambda diagnostic: list(Severity).index(diagnostic.severity)):
            note = _note(case, diagnostic)
            # The same mistake shows in every case; telling it once is enough.
            same = note.model_copy(update={"case": ""}).model_dump_json()
            if same not in seen:
                seen.add(same)
                yield note


def _note(case: str, diagnostic: Diagnostic) -> Note:
    message = without_values(diagnostic)
    return Note(
        severity=diagnostic.severity.value,
        rule=diagnostic.rule,
        message=message if len(message) <= _MOST_CHARACTERS else f"{message[:_MOST_CHARACTERS]} …",
        file=diagnostic.file,
        line=diagnostic.line,
        column=diagnostic.column,
        remedy=diagnostic.remedy,
        count=diagnostic.count,
        case=case,
    )
