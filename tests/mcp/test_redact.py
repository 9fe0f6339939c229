"""What is shown of a verdict: enough to repair the kernel, no value of the reference, no text of our own faults."""

from __future__ import annotations

from npukb_mcp.redact import judged
from npukb_mcp.results import Budget
from npukernelbench.judge.score import stopped
from npukernelbench.nouns import Diagnostic, Outcome, Severity, Stage, Tier, Track

BUDGET = Budget(calls_left=1, seconds_left=1.0)


def shown(outcome: Outcome, *diagnostics: Diagnostic):
    verdict = stopped(Track.STATIC, Tier.TWIN, Stage.CHECK, outcome, diagnostics)
    return judged(verdict, result="r1", budget=BUDGET).diagnostics


def test_expected_values_are_cut_and_places_kept() -> None:
    lines = ["output y: 2 are wrong", "first wrong elements:", "  y[0, 1] = 4, expected 2", "  y = -1e3, expected -5e2"]
    message = "\n".join([*lines, "pattern: all are 2 times too large"])
    details = {"patterns": ["factor"], "first": [{"expected": "2"}]}
    for rule in ("wrong_value", "depends_on_cores", "a_rule_that_is_new"):
        [note] = shown(Outcome.WRONG_VALUE, Diagnostic(Severity.ERROR, rule, message, details=details))
        assert note.message.split("\n") == [
            "output y: 2 are wrong",
            "first wrong elements:",
            "  y[0, 1] = 4",
            "  y = -1e3",
            "pattern: factor",
        ]


def test_what_a_compiler_expects_is_kept() -> None:
    message = "too few arguments to function call, single argument 'x = 1' was given, expected 3"
    [note] = shown(Outcome.COMPILE_ERROR, Diagnostic(Severity.ERROR, "compile", message, "kernel.cpp", 3, 4))
    assert (note.message, note.line) == (message, 3)


def test_a_shape_is_public() -> None:
    [note] = shown(Outcome.WRONG_SHAPE, Diagnostic(Severity.ERROR, "wrong_shape", "the shape is [3], expected [4]"))
    assert note.message == "the shape is [3], expected [4]"


def test_texts_of_our_faults_stay_here_but_gaps_are_told() -> None:
    ours = Diagnostic(Severity.ERROR, "infra_error", "no room in /somewhere/of/ours")
    gap = Diagnostic(Severity.ERROR, "unsupported_api", "Hccl is Ascend C, but the twin does not support it yet")
    assert [note.message for note in shown(Outcome.INFRA_ERROR, ours)] == [
        "The judge failed. This says nothing about the kernel."
    ]
    assert [note.rule for note in shown(Outcome.INFRA_ERROR, ours, gap)] == ["unsupported_api"]


def test_the_same_message_is_told_once_and_many_are_counted() -> None:
    same = Diagnostic(Severity.ERROR, "misaligned", "the same")
    many = [Diagnostic(Severity.WARNING, "misaligned", f"number {i}") for i in range(30)]
    verdict = stopped(Track.STATIC, Tier.TWIN, Stage.CHECK, Outcome.RULE_VIOLATION, (same, same, *many))
    result = judged(verdict, result="r1", budget=BUDGET)
    assert (len(result.diagnostics), result.left_out) == (20, 11)
    assert result.diagnostics[0].message == "the same"
