"""Nouns as JSON: what is written can be read back, deterministically, and damage is named by its field."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from npukernelbench import nouns
from npukernelbench.nouns.codec import dumps, to_json
from npukernelbench.nouns.decode import profile_from_json, sample_from_json
from npukernelbench.nouns.evidence import Analysis, CoreCost, LineCost, Span, Suggestion

NAMES = st.text(st.characters(codec="utf-8"), max_size=12)
# Answers of a model may hold anything, lone surrogates included.
ANY_TEXT = st.text(st.characters(), max_size=40)
NUMBERS = st.dictionaries(NAMES, st.floats(allow_nan=False) | st.integers(-(2**53), 2**53), max_size=3)
DIAGNOSTICS = st.builds(
    nouns.Diagnostic,
    severity=st.sampled_from(nouns.Severity),
    rule=NAMES,
    message=ANY_TEXT,
    file=NAMES,
    line=st.integers(0, 10**6),
    column=st.integers(0, 999),
    remedy=NAMES,
    count=st.integers(1, 10**9),
    details=st.dictionaries(NAMES, st.none() | st.integers() | ANY_TEXT | st.lists(st.booleans()), max_size=2),
)
PROFILES = st.builds(
    nouns.Profile,
    time_us=st.floats(0, allow_infinity=False),
    predicted=st.booleans(),
    machine=NAMES,
    blocks=st.integers(1, 48),
    counters=NUMBERS,
)
CASES = st.builds(
    nouns.CaseResult,
    case=NAMES,
    stage=st.sampled_from(nouns.Stage),
    outcome=st.sampled_from(nouns.Outcome),
    diagnostics=st.lists(DIAGNOSTICS, max_size=2).map(tuple),
    metrics=NUMBERS,
    profile=st.none() | PROFILES,
)
VERDICTS = st.builds(
    nouns.Verdict,
    track=st.sampled_from(nouns.Track),
    tier=st.sampled_from(nouns.Tier),
    stage=st.sampled_from(nouns.Stage),
    outcome=st.sampled_from(nouns.Outcome),
    owner=st.sampled_from(nouns.Owner),
    cases=st.lists(CASES, max_size=2).map(tuple),
    diagnostics=st.lists(DIAGNOSTICS, max_size=2).map(tuple),
    metrics=NUMBERS,
    timings=NUMBERS,
)
PROMPTS = st.builds(
    nouns.Prompt,
    messages=st.lists(st.builds(nouns.Message, NAMES, ANY_TEXT), max_size=2).map(tuple),
    template=NAMES,
    hash=NAMES,
)
COMPLETIONS = st.builds(
    nouns.Completion,
    text=ANY_TEXT,
    finish_reason=st.sampled_from(nouns.FinishReason),
    reasoning=ANY_TEXT,
    usage=st.builds(nouns.TokenUsage, *[st.integers(0, 10**9)] * 3),
    model=NAMES,
)
SAMPLES = st.builds(
    nouns.Sample,
    key=st.builds(nouns.SampleKey, NAMES, NAMES, st.sampled_from(nouns.Track), st.integers(0, 999)),
    prompt=PROMPTS,
    completion=st.none() | COMPLETIONS,
    candidate=st.none() | st.builds(nouns.Candidate, files=st.dictionaries(NAMES, ANY_TEXT, max_size=2), hash=NAMES),
    verdict=st.none() | VERDICTS,
)


@given(SAMPLES)
def test_a_sample_survives_the_way_to_disk_and_back(sample: nouns.Sample) -> None:
    line = dumps(sample)
    assert line.isascii()
    assert "\n" not in line
    again = sample_from_json(json.loads(line))
    assert again == sample
    assert dumps(again) == line


def test_an_analysis_is_read_back_but_for_its_cores() -> None:
    analysis = Analysis(
        (Suggestion("two buffers", 3.0),),
        (LineCost("kernel.cpp", 4, "V", 2, 0.5, 0.25, 64),),
        (CoreCost(0, 2, 4.0, {"V": 1.0}, {}),),
        (Span(0, "V", "kernel.cpp", 4, 0.0, 0.5, 64),),
    )
    profile = nouns.Profile(4.0, True, "m", 2, analysis=analysis)
    assert profile_from_json(json.loads(dumps(profile))) == replace(profile, analysis=replace(analysis, cores=()))
    with pytest.raises(ValueError, match=r"profile.analysis.spans\[0\].start_us"):
        profile_from_json(json.loads(dumps(profile).replace('"start_us":0.0', '"start_us":"soon"')))


def test_infinite_and_undefined_numbers_survive() -> None:
    metrics = {"a": math.inf, "b": -math.inf, "c": math.nan}
    verdict = nouns.Verdict(
        nouns.Track.STATIC,
        nouns.Tier.TWIN,
        nouns.Stage.CHECK,
        nouns.Outcome.NON_FINITE,
        nouns.Owner.MODEL,
        metrics=metrics,
    )
    sample = nouns.Sample(
        nouns.SampleKey("t", "c", nouns.Track.STATIC, 0), nouns.Prompt((), "t@1", "h"), None, None, verdict
    )
    line = dumps(sample)
    assert '"metrics":{"a":"inf","b":"-inf","c":"nan"}' in line
    again = sample_from_json(json.loads(line)).verdict
    assert again is not None
    assert again.metrics["a"] == math.inf
    assert again.metrics["b"] == -math.inf
    assert math.isnan(again.metrics["c"])


def test_every_kind_of_value() -> None:
    value = {
        "path": Path("a/b"),
        "enum": nouns.DType.FLOAT16,
        "set": frozenset({"b", "a"}),
        "limits": nouns.Tolerance(limits={nouns.DType.FLOAT32: nouns.ToleranceLimits(1e-3, 1e-3)}),
        "numpy": [np.float32(0.5), np.int64(3), np.bool_(True), np.float64("nan")],
        "key": nouns.SampleKey("t", "", nouns.Track.DYNAMIC, 0),
        "proxy": MappingProxyType({"b": 1, "a": 2}),
    }
    assert to_json(value) == {
        "enum": "float16",
        "key": {"task": "t", "case": "", "track": "dynamic", "index": 0, "turn": 0},
        "limits": {"policy": "pcl", "limits": {"float32": {"atol": 1e-3, "rtol": 1e-3}}},
        "numpy": [0.5, 3, True, "nan"],
        "path": "a/b",
        "proxy": {"a": 2, "b": 1},
        "set": ["a", "b"],
    }


def test_the_order_of_insertion_does_not_matter() -> None:
    assert dumps({"b": 1, "a": {"y": 1, "x": 2}}) == dumps({"a": {"x": 2, "y": 1}, "b": 1})


@pytest.mark.parametrize("value", [b"bytes", {1: 2}, object(), np.zeros(3), len])
def test_what_json_cannot_hold_is_refused(value: object) -> None:
    with pytest.raises(TypeError):
        to_json({"deep": [value]})


def damaged(path: tuple[str | int, ...], value: object) -> Any:
    diagnostic = nouns.Diagnostic(nouns.Severity.ERROR, "r", "m")
    profile = nouns.Profile(1.0, True, "m", 1, {"x": 1.0})
    result = nouns.CaseResult("c", nouns.Stage.DONE, nouns.Outcome.OK, (diagnostic,), {"m": 1.0}, profile)
    verdict = nouns.Verdict(
        nouns.Track.STATIC, nouns.Tier.TWIN, nouns.Stage.DONE, nouns.Outcome.OK, nouns.Owner.NONE, (result,)
    )
    prompt = nouns.Prompt((nouns.Message("user", "x"),), "t@1", "h")
    sample = nouns.Sample(
        nouns.SampleKey("t", "c", nouns.Track.STATIC, 0),
        prompt,
        nouns.Completion("x"),
        nouns.Candidate({"kernel.cpp": "x"}, "h"),
        verdict,
    )
    whole: Any = json.loads(dumps(sample))
    inner = whole
    for step in path[:-1]:
        inner = inner[step]
    if value is KeyError:
        del inner[path[-1]]
    else:
        inner[path[-1]] = value
    return whole


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("key", "index"), "0", r"sample\.key\.index: expected a whole number, got '0'"),
        (("key", "index"), True, r"sample\.key\.index: expected a whole number, got True"),
        (("key",), None, r"sample\.key: expected an object, got None"),
        (("prompt", "messages"), "hi", r"sample\.prompt\.messages: expected a list, got 'hi'"),
        (("prompt", "messages", 0, "role"), 3, r"sample\.prompt\.messages\[0\]\.role: expected text, got 3"),
        (("completion", "finish_reason"), "x", r"sample\.completion\.finish_reason: 'x' is not one of \['stop'"),
        (("candidate", "files", "kernel.cpp"), None, r"sample\.candidate\.files\.kernel\.cpp: expected text"),
        (("verdict", "cases", 0, "metrics", "m"), "big", r"cases\[0\]\.metrics\.m: expected a number, got 'big'"),
        (("verdict", "cases", 0, "profile", "predicted"), 1, r"profile\.predicted: expected true or false, got 1"),
        (("verdict", "outcome"), [], r"sample\.verdict\.outcome: \[\] is not one of"),
        (("verdict", "owner"), KeyError, r"sample\.verdict\.owner: missing"),
        (("verdict",), KeyError, r"sample\.verdict: missing"),
    ],
)
def test_damage_is_named_by_its_field(path: tuple[str | int, ...], value: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        sample_from_json(damaged(path, value))


def test_calls_of_tools_are_read_back_and_take_no_room_where_there_are_none() -> None:
    call = nouns.ToolCall("c1", "judge", '{"files": {')
    tool = nouns.Tool("judge", "Judge a kernel.", {"type": "object"})
    messages = (nouns.Message("assistant", "", (call,)), nouns.Message("tool", "{}", call="c1"))
    result = nouns.ToolResult(
        "c1", "judge", "{}", nouns.CallStatus.ANSWERED, True, nouns.Outcome.RULE_VIOLATION, False, ("misaligned",)
    )
    key = nouns.SampleKey("Sqrt", "0", nouns.Track.STATIC, 0)
    plain = nouns.Sample(key, nouns.Prompt((nouns.Message("user", "?"),), "t", "h"), nouns.Completion("!"), None, None)
    sample = replace(
        plain,
        prompt=replace(plain.prompt, messages=messages, tools=(tool,)),
        completion=nouns.Completion("", calls=(call,)),
        calls=(result,),
    )
    assert sample_from_json(json.loads(dumps(sample))) == sample
    assert sample_from_json(json.loads(dumps(plain))) == plain
    assert '"call' not in dumps(plain)
    assert '"tools' not in dumps(plain)
