"""A verdict as its author wants to read it: what happened, where in the source, what to do, how fast.

Rendering is pure: a :class:`Verdict` and the candidate's text go in, lines come out. Source is quoted one short
excerpt per diagnostic, never as a whole, so a candidate of any size is safe to show.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from npukernelbench.console import Paint
from npukernelbench.language import ENGLISH, Words
from npukernelbench.nouns import Candidate, CaseResult, Diagnostic, Outcome, Profile, Severity, Tier, Verdict
from npukernelbench.nouns.codec import to_json

__all__ = ["Subject", "listed_diagnostics", "render_verdict", "verdict_json"]

#: Version of the object of ``npukb judge --json``.
VERDICT_SCHEMA = 1
_EXCERPT = 140  # characters of a source line that are quoted
_DIAGNOSTICS = 12  # diagnostics of one severity that are shown in full
#: Metrics that the headline and the profile tell already.
_SAID_ELSEWHERE = frozenset(
    {"compiled", "correct", "cases_passed", "cases_total", "predicted_time_us", "measured_time_us"}
)
_PAINT = {Severity.ERROR: Paint.BAD, Severity.WARNING: Paint.WARN, Severity.NOTE: Paint.DIM}

#: Control characters and direction marks that a candidate could use to rewrite the terminal that shows it.
# The tab is left out, since excerpts expand it.
_CONTROL = dict.fromkeys(
    [*range(0x09), *range(0x0A, 0x20), *range(0x7F, 0xA0), *range(0x202A, 0x202F), *range(0x2066, 0x206A)],
    "\ufffd",
)

#: ``(text, paint) -> text``: :meth:`npukernelbench.console.Console.paint`.
Painter = Callable[[str, Paint], str]


@dataclass(frozen=True, slots=True)
class Subject:
    """What was judged. ``paths`` say where the candidate's files came from, and are shown in place of their names."""

    task: str
    case: str
    candidate: Candidate
    paths: Mapping[str, str] = field(default_factory=dict)


def verdict_json(subject: Subject, verdict: Verdict) -> dict[str, object]:
    """The one object of ``npukb judge --json``. Keys: ``schema, task, case, track, tier, outcome, owner, stage,
    diagnostics, metrics, profile``; ``case`` is empty on the dynamic track, ``profile`` is that of the last case that
    has one.
    """
    profile = _profile(verdict)
    return {
        "schema": VERDICT_SCHEMA,
        "task": subject.task,
        "case": subject.case,
        "track": verdict.track.value,
        "tier": verdict.tier.value,
        "outcome": verdict.outcome.value,
        "owner": verdict.owner.value,
        "stage": verdict.stage.value,
        "diagnostics": [to_json(diagnostic) for _, diagnostic in listed_diagnostics(verdict)],
        "metrics": to_json(verdict.metrics),
        "profile": None if profile is None else to_json(profile),
    }


def render_verdict(subject: Subject, verdict: Verdict, paint: Painter, words: Words = ENGLISH) -> Iterator[str]:
    """Lines for a terminal or a log; what an outcome means and what to do, in the language of ``words``."""
    yield _headline(subject, verdict, paint, words)
    if verdict.outcome is not Outcome.OK:
        yield f"  {words.sentence(f'stage {verdict.stage.value}, fault of the {verdict.owner.value}')}"
    for severity in (Severity.ERROR, Severity.WARNING, Severity.NOTE):
        items = [item for item in listed_diagnostics(verdict) if item[1].severity is severity]
        for case, diagnostic in items[:_DIAGNOSTICS]:
            yield ""
            yield from _diagnostic(diagnostic, case if len(verdict.cases) > 1 else "", subject, paint, words)
        if len(items) > _DIAGNOSTICS:
            yield ""
            more = f"… and {len(items) - _DIAGNOSTICS} more of kind {severity.value} (all of them with --json)"
            yield f"  {words.sentence(more)}"
    yield from _profiles(verdict, paint)
    yield from _metrics(verdict)
    yield from _timings(verdict, paint)


def _headline(subject: Subject, verdict: Verdict, paint: Painter, words: Words) -> str:
    good = verdict.outcome is Outcome.OK
    mark = paint(f"{'✓' if good else '✗'} {verdict.outcome.value}", Paint.GOOD if good else Paint.BAD)
    case = f"case {subject.case}" if subject.case else "all cases"
    what = " · ".join((paint(subject.task, Paint.BOLD), case, verdict.track.value, f"tier {verdict.tier.value}"))
    return f"{mark}  {what}\n  {words.sentence(verdict.meaning)}"


def listed_diagnostics(verdict: Verdict) -> list[tuple[str, Diagnostic]]:
    """Every diagnostic once, with the case it belongs to (empty for those of the candidate as a whole)."""
    listed: list[tuple[str, Diagnostic]] = []
    for case, diagnostics in [
        ("", verdict.diagnostics),
        *((case_result.case, case_result.diagnostics) for case_result in verdict.cases),
    ]:
        for diagnostic in diagnostics:
            # What is said of the candidate as a whole is not said again for a case.
            # Compared as a whole, place included: equal messages at two lines stay two.
            if ("", diagnostic) not in listed and (case, diagnostic) not in listed:
                listed.append((case, diagnostic))
    return listed


