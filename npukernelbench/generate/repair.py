"""The next turn of a conversation: what a model is told about its kernel, and what it is asked then.

Pure functions of question, answer and verdict, so that an interrupted run resumes with the same words,
and so that a trainer can hold the same conversation: :func:`next_prompt` after each verdict, until it returns None.
The hint level decides how much the model learns; of hidden cases it never learns more than how they ended.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import replace

from npukernelbench.generate.telling import without_values
from npukernelbench.nouns import (
    Candidate,
    Completion,
    Diagnostic,
    Message,
    Outcome,
    Owner,
    Prompt,
    Severity,
    Verdict,
)
from npukernelbench.nouns.codec import dumps
from npukernelbench.nouns.knowledge import Hints

__all__ = ["extended", "feedback", "next_prompt"]

#: Raised with every change of wording, so that results name what was said.
VERSION = 2

_HIDDEN = "hidden-"
_MOST_DIAGNOSTICS = 8
# `run.forecast` counts with it.
_MOST_CHARACTERS = 6000
_MESSAGE_LINES = 24
_EXCERPT = 160


def next_prompt(
    prompt: Prompt, completion: Completion, candidate: Candidate | None, verdict: Verdict, hints: Hints
) -> Prompt | None:
    """The conversation so far and one more turn of the user; None when there is nothing to repair.

    ``prompt`` is what ``completion`` answers. A fault of ours is nothing to repair: it says nothing about the kernel.
    Reasoning is left out, as chat templates do.
    """
    right = verdict.outcome is Outcome.OK
    if verdict.owner not in (Owner.MODEL, Owner.NONE) or (right and hints is not Hints.FULL):
        return None
    said = Message("assistant", completion.text)
    # Without the part of the turn before: names would grow with every turn.
    template = f"{prompt.template.partition('+')[0]}+repair-{hints.value}@{VERSION}"
    return extended(prompt, (said, Message("user", feedback(candidate, verdict, hints))), template)


def extended(prompt: Prompt, added: Sequence[Message], template: str) -> Prompt:
    """The conversation so far and what was said since."""
    # The hash of the whole conversation follows from that of the part before, so no turn is hashed twice.
    digest = hashlib.sha256(prompt.hash.encode())
    for message in added:
        # Left out where there are none: conversations without tools keep their hashes.
        calls = f"\0{message.call}\0{dumps(message.calls)}" if message.calls or message.call else ""
        text = f"{message.role}\0{message.content}{calls}"
        digest.update(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest())
    return replace(prompt, messages=(*prompt.messages, *added), template=template, hash=digest.hexdigest())


def feedback(candidate: Candidate | None, verdict: Verdict, hints: Hints) -> str:
    """What the model is told about its answer: at most a few thousand characters, the most important first."""
    if verdict.outcome is Outcome.OK:
        opening = "The kernel is right. Make it faster and keep it right."
        ending = "Answer with the whole faster kernel in the same format as before."
    else:
        opening = "The answer is not right."
        ending = "Find the cause, then answer with the whole corrected kernel in the same format as before."
    lines: list[str] = [opening]
    if hints is not Hints.NONE and verdict.outcome is not Outcome.OK:
        lines += [
            "",
            f"Result: {verdict.outcome.value}, at the stage '{verdict.stage.value}'. {verdict.outcome.meaning}",
        ]
        lines += _passed(verdict)
    if hints in (Hints.DIAGNOSTICS, Hints.FULL):
        lines += _listed(candidate, verdict, (Severity.ERROR,))
    if hints is Hints.FULL:
        lines += _listed(candidate, verdict, (Severity.WARNING, Severity.NOTE))
        lines += _advice(verdict)
    text = "\n".join(lines)
    if len(text) > _MOST_CHARACTERS:
        text = f"{text[:_MOST_CHARACTERS]}\n[cut off here]"
    return f"{text}\n\n{ending}\n"


def _passed(verdict: Verdict) -> list[str]:
    lines: list[str] = []
    total = verdict.metrics.get("cases_total", 0.0)
    if total > 1:
        lines.append(f"{verdict.metrics.get('cases_passed', 0.0):.0f} of {total:.0f} cases are right.")
    hidden = [
        judged for judged in verdict.cases if judged.case.startswith(_HIDDEN) and judged.outcome is not Outcome.OK
    ]
    if hidden:
        lines.append(f"{len(hidden)} of the wrong ones are cases that you are not shown ({hidden[0].outcome.value}).")
    return lines


def _listed(candidate: Candidate | None, verdict: Verdict, severities: tuple[Severity, ...]) -> Iterator[str]:
    """Diagnostics of these severities, each once, the first of the deciding case before those of others."""
    several = len(verdict.cases) > 1
    listed: dict[Diagnostic | tuple[object, ...], tuple[str, Diagnostic]] = {}
    told = [judged for judged in verdict.cases if not judged.case.startswith(_HIDDEN)]
    for case, diagnostics in [("", verdict.diagnostics), *((judged.case, judged.diagnostics) for judged in told)]:
        for diagnostic in diagnostics:
            if diagnostic.severity in severities:
                # Without details, which hold numbers of the case.
                same = (diagnostic.rule, diagnostic.file, diagnostic.line, diagnostic.column, diagnostic.message)
                listed.setdefault(same, (case if several else "", diagnostic))
    for case, diagnostic in list(listed.values())[:_MOST_DIAGNOSTICS]:
        yield ""
        yield from _described(candidate, diagnostic, case)
    if len(listed) > _MOST_DIAGNOSTICS:
        yield ""
        yield f"… and {len(listed) - _MOST_DIAGNOSTICS} more."


def _described(candidate: Candidate | None, diagnostic: Diagnostic, case: str) -> Iterator[str]:
    place = ":".join(str(part) for part in (diagnostic.file, diagnostic.line, diagnostic.column) if part)
    first, *rest = without_values(diagnostic).strip().split("\n")
    times = f" ({diagnostic.count} times)" if diagnostic.count > 1 else ""
    where = f"{place}: " if place else ""
    of_case = f"case {case}: " if case else ""
    yield f"{where}{diagnostic.severity.value}: {of_case}{first}{times} [{diagnostic.rule}]"
    yield from (f"  {line}" for line in rest[:_MESSAGE_LINES])
    line = _source_line(candidate, diagnostic)
    if line:
        yield f"  {diagnostic.line} | {line[:_EXCERPT]}"
    if diagnostic.remedy:
        yield f"  Remedy: {diagnostic.remedy}"


def _source_line(candidate: Candidate | None, diagnostic: Diagnostic) -> str:
    text = candidate.files.get(diagnostic.file) if candidate else None
    lines = text.split("\n") if text else []
    return lines[diagnostic.line - 1].strip() if 0 < diagnostic.line <= len(lines) else ""


def _advice(verdict: Verdict) -> Iterator[str]:
    """Where the time of a launch goes, and how much of it the machine needs."""
    for case in verdict.cases:
        profile = case.profile
        # The time of a hidden case would tell its size.
        if profile is None or case.case.startswith(_HIDDEN):
            continue
        word = "predicted" if profile.predicted else "measured"
        yield ""
        yield f"Time of case {case.case}: {profile.time_us:.2f} us ({word}), {profile.blocks} cores."
        if profile.bottleneck:
            yield f"  {profile.bottleneck}"
        ratios = {name: value for name, value in profile.counters.items() if name.endswith("_ratio")}
        busiest = sorted(ratios, key=lambda name: (-ratios[name], name))[:4]
        if busiest:
            yield "  busy: " + ", ".join(f"{name.removesuffix('_ratio')} {ratios[name]:.0%}" for name in busiest)
    roofline = verdict.metrics.get("roofline")
    if roofline is not None:
        yield ""
        yield f"That is {roofline:.0%} of the speed that the machine's memory and units allow for this task."
