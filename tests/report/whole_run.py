"""A run with everything a page shows: turns, reasoning, diagnostics with places, profiles, hostile texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from npukernelbench.generate.strategy import SEARCH
from npukernelbench.nouns import (
    Analysis,
    CallStatus,
    Candidate,
    CaseResult,
    Completion,
    Diagnostic,
    Message,
    Outcome,
    Profile,
    Prompt,
    Sample,
    SampleKey,
    Severity,
    Span,
    Stage,
    Tier,
    TokenUsage,
    ToolResult,
    Track,
    Verdict,
)
from npukernelbench.report.results import summarise
from npukernelbench.store import Manifest, RunStore

SOURCE = '#include "kernel_operator.h"\n// adds\nvoid add(int x)\n{\n    Copy(x, 1);\n}\n'
HOSTILE = "</script><img src=x onerror=alert(1)><!-- data --> \u2028 \ud800"
ERROR = Diagnostic(Severity.ERROR, "compile", "no function Copy\ncandidate: DataCopy", "kernel.cpp", 5, 5)
PROFILE = Profile(
    4.0,
    True,
    "m1",
    2,
    {"aiv_vec_time": 1.0, "aiv_vec_ratio": 0.25, "aiv_vec_wait_ratio": 0.5},
    low_us=3.0,
    high_us=5.0,
    bottleneck="half of it is the launch",
)


def _at(line: int) -> Profile:
    spans = tuple(Span(core, "V", "kernel.cpp", line, 0.0, 1.5, 64) for core in range(2))
    return replace(PROFILE, analysis=Analysis(spans=spans))


def judged(
    key: SampleKey, outcome: Outcome, *, text: str, prompt: Prompt, source: str = SOURCE, line: int = 5
) -> Sample:
    right = outcome is Outcome.OK
    stage = {Outcome.OK: Stage.DONE, Outcome.COMPILE_ERROR: Stage.COMPILE}.get(outcome, Stage.RUN)
    metrics = {"predicted_time_us": 4.0, "bound_us": 2.0, "roofline": 0.5, "speedup_golden": 1.1} if right else {}
    cases = (CaseResult("0", stage, outcome, (), metrics, _at(line) if right else None),)
    errors = (replace(ERROR, line=line),) if outcome is Outcome.COMPILE_ERROR else ()
    verdict = Verdict(key.track, Tier.TWIN, stage, outcome, outcome.owner, cases, errors, metrics, {"compile": 0.1})
    answer = Completion(text, reasoning="think twice", model="simulated")
    return Sample(key, prompt, answer, Candidate({"kernel.cpp": source}, "h"), verdict)


def a_run(folder: Path, *, tasks: int = 3, source: str = SOURCE, line: int = 5) -> Path:
    """Per task a conversation of two turns that ends right, a compile error with a hostile answer, a fault of ours.

    What is said of a source is said of one of its lines.
    """
    names = [f"Task{i}" for i in range(tasks)]
    facts = {name: {"level": 1, "category": "Math", "suite": "s", "hash": "h", "cases": ["0"]} for name in names}
    executor = {"name": "twin", "tier": "twin", "args": {}, "description": {"machine": "m1"}}
    asked = {"model": "simulated", "track": "static", "samples": 3, "turns": 2, "seed": 0}
    first = Prompt((Message("system", "You write kernels."), Message("user", "Add.")), "t@1", "h")
    again = Prompt((*first.messages, Message("assistant", "wrong"), Message("user", "Repair it.")), "t@1", "h2")
    with RunStore.open(folder, Manifest({**asked, "tasks": facts, "executor": executor}, {"harness": "0"})) as store:
        for name in names:
            keys = [SampleKey(name, "0", Track.STATIC, index) for index in range(3)]
            store.add_sample(
                judged(keys[0], Outcome.COMPILE_ERROR, text="first try", prompt=first, source=source, line=line)
            )
            store.add_sample(
                judged(keys[0].following, Outcome.OK, text="second try", prompt=again, source=source, line=line)
            )
            store.add_sample(
                judged(keys[1], Outcome.COMPILE_ERROR, text=HOSTILE, prompt=first, source=source, line=line)
            )
            store.add_sample(judged(keys[2], Outcome.INFRA_ERROR, text="lost", prompt=first, source=source, line=line))
    return folder


def a_search(
    folder: Path,
    times_us: Sequence[float] = (0.0, 4.0, 2.0),
    strategy: str = "best-of",
    currency: str = "USD",
) -> Path:
    """A search that has judged kernels with such times, 0 for one that does not compile; with its results. That of
    ``tools`` also has calls, of which a guard refuses every other.
    """
    facts = {"Task0": {"level": 1, "category": "Math", "suite": "s", "hash": "h", "cases": ["0"]}}
    executor = {"name": "twin", "tier": "twin", "args": {}, "description": {"machine": "m1"}}
    asked = {"model": "simulated", "track": "static", "samples": 1, "turns": 3, "strategy": strategy}
    prompt = Prompt((Message("user", "Add."),), f"t{SEARCH}{strategy}@1", "h")
    spent = {"usage": TokenUsage(900, 100), "seconds": 2.0}
    price = {"input": 1.0, "output": 1.0, "currency": currency}
    with RunStore.open(
        folder, Manifest({**asked, "tasks": facts, "executor": executor}, {"harness": "0", "price": price})
    ) as store:
        key = SampleKey("Task0", "0", Track.STATIC, 0)
        for time_us in times_us:
            outcome = Outcome.OK if time_us else Outcome.COMPILE_ERROR
            sample = judged(key, outcome, text=f"answer {key.turn}", prompt=prompt)
            cases = tuple(replace(case, profile=replace(PROFILE, time_us=time_us)) for case in sample.verdict.cases)
            verdict = replace(sample.verdict, cases=cases)
            call = ToolResult(
                "c", "judge", "", CallStatus.ANSWERED, paid=True, outcome=Outcome.GUARD_REJECTED, tokens=900
            )
            calls = (call, replace(call, outcome=outcome, time_us=time_us)) if strategy == "tools" else ()
            store.add_sample(
                replace(sample, completion=replace(sample.completion, **spent), verdict=verdict, calls=calls)
            )
            key = key.following
        store.write_results(summarise(store.manifest, store.samples().values()))
    return folder
