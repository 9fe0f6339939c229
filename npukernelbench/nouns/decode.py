"""Nouns out of the plain JSON values that :mod:`npukernelbench.nouns.codec` made of them, for what is read from disk.

A decoder raises ValueError with the dotted name of the offending field; the caller knows file and line and adds them.
Number fields read the texts ``"nan"``, ``"inf"`` and ``"-inf"`` back.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import TypeVar

from npukernelbench.nouns.codec import JSON
from npukernelbench.nouns.evidence import Analysis, Diagnostic, LineCost, Profile, Span, Suggestion
from npukernelbench.nouns.outcomes import Outcome, Owner, Severity, Stage, Tier, Track
from npukernelbench.nouns.sample import (
    CallStatus,
    Candidate,
    CaseResult,
    Completion,
    FinishReason,
    Message,
    Prompt,
    Sample,
    SampleKey,
    TokenUsage,
    Tool,
    ToolCall,
    ToolResult,
    Verdict,
)

__all__ = [
    "candidate_from_json",
    "completion_from_json",
    "key_from_json",
    "profile_from_json",
    "prompt_from_json",
    "sample_from_json",
    "verdict_from_json",
]

_T = TypeVar("_T")
_E = TypeVar("_E", bound=Enum)


def key_from_json(value: JSON, where: str = "key") -> SampleKey:
    """The inverse of :func:`to_json` for a sample key."""
    data = _object(value, where)
    return SampleKey(
        task=_text(data, "task", where),
        case=_text(data, "case", where),
        track=_enum(Track, data, "track", where),
        index=_int(data, "index", where),
        # Logs of before there were turns have none.
        turn=_int(data, "turn", where) if "turn" in data else 0,
    )


def prompt_from_json(value: JSON, where: str = "prompt") -> Prompt:
    """The inverse of :func:`to_json` for a prompt."""
    data = _object(value, where)
    return Prompt(
        messages=tuple(_items(data, "messages", where, _message)),
        template=_text(data, "template", where),
        hash=_text(data, "hash", where),
        tools=_listed(data, "tools", where, _tool),
    )


def completion_from_json(value: JSON, where: str = "completion") -> Completion:
    """The inverse of :func:`to_json` for a completion."""
    data = _object(value, where)
    usage = _object(_get(data, "usage", where), f"{where}.usage")
    return Completion(
        text=_text(data, "text", where),
        finish_reason=_enum(FinishReason, data, "finish_reason", where),
        reasoning=_text(data, "reasoning", where),
        # In the order of the fields, which is the order of the arguments.
        usage=TokenUsage(*(_int(usage, name, f"{where}.usage") for name in TokenUsage._fields)),
        model=_text(data, "model", where),
        sent=_object(data.get("sent", {}), f"{where}.sent"),
        # Logs of before there was a cache have no such field; anything but true is false.
        cached=data.get("cached") is True,
        calls=_listed(data, "calls", where, _tool_call),
        results=_listed(data, "results", where, _tool_result),
        transcript=_text(data, "transcript", where) if "transcript" in data else "",
        seconds=_number(data["seconds"], f"{where}.seconds") if "seconds" in data else 0.0,
    )


def candidate_from_json(value: JSON, where: str = "candidate") -> Candidate:
    """The inverse of :func:`to_json` for a candidate."""
    data = _object(value, where)
    files = _object(_get(data, "files", where), f"{where}.files")
    return Candidate(
        files={name: _text(files, name, f"{where}.files") for name in files},
        hash=_text(data, "hash", where),
    )


def verdict_from_json(value: JSON, where: str = "verdict") -> Verdict:
    """The inverse of :func:`to_json` for a verdict; ``timings`` may be missing, they are stored apart."""
    data = _object(value, where)
    return Verdict(
        track=_enum(Track, data, "track", where),
        tier=_enum(Tier, data, "tier", where),
        stage=_enum(Stage, data, "stage", where),
        outcome=_enum(Outcome, data, "outcome", where),
        owner=_enum(Owner, data, "owner", where),
        cases=tuple(_items(data, "cases", where, _case_result)),
        diagnostics=tuple(_items(data, "diagnostics", where, _diagnostic)),
        metrics=_numbers(data, "metrics", where),
        # Wall times differ between equal runs, which is why logs keep them apart.
        timings=_numbers(data, "timings", where) if "timings" in data else {},
        sandbox=_text(data, "sandbox", where) if "sandbox" in data else "",
    )


def sample_from_json(value: JSON, where: str = "sample") -> Sample:
    """The inverse of :func:`to_json` for a whole sample."""
    data = _object(value, where)
    return Sample(
        key=key_from_json(_get(data, "key", where), f"{where}.key"),
        prompt=prompt_from_json(_get(data, "prompt", where), f"{where}.prompt"),
        completion=_optional(data, "completion", where, completion_from_json),
        candidate=_optional(data, "candidate", where, candidate_from_json),
        verdict=_optional(data, "verdict", where, verdict_from_json),
        calls=_listed(data, "calls", where, _tool_result),
    )


def _message(value: JSON, where: str) -> Message:
    data = _object(value, where)
    return Message(
        role=_text(data, "role", where),
        content=_text(data, "content", where),
        calls=_listed(data, "calls", where, _tool_call),
        call=_text(data, "call", where) if "call" in data else "",
    )


def _tool(value: JSON, where: str) -> Tool:
    data = _object(value, where)
    parameters = _object(_get(data, "parameters", where), f"{where}.parameters")
    return Tool(_text(data, "name", where), _text(data, "description", where), parameters)


def _tool_call(value: JSON, where: str) -> ToolCall:
    data = _object(value, where)
    return ToolCall(*(_text(data, name, where) for name in ToolCall._fields))


def _tool_result(value: JSON, where: str) -> ToolResult:
    data = _object(value, where)
    return ToolResult(
        id=_text(data, "id", where),
        name=_text(data, "name", where),
        content=_text(data, "content", where),
        status=_enum(CallStatus, data, "status", where),
        paid=data.get("paid") is True,
        outcome=None if data.get("outcome") is None else _enum(Outcome, data, "outcome", where),
        compiled_only=data.get("compiled_only") is True,
        rules=tuple(str(rule) for rule in _listed(data, "rules", where, lambda rule, _: rule)),
        time_us=_number(data["time_us"], f"{where}.time_us") if "time_us" in data else 0.0,
        tokens=_int(data, "tokens", where) if "tokens" in data else 0,
        seconds=_number(data["seconds"], f"{where}.seconds") if "seconds" in data else 0.0,
        speedup=_number(data["speedup"], f"{where}.speedup") if "speedup" in data else 0.0,
    )


def _diagnostic(value: JSON, where: str) -> Diagnostic:
    data = _object(value, where)
    return Diagnostic(
        severity=_enum(Severity, data, "severity", where),
        rule=_text(data, "rule", where),
        message=_text(data, "message", where),
        file=_text(data, "file", where),
        line=_int(data, "line", where),
        column=_int(data, "column", where),
        remedy=_text(data, "remedy", where),
        count=_int(data, "count", where),
        details=_object(_get(data, "details", where), f"{where}.details"),
    )


def profile_from_json(value: JSON, where: str = "profile") -> Profile:
    """The inverse of :func:`to_json` for a profile, but for the cores of an analysis, which are not read back."""
    data = _object(value, where)
    # Checked apart: `bool` would take any text for true.
    predicted = _get(data, "predicted", where)
    if not isinstance(predicted, bool):
        raise ValueError(f"{where}.predicted: expected true or false, got {_shown(predicted)}")
    return Profile(
        time_us=_number(_get(data, "time_us", where), f"{where}.time_us"),
        predicted=predicted,
        machine=_text(data, "machine", where),
        blocks=_int(data, "blocks", where),
        counters=_numbers(data, "counters", where),
        tiling_key=_optional_at(data, "tiling_key", where, _whole),
        low_us=_optional_at(data, "low_us", where, _number),
        high_us=_optional_at(data, "high_us", where, _number),
        bottleneck=_text(data, "bottleneck", where) if "bottleneck" in data else "",
        analysis=_optional_at(data, "analysis", where, _analysis),
    )


def _analysis(value: JSON, where: str) -> Analysis:
    data = _object(value, where)
    return Analysis(
        suggestions=tuple(_items(data, "suggestions", where, _suggestion)),
        lines=tuple(_items(data, "lines", where, _line_cost)),
        spans=tuple(_items(data, "spans", where, _span)),
    )


def _suggestion(value: JSON, where: str) -> Suggestion:
    data = _object(value, where)
    return Suggestion(_text(data, "change", where), _number(_get(data, "time_us", where), f"{where}.time_us"))


def _line_cost(value: JSON, where: str) -> LineCost:
    data = _object(value, where)
    busy_us, wait_us = (_number(_get(data, name, where), f"{where}.{name}") for name in ("busy_us", "wait_us"))
    line, times, nbytes = (_int(data, name, where) for name in ("line", "times", "nbytes"))
    return LineCost(_text(data, "file", where), line, _text(data, "pipe", where), times, busy_us, wait_us, nbytes)


def _span(value: JSON, where: str) -> Span:
    data = _object(value, where)
    start_us, end_us = (_number(_get(data, name, where), f"{where}.{name}") for name in ("start_us", "end_us"))
    core, line, nbytes = (_int(data, name, where) for name in ("core", "line", "nbytes"))
    return Span(core, _text(data, "pipe", where), _text(data, "file", where), line, start_us, end_us, nbytes)


def _case_result(value: JSON, where: str) -> CaseResult:
    data = _object(value, where)
    return CaseResult(
        case=_text(data, "case", where),
        stage=_enum(Stage, data, "stage", where),
        outcome=_enum(Outcome, data, "outcome", where),
        diagnostics=tuple(_items(data, "diagnostics", where, _diagnostic)),
        metrics=_numbers(data, "metrics", where),
        profile=_optional(data, "profile", where, profile_from_json),
    )


def _shown(value: object) -> str:
    # Of a damaged log the value may be all of an answer, and the message is one line.
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _object(value: JSON, where: str) -> Mapping[str, JSON]:
    if not isinstance(value, Mapping):
        raise ValueError(f"{where}: expected an object, got {_shown(value)}")
    return value


def _get(data: Mapping[str, JSON], name: str, where: str) -> JSON:
    try:
        return data[name]
    except KeyError:
        raise ValueError(f"{where}.{name}: missing") from None


def _text(data: Mapping[str, JSON], name: str, where: str) -> str:
    value = _get(data, name, where)
    if not isinstance(value, str):
        raise ValueError(f"{where}.{name}: expected text, got {_shown(value)}")
    return value


def _int(data: Mapping[str, JSON], name: str, where: str) -> int:
    return _whole(_get(data, name, where), f"{where}.{name}")


def _number(value: JSON, where: str) -> float:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return value
    # Only these: `float` would read much else, such as "1_000" and "Infinity".
    if isinstance(value, str) and value in ("nan", "inf", "-inf"):
        return float(value)
    raise ValueError(f"{where}: expected a number, got {_shown(value)}")


def _numbers(data: Mapping[str, JSON], name: str, where: str) -> dict[str, float]:
    values = _object(_get(data, name, where), f"{where}.{name}")
    return {key: _number(item, f"{where}.{name}.{key}") for key, item in values.items()}


def _enum(kind: type[_E], data: Mapping[str, JSON], name: str, where: str) -> _E:
    value = _get(data, name, where)
    try:
        return kind(value)
    except ValueError:
        raise ValueError(f"{where}.{name}: {_shown(value)} is not one of {[m.value for m in kind]}") from None


def _listed(data: Mapping[str, JSON], name: str, where: str, decode: Callable[[JSON, str], _T]) -> tuple[_T, ...]:
    """The items of a list that may be missing."""
    return tuple(_items(data, name, where, decode)) if name in data else ()


def _items(data: Mapping[str, JSON], name: str, where: str, decode: Callable[[JSON, str], _T]) -> list[_T]:
    values = _get(data, name, where)
    # Text is a sequence, too.
    if isinstance(values, str) or not isinstance(values, Sequence):
        raise ValueError(f"{where}.{name}: expected a list, got {_shown(values)}")
    return [decode(item, f"{where}.{name}[{i}]") for i, item in enumerate(values)]


def _optional_at(data: Mapping[str, JSON], name: str, where: str, decode: Callable[[JSON, str], _T]) -> _T | None:
    """A field that older results do not have."""
    value = data.get(name)
    return None if value is None else decode(value, f"{where}.{name}")


def _whole(value: JSON, where: str) -> int:
    # A bool is an int in Python, and not in JSON.
    if not isinstance(value, int) or isinstance(value, bool):
        raise ValueError(f"{where}: expected a whole number, got {_shown(value)}")
    return value


def _optional(data: Mapping[str, JSON], name: str, where: str, decode: Callable[[JSON, str], _T]) -> _T | None:
    value = _get(data, name, where)
    return None if value is None else decode(value, f"{where}.{name}")
