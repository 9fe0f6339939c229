"""What a model is told between two turns."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npukernelbench.generate import candidate_of
from npukernelbench.generate.repair import feedback, next_prompt
from npukernelbench.nouns.evidence import Diagnostic, Profile
from npukernelbench.nouns.knowledge import Hints
from npukernelbench.nouns.outcomes import Outcome, Owner, Severity, Stage, Tier, Track
from npukernelbench.nouns.sample import CaseResult, Completion, Message, Prompt, Verdict

PROMPT = Prompt((Message("system", "You write kernels."), Message("user", "Write one.")), "terse@2", "0" * 64)
ANSWER = Completion("```cpp\nint a\n```", reasoning="secret thoughts")
CANDIDATE = candidate_of({"kernel.cpp": "int a\nint b;\n"})


def verdict(outcome: Outcome, *diagnostics: Diagnostic, stage: Stage = Stage.RUN, **metrics: float) -> Verdict:
    profile = Profile(12.5, True, "m", 8, {"aiv_vec_ratio": 0.5, "aiv_mte2_ratio": 0.9}, bottleneck="Waits for MTE2.")
    case = CaseResult("3", stage, outcome, diagnostics, {}, profile)
    return Verdict(Track.STATIC, Tier.TWIN, stage, outcome, outcome.owner, (case,), metrics=metrics)


ERROR = Diagnostic(Severity.ERROR, "misaligned", "address 17 is odd", "kernel.cpp", 2, 5, remedy="Align to 32 bytes.")
WARNING = Diagnostic(Severity.WARNING, "bank_conflict", "two operands share a bank", "kernel.cpp", 1)


def test_every_level_tells_more_than_the_one_before() -> None:
    broken = verdict(Outcome.RULE_VIOLATION, ERROR, WARNING)
    told = {hints: feedback(CANDIDATE, broken, hints) for hints in Hints}
    assert "rule_violation" not in told[Hints.NONE]
    assert "rule_violation" in told[Hints.OUTCOME]
    assert "misaligned" not in told[Hints.OUTCOME]
    for words in ("kernel.cpp:2:5: error: address 17 is odd [misaligned]", "2 | int b;", "Remedy: Align to 32 bytes."):
        assert words in told[Hints.DIAGNOSTICS]
        assert words in told[Hints.FULL]
    assert "bank_conflict" not in told[Hints.DIAGNOSTICS]
    for words in ("bank_conflict", "Waits for MTE2.", "aiv_mte2 90%, aiv_vec 50%", "12.50 us (predicted)"):
        assert words in told[Hints.FULL]


def test_of_a_hidden_case_only_its_end_is_told() -> None:
    broken = verdict(Outcome.WRONG_VALUE, ERROR, WARNING)
    hidden = replace(broken, cases=tuple(replace(case, case="hidden-003") for case in broken.cases))
    told = feedback(CANDIDATE, hidden, Hints.FULL)
    assert "1 of the wrong ones are cases that you are not shown (wrong_value)." in told
    for words in ("hidden-003", "misaligned", "bank_conflict", "12.50 us"):
        assert words not in told


def test_the_next_prompt_is_the_conversation_and_a_question() -> None:
    following = next_prompt(PROMPT, ANSWER, CANDIDATE, verdict(Outcome.COMPILE_ERROR, ERROR), Hints.DIAGNOSTICS)
    assert following is not None
    assert [message.role for message in following.messages] == ["system", "user", "assistant", "user"]
    assert following.messages[2].content == ANSWER.text
    assert "secret" not in "".join(message.content for message in following.messages)
    assert following.template == "terse@2+repair-diagnostics@2"
    assert following.hash != PROMPT.hash
    later = next_prompt(following, ANSWER, CANDIDATE, verdict(Outcome.COMPILE_ERROR, ERROR), Hints.DIAGNOSTICS)
    assert later is not None
    assert later.template == following.template
    assert later.hash != following.hash


@pytest.mark.parametrize("hints", [Hints.NONE, Hints.OUTCOME, Hints.DIAGNOSTICS])
def test_a_right_kernel_ends_the_conversation(hints: Hints) -> None:
    assert next_prompt(PROMPT, ANSWER, CANDIDATE, verdict(Outcome.OK, stage=Stage.DONE), hints) is None


def test_a_right_kernel_is_asked_to_become_faster_with_full_hints() -> None:
    right = verdict(Outcome.OK, stage=Stage.DONE, roofline=0.25)
    following = next_prompt(PROMPT, ANSWER, CANDIDATE, right, Hints.FULL)
    assert following is not None
    assert "Make it faster" in following.messages[-1].content
    assert "25%" in following.messages[-1].content


def test_a_fault_of_ours_is_nothing_to_repair() -> None:
    ours = verdict(Outcome.INFRA_ERROR, ERROR)
    assert ours.owner is Owner.INFRA
    assert next_prompt(PROMPT, ANSWER, CANDIDATE, ours, Hints.FULL) is None


@given(st.lists(st.text(max_size=3000), max_size=12), st.sampled_from(Hints), st.integers(0, 99))
def test_what_is_told_stays_short_whatever_was_found(messages: list[str], hints: Hints, line: int) -> None:
    diagnostics = [Diagnostic(Severity.ERROR, "compile", text, "kernel.cpp", line, remedy=text) for text in messages]
    told = feedback(CANDIDATE, verdict(Outcome.COMPILE_ERROR, *diagnostics), hints)
    assert len(told) < 6500
    assert told.startswith("The answer is not right.")
    assert told.endswith("in the same format as before.\n")
    assert feedback(CANDIDATE, verdict(Outcome.COMPILE_ERROR, *diagnostics), hints) == told
