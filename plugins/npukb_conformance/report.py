"""The conformance report: a table of operators, totals in the form conformance is stated, and the same as JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from npukernelbench.errors import UsageError
from npukernelbench.nouns import Outcome, Severity
from npukernelbench.nouns.codec import JSON
from npukernelbench.report.table import Column, Table

if TYPE_CHECKING:
    from npukb_conformance.record import CaseRecord
    from npukb_conformance.sitting import OperatorResult
    from npukernelbench.nouns import Diagnostic, Verdict

__all__ = ["ConformanceTotals", "Requirement", "misses", "operator_table", "report_json", "scaled_table"]

_NOT_TRIED = "–"


@dataclass(frozen=True, slots=True)
class ConformanceTotals:
    """Sums over operators. ``tried`` are those that have the variant and that the executor takes; ``strict`` pass every
    case under our own conditions."""

    operators: int
    tried: int
    compile: int
    dispatched: int
    passing: int
    strict: int
    cases: int
    passed: int

    @classmethod
    def of(cls, results: Sequence[OperatorResult]) -> ConformanceTotals:
        """Count."""
        tried = [result for result in results if result.compiled is not None]
        return cls(
            operators=len(results),
            tried=len(tried),
            compile=sum(result.compiles for result in tried),
            dispatched=sum(bool(result.planned.cases) for result in tried),
            passing=sum(result.passes for result in tried),
            strict=sum(result.passes and not result.conceded for result in tried),
            cases=sum(len(result.planned.cases) for result in tried),
            passed=sum(result.passed for result in tried),
        )

    def lines(self, *, compile_only: bool) -> list[str]:
        """The sums as text."""
        compiled = f"operators that compile: {self.compile} of {self.tried}"
        if compile_only:
            return [compiled]
        return [
            compiled,
            f"operators that pass all cases sent to their kernel: {self.passing} of {self.dispatched}",
            f"operators that pass under our own conditions: {self.strict} of {self.dispatched}",
            f"cases that pass: {self.passed} of {self.cases}",
        ]

    def as_json(self) -> Mapping[str, int]:
        """The sums by name."""
        return {name: getattr(self, name) for name in self.__slots__}


class Requirement(NamedTuple):
    """``--fail_under``: the least number, or share where below 1, of operators that compile or pass, or of cases."""

    metric: str
    value: float

    @classmethod
    def parse(cls, text: str) -> Requirement:
        """``compile=134``, ``pass=0.95`` or ``cases=1400``; a bare number means ``pass``."""
        metric, equals, value = text.rpartition("=")
        try:
            requirement = cls(metric.strip() if equals else "pass", float(value))
        except ValueError:
            requirement = cls("", 0.0)
        if requirement.metric not in ("compile", "pass", "cases"):
            remedy = "write for instance --fail_under compile=134 --fail_under pass=0.95"
            raise UsageError(f"{text!r} is no requirement", field="--fail_under", remedy=remedy)
        return requirement

    def met(self, totals: ConformanceTotals) -> bool:
        """Whether the totals reach it."""
        reached, of = {
            "compile": (totals.compile, totals.tried),
            "pass": (totals.passing, totals.dispatched),
            "cases": (totals.passed, totals.cases),
        }[self.metric]
        return reached >= (self.value * of if self.value < 1 else self.value)


def operator_table(results: Sequence[OperatorResult], title: str) -> Table:
    """One row per operator."""
    columns = (
        Column("operator"),
        Column("compile"),
        Column("cases", numeric=True),
        Column("pass", numeric=True),
        Column("ours", numeric=True),
        Column("warnings", numeric=True),
        Column("compile s", numeric=True),
        Column("cases s", numeric=True),
        Column("first miss"),
    )
    return Table(title, columns, tuple(_row(result) for result in results))


def misses(result: OperatorResult) -> list[str]:
    """A line for what keeps an operator from passing, and one for each case that does."""
    if result.compiled is not None and not result.compiles:
        return [f"compile: {_summary(result.compiled.verdict)}"]
    return [f"case {case.case}: {_summary(case.verdict)}" for case in result.cases if not case.passed]


def scaled_table(results: Sequence[OperatorResult]) -> list[Table]:
    """The scaled cases with the largest shape before and after; no table when there are none."""
    cut = [
        (result.planned.task.name, scaled.case.id, _shape(scaled.before), _shape(scaled.after))
        for result in results
        for scaled in result.planned.cases
        if scaled.is_smaller
    ]
    columns = (Column("operator"), Column("case"), Column("largest tensor"), Column("judged as"))
    return [Table("scaled cases", columns, tuple(cut))] if cut else []


def report_json(results: Sequence[OperatorResult], *, variant: str, compile_only: bool) -> Mapping[str, JSON]:
    """Everything but the diagnostics' full text, which is in the file of records."""
    return {
        "variant": variant,
        "compile_only": compile_only,
        "totals": dict(ConformanceTotals.of(results).as_json()),
        "operators": [_operator_json(result) for result in results],
    }