def _diagnostic(diagnostic: Diagnostic, case: str, subject: Subject, paint: Painter, words: Words) -> Iterator[str]:
    place = _place(diagnostic, subject)
    times = f" (×{diagnostic.count})" if diagnostic.count > 1 else ""
    first, *rest = diagnostic.message.split("\n")
    word = paint(diagnostic.severity.value, _PAINT[diagnostic.severity])
    yield (
        f"  {paint(place, Paint.PLACE) + ': ' if place else ''}{word}: {f'case {case}: ' if case else ''}"
        f"{_clip(first, 600)}{times} {paint(f'[{diagnostic.rule}]', Paint.DIM)}"
    )
    # A compiler's message may go on for pages.
    yield from (f"    {_clip(line, 600)}" for line in rest[:40])
    yield from _quote(diagnostic, subject.candidate, paint)
    if diagnostic.remedy:
        yield f"    {paint(words.text('remedy:'), Paint.GOOD)} {words.sentence(diagnostic.remedy)}"


def _place(diagnostic: Diagnostic, subject: Subject) -> str:
    if not diagnostic.file:
        return ""
    name = subject.paths.get(diagnostic.file, diagnostic.file)
    return ":".join(str(part) for part in (name, diagnostic.line, diagnostic.column) if part)


def _quote(diagnostic: Diagnostic, candidate: Candidate, paint: Painter) -> Iterator[str]:
    """The line a diagnostic points at with a caret below the column; nothing when the place is not in the candidate."""
    line = _source_line(candidate.files, diagnostic)
    if line is None:
        return
    column = max(diagnostic.column, 1)
    start = max(0, column - _EXCERPT // 2) if len(line) > _EXCERPT else 0
    excerpt = line[start : start + _EXCERPT].translate(_CONTROL).expandtabs(4)
    before, after = ("…" if start else ""), ("…" if start + _EXCERPT < len(line) else "")
    gutter = f"    {diagnostic.line:>5} | "
    yield f"{paint(gutter, Paint.DIM)}{before}{excerpt}{after}"
    if diagnostic.column:
        # Expanded like the excerpt, so that the caret stands below its column.
        width = len(before) + len(line[start : column - 1].expandtabs(4))
        yield f"{paint(' ' * (len(gutter) - 2) + '| ', Paint.DIM)}{' ' * width}{paint('^', Paint.GOOD)}"


def _source_line(files: Mapping[str, str], diagnostic: Diagnostic) -> str | None:
    text = files.get(diagnostic.file)
    if text is None or diagnostic.line < 1:
        return None
    start = 0
    # Not `splitlines`, which also ends lines at characters that compilers do not count as ends.
    for _ in range(diagnostic.line - 1):
        start = text.find("\n", start) + 1
        if not start:
            return None
    end = text.find("\n", start)
    line = text[start : end if end >= 0 else len(text)].rstrip("\r")
    return line if line.strip() else None


def _profile(verdict: Verdict) -> Profile | None:
    profiles = [case.profile for case in verdict.cases if case.profile is not None]
    return profiles[-1] if profiles else None


def _profiles(verdict: Verdict, paint: Painter) -> Iterator[str]:
    for case in verdict.cases:
        if case.profile is not None:
            yield ""
            yield from _profile_lines(case, case.profile, verdict.tier, paint)


def _profile_lines(case: CaseResult, profile: Profile, tier: Tier, paint: Painter) -> Iterator[str]:
    word = "predicted" if profile.predicted else "measured"
    time = paint(f"{profile.time_us:.2f} µs", Paint.BOLD)
    cores = f"{profile.blocks} core{'' if profile.blocks == 1 else 's'}"
    key = "" if profile.tiling_key is None else f", tiling key {profile.tiling_key}"
    yield f"  {word} {time} for case {case.case} on {profile.machine}, {cores}{key} (tier {tier.value})"
    ratios = {name: value for name, value in profile.counters.items() if name.endswith("_ratio")}
    if ratios:
        width = max(map(len, ratios))
        # The busiest unit first; the name decides between equals.
        for name in sorted(ratios, key=lambda ratio: (-ratios[ratio], ratio)):
            share = min(max(ratios[name], 0.0), 1.0)
            yield f"    {name:<{width}}  {ratios[name]:6.1%}  {'#' * round(share * 30)}".rstrip()


def _metrics(verdict: Verdict) -> Iterator[str]:
    shown = sorted(verdict.metrics.keys() - _SAID_ELSEWHERE)
    if shown:
        yield ""
        yield "  metrics"
        width = max(map(len, shown))
        for name in shown:
            yield f"    {name:<{width}}  {verdict.metrics[name]:.6g}"


def _timings(verdict: Verdict, paint: Painter) -> Iterator[str]:
    if verdict.timings:
        parts = ", ".join(f"{stage} {seconds:.2f} s" for stage, seconds in _ordered(verdict.timings.items()))
        yield ""
        yield paint(f"  judged in: {parts}", Paint.DIM)


def _ordered(items: Iterable[tuple[str, float]]) -> list[tuple[str, float]]:
    return sorted(items, key=lambda item: (-item[1], item[0]))


def _clip(text: str, limit: int) -> str:
    text = text.translate(_CONTROL)
    return text if len(text) <= limit else text[: limit - 1] + "…"
