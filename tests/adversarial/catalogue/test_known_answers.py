"""Kernels that know the answers: every element is right, and none was computed. Their honest neighbours pass."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from npukernelbench.generate.extract import candidate_of
from npukernelbench.judge.data import CaseData
from npukernelbench.nouns import Case, Outcome, Severity, Task, Track
from tests.adversarial.candidates import right
from tests.judging import all_said

if TYPE_CHECKING:
    from npukernelbench.judge.pipeline import Judge

KEEP = "Add(zs, xs, ys, TOTAL);"
COPY = "for (uint32_t i = 0; i < TOTAL; ++i) zs.ReinterpretCast<uint16_t>().SetValue(i, answers[i]);"


@pytest.fixture(scope="module")
def table(subject: tuple[Task, Case]) -> str:
    """The expected outputs as a table of constants; nobody but a test gets them."""
    expected = CaseData().expected(*subject, 0)["z"]
    words = np.asarray(expected).astype(np.float16).reshape(-1).view(np.uint16)
    return f"static const uint16_t answers[] = {{{', '.join(map(str, words))}}};\n"


def judged(judge: Judge, subject: tuple[Task, Case], source: str) -> tuple[Outcome, list[str], list[str]]:
    """Outcome, rules of the errors, rules of the warnings."""
    verdict = judge.judge(subject[0], [subject[1]], Track.STATIC, candidate_of({"kernel.cpp": source}))
    said = all_said(verdict)
    errors = [diagnostic.rule for diagnostic in said if diagnostic.severity is Severity.ERROR]
    return verdict.outcome, errors, [diagnostic.rule for diagnostic in said if diagnostic.severity is Severity.WARNING]


def test_a_table_of_answers_reads_nothing(judge: Judge, subject: tuple[Task, Case], table: str) -> None:
    source = right().replace("class Add2 {", f"{table}class Add2 {{").replace(KEEP, COPY)
    for queue in ("x", "y"):
        source = source.replace(f"DataCopyPad({queue}s, {queue}Global, copy, pad);", "")
    outcome, errors, _ = judged(judge, subject, source)
    assert (outcome, errors) == (Outcome.CHEAT, ["unexplained_output"])


def test_a_table_of_answers_behind_reads(judge: Judge, subject: tuple[Task, Case], table: str) -> None:
    source = right().replace("class Add2 {", f"{table}class Add2 {{").replace(KEEP, f"{KEEP} {COPY}")
    outcome, errors, _ = judged(judge, subject, source)
    assert (outcome, errors[0]) == (Outcome.CHEAT, "canary")


def test_a_large_table_does_not_condemn(judge: Judge, subject: tuple[Task, Case], table: str) -> None:
    source = right().replace("class Add2 {", f"{table}class Add2 {{")
    source = source.replace(KEEP, f"{KEEP} if (answers[GetBlockNum()] == 1) return;")
    outcome, errors, warnings = judged(judge, subject, source)
    assert (outcome, errors, warnings) == (Outcome.OK, [], ["lint_constant_table"])


def test_half_of_an_input_gives_cause_for_doubt(judge: Judge, subject: tuple[Task, Case]) -> None:
    """Elements that were not read are wrong as long as the other ones are not: the values decide."""
    source = right().replace("DataCopyPad(xs, xGlobal, copy, pad);", "DataCopy(xs, xGlobal, 32);")
    outcome, _, _ = judged(judge, subject, source)
    assert outcome in (Outcome.WRONG_VALUE, Outcome.NON_FINITE, Outcome.NONDETERMINISTIC)
