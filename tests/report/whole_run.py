"""A run with everything a page shows: turns, reasoning, diagnostics with places, profiles, hostile texts."""

from __future__ import annotations

from pathlib import Path

from npukernelbench.nouns import (
    Analysis,
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
    Track,
    Verdict,
)
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
    analysis=Analysis(spans=(Span(0, "V", "kernel.cpp", 5, 0.0, 1.5, 64), Span(1, "V", "kernel.cpp", 5, 0.0, 1.5, 64))),
)


def judged(key: SampleKey, outcome: Outcome, *, text: str, prompt: Prompt) -> Sample:
    right = outcome is Outcome.OK
    stage = {Outcome.OK: Stage.DONE, Outcome.COMPILE_ERROR: Stage.COMPILE}.get(outcome, Stage.RUN)
    metrics = {"predicted_time_us": 4.0, "bound_us": 2.0, "roofline": 0.5, "speedup_golden": 1.1} if right else {}
    cases = (CaseResult("0", stage, outcome, (), metrics, PROFILE if right else None),)
    errors = (ERROR,) if outcome is Outcome.COMPILE_ERROR else ()
    verdict = Verdict(key.track, Tier.TWIN, stage, outcome, outcome.owner, cases, errors, metrics, {"compile": 0.1})
    answer = Completion(text, reasoning="think twice", model="simulated")
    return Sample(key, prompt, answer, Candidate({"kernel.cpp": SOURCE}, "h"), verdict)


def a_run(folder: Path, *, tasks: int = 3) -> Path:
    """Per task a conversation of two turns that ends right, a compile error with a hostile answer, a fault of ours."""
    names = [f"Task{i}" for i in range(tasks)]
    facts = {name: {"level": 1, "category": "Math", "suite": "s", "hash": "h", "cases": ["0"]} for name in names}
    executor = {"name": "twin", "tier": "twin", "args": {}, "description": {"machine": "m1"}}
    asked = {"model": "simulated", "track": "static", "samples": 3, "turns": 2, "seed": 0}
    first = Prompt((Message("system", "You write kernels."), Message("user", "Add.")), "t@1", "h")
    again = Prompt((*first.messages, Message("assistant", "wrong"), Message("user", "Repair it.")), "t@1", "h2")
    with RunStore.open(folder, Manifest({**asked, "tasks": facts, "executor": executor}, {"harness": "0"})) as store:
        for name in names:
            keys = [SampleKey(name, "0", Track.STATIC, index) for index in range(3)]
            store.add_sample(judged(keys[0], Outcome.COMPILE_ERROR, text="first try", prompt=first))
            store.add_sample(judged(keys[0].following, Outcome.OK, text="second try", prompt=again))
            store.add_sample(judged(keys[1], Outcome.COMPILE_ERROR, text=HOSTILE, prompt=first))
            store.add_sample(judged(keys[2], Outcome.INFRA_ERROR, text="lost", prompt=first))
    return folder