def _row(result: OperatorResult) -> tuple[str, ...]:
    name = result.planned.task.name
    if result.compiled is None:
        why = result.planned.refused or next(iter(result.planned.kept_back.values()), "not in the checkout")
        return (name, _NOT_TRIED, "0", "", "", "", "", "", why)
    seconds = result.compiled.verdict.timings.get("compile", 0.0)
    missed = misses(result)
    reason = (
        missed[0] if missed else ("" if result.planned.cases else next(iter(result.planned.kept_back.values()), ""))
    )
    return (
        name,
        "✓" if result.compiles else "✗",
        str(len(result.planned.cases)),
        str(result.passed) if result.cases else "",
        str(result.passed - len(result.conceded)) if result.cases else "",
        str(sum(case.warnings for case in result.cases)) if result.cases else "",
        f"{seconds:.1f}",
        f"{sum(case.seconds for case in result.cases):.1f}" if result.cases else "",
        reason,
    )


def _summary(verdict: Verdict) -> str:
    """The outcome and the first line of what was said about it."""
    said = _said(verdict)
    if said is None:
        return verdict.outcome.value
    place = f" {said.file}:{said.line}" if said.file and said.line else ""
    return f"{verdict.outcome.value} [{said.rule}]{place} {said.message.splitlines()[0]}".rstrip()


def _said(verdict: Verdict) -> Diagnostic | None:
    every = (*(diagnostic for case in verdict.cases for diagnostic in case.diagnostics), *verdict.diagnostics)
    return next((diagnostic for diagnostic in every if diagnostic.severity is Severity.ERROR), None)


def _operator_json(result: OperatorResult) -> Mapping[str, JSON]:
    planned, compiled = result.planned, result.compiled
    return {
        "operator": planned.task.name,
        "level": planned.operator.level,
        "category": planned.operator.category,
        "tried": compiled is not None,
        "refused": planned.refused,
        "kept_back": dict(planned.kept_back),
        "compile": None if compiled is None else compiled.verdict.outcome.value,
        "compile_s": None if compiled is None else compiled.verdict.timings.get("compile", 0.0),
        "cases": [_case_json(case) for case in result.cases],
        "passes": result.passes,
        "misses": list(misses(result)),
    }


def _case_json(case: CaseRecord) -> Mapping[str, JSON]:
    rules = Counter(diagnostic.rule for diagnostic in case.diagnostics if diagnostic.severity is Severity.WARNING)
    return {
        "case": case.case,
        "scaled": case.scaled,
        "outcome": case.verdict.outcome.value,
        "match": case.verdict.outcome is Outcome.OK,
        "conceded": case.conceded,
        "strict": case.strict,
        "warnings": dict(rules),
        "seconds": case.seconds,
    }


def _shape(shape: tuple[int, ...]) -> str:
    return " x ".join(str(extent) for extent in shape)
