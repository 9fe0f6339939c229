"""One sample with everything that is known of it: conversation, code, diagnostics, cases, profile."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypedDict

from npukernelbench.nouns import CaseResult, Completion, Profile, Prompt, Sample, Span, ToolResult, Verdict
from npukernelbench.nouns.codec import JSON, to_json
from npukernelbench.report.effort import UNCOMPUTED
from npukernelbench.report.html.highlight import highlight
from npukernelbench.report.verdict import listed_diagnostics
from npukernelbench.run.turns import settled

__all__ = ["Block"]

#: Spans that a timeline shows; more are finer than a line of a page.
_SPANS = 600


@dataclass(slots=True)
class Block:
    """Samples that a page loads together. Messages that several prompts share are kept once."""

    messages: list[list[str]] = field(default_factory=list)
    samples: list[JSON] = field(default_factory=list)
    nbytes: int = 0
    _places: dict[tuple[str, str], int] = field(default_factory=dict)

    def add(self, turns: Sequence[Sample]) -> None:
        """Add a conversation; a sample of one answer is a conversation of one turn."""
        speaking = settled(turns)
        self.samples.append({"turns": [self._turn(turn, turn is speaking) for turn in turns]})

    def as_json(self) -> dict[str, JSON]:
        """What the page reads."""
        return {"messages": to_json(self.messages), "samples": self.samples}

    def _turn(self, sample: Sample, speaks: bool) -> JSON:
        verdict, candidate = sample.verdict, sample.candidate
        if verdict is None:
            raise ValueError(f"{sample.key} has no verdict")
        files = dict(candidate.files) if candidate else {}
        shown = [_file(name, text) for name, text in sorted(files.items())]
        # Characters rather than bytes: the size of a block need not be exact, and encoding every text would cost time.
        self.nbytes += sum(map(len, files.values())) + len(sample.completion.text if sample.completion else "")
        return {
            "turn": sample.key.turn,
            "speaks": speaks,
            "template": sample.prompt.template,
            "prompt": self._prompt(sample.prompt),
            "answer": _answer(sample.completion, [file["text"] for file in shown]),
            "files": to_json(shown),
            "calls": [_call(result) for result in sample.calls],
            **_verdict(verdict),
        }

    def _prompt(self, prompt: Prompt) -> list[JSON]:
        places: list[JSON] = []
        for role, content in ((message.role, message.shown) for message in prompt.messages):
            if (role, content) not in self._places:
                # Prompts of a task share most of their text, and a page would hold it once per sample.
                self._places[role, content] = len(self.messages)
                self.messages.append([role, content])
                self.nbytes += len(content)
            places.append(self._places[role, content])
        return places


def _answer(completion: Completion | None, sources: Sequence[str]) -> JSON:
    if completion is None:
        return None
    return {
        "parts": _parts(completion.text, sources),
        "reasoning": completion.reasoning,
        "finish": completion.finish_reason.value,
        "model": completion.model,
        "usage": to_json(completion.usage),
        "cached": completion.cached,
        "sent": to_json(completion.sent),
    }


def _call(result: ToolResult) -> JSON:
    return {
        "name": result.name,
        "status": result.status.value,
        "outcome": result.outcome.value if result.outcome else "",
        "refused": result.outcome in UNCOMPUTED,
        "rules": list(result.rules),
        "time_us": result.time_us,
        "tokens": result.tokens,
        "seconds": result.seconds,
    }


def _parts(text: str, sources: Sequence[str]) -> list[JSON]:
    """The text in pieces; the number of a source stands for its text, which the page has anyway."""
    parts: list[JSON] = [text]
    for number, source in enumerate(sources):
        # Behind the sources before it alone: one that stands earlier is shown twice, which costs only bytes.
        last = parts[-1]
        # An empty file would be found in every text.
        if source and isinstance(last, str) and source in last:
            before, _, after = last.partition(source)
            parts[-1:] = [before, number, after]
    return parts


class _File(TypedDict):
    name: str
    text: str
    runs: list[int]


def _file(name: str, text: str) -> _File:
    shown = highlight(text, name)
    return {"name": name, "text": shown.text, "runs": list(shown.runs)}


def _verdict(verdict: Verdict) -> dict[str, JSON]:
    return {
        "outcome": verdict.outcome.value,
        "owner": verdict.owner.value,
        "stage": verdict.stage.value,
        "metrics": to_json(dict(verdict.metrics)),
        "timings": to_json(dict(verdict.timings)),
        "sandbox": verdict.sandbox,
        "diagnostics": [
            {
                "case": case,
                "severity": diagnostic.severity.value,
                "rule": diagnostic.rule,
                "message": diagnostic.message,
                "file": diagnostic.file,
                "line": diagnostic.line,
                "column": diagnostic.column,
                "remedy": diagnostic.remedy,
                "count": diagnostic.count,
            }
            for case, diagnostic in listed_diagnostics(verdict)
        ],
        "cases": [_case(case) for case in verdict.cases],
    }


def _case(case: CaseResult) -> JSON:
    return {
        "case": case.case,
        "stage": case.stage.value,
        "outcome": case.outcome.value,
        "metrics": to_json(dict(case.metrics)),
        "profile": None if case.profile is None else _profile(case.profile),
    }


def _profile(profile: Profile) -> JSON:
    analysis = profile.analysis
    return {
        "time_us": profile.time_us,
        "predicted": profile.predicted,
        "machine": profile.machine,
        "blocks": profile.blocks,
        "low_us": profile.low_us,
        "high_us": profile.high_us,
        "tiling_key": profile.tiling_key,
        "bottleneck": profile.bottleneck,
        "counters": to_json(dict(profile.counters)),
        "spans": [] if analysis is None else _spans(analysis.spans),
        "suggestions": []
        if analysis is None
        else [[suggestion.change, suggestion.time_us] for suggestion in analysis.suggestions],
        "lines": [] if analysis is None else [[line.file, line.line, line.busy_us] for line in analysis.lines[:50]],
    }


def _spans(spans: Sequence[Span]) -> list[JSON]:
    """Pipe, start, end, place in the source: those of the first core, as every core does much the same."""
    core = spans[0].core if spans else 0
    # The first ones: spans come in the order in which they ended, so that what is shown has no gap.
    mine = [span for span in spans if span.core == core][:_SPANS]
    # Four digits of a microsecond are finer than a clock cycle; more would only make the page longer.
    return [[span.pipe, round(span.start_us, 4), round(span.end_us, 4), f"{span.file}:{span.line}"] for span in mine]
