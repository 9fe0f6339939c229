"""A verdict in words: places, excerpts, carets, limits, and nothing that could hurt a terminal."""

from __future__ import annotations

import pytest

from npukernelbench.console import Paint
from npukernelbench.nouns.evidence import Diagnostic, Profile
from npukernelbench.nouns.outcomes import Outcome, Owner, Severity, Stage, Tier, Track
from npukernelbench.nouns.sample import Candidate, CaseResult, Verdict
from npukernelbench.report.verdict import Subject, render_verdict, verdict_json


def plain(text: str, paint: Paint) -> str:
    """No colours."""
    return text


def subject(source: str) -> Subject:
    """A kernel that the user calls ``mine.cpp``."""
    return Subject("Sqrt", "smoke", Candidate({"kernel.cpp": source}, "h"), {"kernel.cpp": "src/mine.cpp"})


def verdict(*diagnostics: Diagnostic, cases: tuple[CaseResult, ...] = ()) -> Verdict:
    """A compile error with these diagnostics."""
    return Verdict(
        Track.STATIC,
        Tier.TWIN,
        Stage.COMPILE,
        Outcome.COMPILE_ERROR,
        Owner.MODEL,
        cases,
        diagnostics,
        {"compiled": 0.0},
    )


def error(line: int = 0, column: int = 0, message: str = "bad", **more) -> Diagnostic:
    """An error in the kernel."""
    return Diagnostic(Severity.ERROR, "compile", message, "kernel.cpp", line, column, **more)


def render(source: str, *diagnostics: Diagnostic) -> list[str]:
    """Lines without colours."""
    return "\n".join(render_verdict(subject(source), verdict(*diagnostics), plain)).split("\n")


def test_the_caret_stands_below_the_column():
    lines = render("one\n\tint\tx = foo();\n", error(2, 10))
    quoted = next(i for i, line in enumerate(lines) if "foo()" in line)
    assert lines[quoted].endswith("|     int x = foo();")
    assert lines[quoted + 1].index("^") == lines[quoted].index("foo")


def test_the_place_is_that_of_the_users_own_file():
    assert any(line.startswith("  src/mine.cpp:2:10: error: bad [compile]") for line in render("a\nb", error(2, 10)))


@pytest.mark.parametrize("column", [1, 70, 5000, 9999, 10_000, 20_000])
def test_a_long_line_is_cut_around_the_column(column):
    source = "".join(str(i % 10) for i in range(10_000))
    lines = render(source, error(1, column))
    assert all(len(line) < 200 for line in lines)
    caret = next((line for line in lines if line.rstrip().endswith("^")), None)
    quoted = next((line for line in lines if "| " in line and "0123" in line), None)
    if column <= len(source):
        assert caret is not None
        assert quoted is not None
        assert quoted[caret.index("^")] == source[column - 1]


@pytest.mark.parametrize("line", [0, 3, 99])
def test_a_place_outside_the_source_is_not_quoted(line):
    assert not any(" | " in text for text in render("one\ntwo", error(line, 1)))


def test_messages_of_many_lines_are_indented_and_limited():
    lines = render("x", error(message="first\n" + "\n".join(f"more {i}" for i in range(100))))
    assert "    more 0" in lines
    assert "    more 99" not in lines


def test_diagnostics_are_limited_and_counted():
    lines = render("x", *(error(message=f"number {i}") for i in range(30)))
    assert sum("number" in line for line in lines) == 12
    assert any("and 18 more of kind error" in line for line in lines)


def test_repetition_and_remedy_are_shown():
    text = "\n".join(render("x", error(count=7, remedy="write it otherwise")))
    assert "(×7)" in text
    assert "remedy: write it otherwise" in text


@pytest.mark.parametrize("evil", ["\x1b[2J", "\x07", "\x9b", "\r", "\u202e"])
def test_a_candidate_cannot_write_to_the_terminal(evil):
    text = "\n".join(render(f"int{evil} x;", error(1, 1, message=f"near {evil}here")))
    assert evil not in text


def test_warnings_follow_errors():
    warning = Diagnostic(Severity.WARNING, "hint", "slow")
    lines = render("x", warning, error())
    assert next(i for i, t in enumerate(lines) if "bad" in t) < next(i for i, t in enumerate(lines) if "slow" in t)


def test_a_diagnostic_of_verdict_and_case_is_told_once():
    same = error(1, 1)
    case = CaseResult("smoke", Stage.RUN, Outcome.CRASH, (same,))
    both = verdict(same, cases=(case,))
    assert len(verdict_json(subject("x"), both)["diagnostics"]) == 1
    assert len(verdict_json(subject("x"), verdict(same, same))["diagnostics"]) == 1


def test_the_profile_orders_pipes_by_their_share():
    profile = Profile(12.5, True, "ascend910b2", 48, {"aiv_vec_ratio": 0.2, "aiv_mte2_ratio": 0.7, "aiv_vec_time": 3.0})
    case = CaseResult("smoke", Stage.DONE, Outcome.OK, profile=profile)
    good = Verdict(Track.STATIC, Tier.TWIN, Stage.DONE, Outcome.OK, Owner.NONE, (case,), metrics={"max_ulp": 0.5})
    text = "\n".join(render_verdict(subject("x"), good, plain))
    assert "predicted 12.50 µs for case smoke on ascend910b2, 48 cores (tier twin)" in text
    assert text.index("aiv_mte2_ratio") < text.index("aiv_vec_ratio")
    assert "aiv_vec_time" not in text
    assert "max_ulp  0.5" in text


def test_a_measured_time_is_never_called_predicted():
    profile = Profile(12.5, False, "910B", 48)
    case = CaseResult("smoke", Stage.DONE, Outcome.OK, profile=profile)
    good = Verdict(Track.STATIC, Tier.NPU, Stage.DONE, Outcome.OK, Owner.NONE, (case,))
    text = "\n".join(render_verdict(subject("x"), good, plain))
    assert "measured 12.50 µs" in text
    assert "predicted" not in text
