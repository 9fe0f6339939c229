"""What an agent is shown of a verdict: everything that helps to repair the kernel, nothing that replaces writing it.

Left out are expected values, faults of ours in detail (their texts may name this machine's paths), and whatever
belongs to hidden cases. What is shown is built up from known parts, so that a new field of a diagnostic stays outside.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from npukb_mcp.results import Judged, Note, Timing
from npukernelbench.nouns import Diagnostic, Outcome, Owner, Profile, Severity, Verdict

__all__ = ["judged", "timing"]

#: Numbers of a verdict that say nothing about single values of the reference.
_METRICS = frozenset(
    {"compiled", "correct", "cases_passed", "cases_total", "predicted_time_us", "measured_time_us", "roofline"}
)
_MOST_NOTES = 20
_MOST_CHARACTERS = 4000
#: The second half of a wrong element, wherever one diagnostic quotes another: ``y[0] = 1, expected 2``.
_EXPECTED = re.compile(r"( = [^,\n]+), expected [^\n]*")
#: Messages of compilers, which say "expected" of arguments and semicolons.
_COMPILER = frozenset({"compile", "forbidden_name"})
_GAP = "unsupported_api"
_FAULT = Note(
    severity="error",
    rule="infra_error",
    message="The judge failed. This says nothing about the kernel.",
    remedy="Call the tool again.",
)
_BUSY = re.compile(r"(?<!wait)_ratio$")
_SUGGESTIONS = 5
_LINES = 10


def judged(verdict: Verdict, **more: object) -> Judged:
    """The verdict as a tool's result; ``more`` are the fields that the verdict does not have."""
    outcome, ours = verdict.outcome, verdict.owner in (Owner.INFRA, Owner.TASK)
    notes = list(_notes(verdict))
    if ours:
        # What this machine lacks is told; what went wrong on it is in its own log.
        notes = [note for note in notes if note.rule == _GAP] or [_FAULT]
    right = outcome is Outcome.OK
    profile = next((case.profile for case in verdict.cases if right and case.profile is not None), None)
    return Judged.model_validate(
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
            **more,
        }
    )


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
        for diagnostic in sorted(diagnostics, key=lambda diagnostic: list(Severity).index(diagnostic.severity)):
            note = _note(case, diagnostic)
            same = note.model_copy(update={"case": ""}).model_dump_json()
            if same not in seen:
                seen.add(same)
                yield note


def _note(case: str, diagnostic: Diagnostic) -> Note:
    message = _without_values(diagnostic)
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


def _without_values(diagnostic: Diagnostic) -> str:
    """The message without expected values: of wrong elements it keeps place and what the kernel wrote, of patterns
    their names, because a sentence such as "all are off by 3" would give the values away.
    """
    if diagnostic.rule in _COMPILER:
        return diagnostic.message
    lines = _EXPECTED.sub(r"\1", diagnostic.message).split("\n")
    kept = [line for line in lines if not line.startswith("pattern: ")]
    patterns = diagnostic.details.get("patterns")
    if isinstance(patterns, list | tuple) and patterns:
        kept.append(f"pattern: {', '.join(str(pattern) for pattern in patterns)}")
    return "\n".join(kept)
