"""``docs/conformance.md``: what a sitting over a checkout found, with a reason for everything that is not right."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from statistics import median
from typing import TYPE_CHECKING

from npukb_conformance.misses import mismatches
from npukb_conformance.report import ConformanceTotals, misses
from npukernelbench.errors import UsageError
from npukernelbench.nouns import Severity

if TYPE_CHECKING:
    import jinja2

    from npukb_conformance.misses import Explanation
    from npukb_conformance.sitting import OperatorResult

__all__ = ["conformance_page"]

_TEMPLATE = "conformance.md.j2"


def conformance_page(
    results: Sequence[OperatorResult],
    explanations: Mapping[str, Sequence[Explanation]],
    executor: Mapping[str, str],
) -> str:
    """The page as markdown. UsageError when the explanations do not fit the results."""
    problems = list(mismatches(results, explanations))
    if problems:
        shown = "\n  ".join(problems[:20])
        raise UsageError(
            f"the page cannot be written:\n  {shown}", field="--markdown", remedy="bring misses.yaml up to date"
        )
    tried = [result for result in results if result.compiled is not None]
    missed = [one for one in tried if (one.planned.cases and not one.passes) or not one.compiles]
    conceded = [one for one in tried if one.conceded]
    builds = [_build_s(one) for one in tried]
    return _template().render(
        totals=ConformanceTotals.of(results),
        executor=executor,
        median_build_s=f"{median(builds):.1f}" if builds else "–",
        run_s=f"{sum(case.seconds for one in tried for case in one.cases):.0f}",
        missed=[_missed(one, explanations) for one in missed],
        idle=[one.planned.task.name for one in tried if not one.planned.cases],
        conceded=[row for one in conceded for row in _conceded(one, explanations)],
        kept_back=[(one.planned.task.name, *_kept_back(one)) for one in tried if one.planned.kept_back],
        operators=[_row(result) for result in results],
    )


def _template() -> jinja2.Template:
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("npukb_conformance", "templates"),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )
    environment.filters["cell"] = _cell
    return environment.get_template(_TEMPLATE)


def _cell(text: str) -> str:
    """Text that may stand in a cell of a table."""
    return " ".join(text.split()).replace("|", "\\|")


def _missed(one: OperatorResult, explanations: Mapping[str, Sequence[Explanation]]) -> tuple[str, ...]:
    """Operator, cases that pass, the first miss, whose fault, why."""
    bad = {case.case for case in one.cases if not case.passed}
    entries = [entry for entry in explanations[one.planned.task.name] if bad & {*entry.cases} or not one.compiles]
    faults = ", ".join(dict.fromkeys(entry.fault.value for entry in entries))
    passed = f"{one.passed} of {len(one.planned.cases)}"
    return (one.planned.task.name, passed, misses(one)[0], faults, " ".join(entry.why for entry in entries))


def _conceded(one: OperatorResult, explanations: Mapping[str, Sequence[Explanation]]) -> list[tuple[str, ...]]:
    """Per explanation: operator, cases, conditions, what came of the first under ours, whose fault, why."""
    rows: list[tuple[str, ...]] = []
    for entry in explanations[one.planned.task.name]:
        cases = [case for case in one.conceded if case.case in entry.cases]
        if cases:
            conditions = ", ".join(dict.fromkeys(case.conceded for case in cases))
            numbers = ", ".join(case.case for case in cases)
            rows.append((one.planned.task.name, numbers, conditions, cases[0].strict, entry.fault.value, entry.why))
    return rows


def _kept_back(one: OperatorResult) -> tuple[str, str]:
    """How many cases do not reach the kernel, and why."""
    reasons = " ".join(dict.fromkeys(one.planned.kept_back.values()))
    return (f"{len(one.planned.kept_back)} of {len(one.planned.kept_back) + len(one.planned.cases)}", reasons)


def _row(one: OperatorResult) -> tuple[str, ...]:
    name = one.planned.task.name
    if one.compiled is None:
        why = one.planned.refused or "not in the checkout"
        return (name, f"not tried: {why}", "", "", "", "", "", "", "")
    ours = sum(case.passed and not case.conceded for case in one.cases)
    needed = Counter(word for case in one.conceded for word in case.conceded.split(", "))
    rules = {d.rule for case in one.cases for d in case.diagnostics if d.severity is Severity.WARNING}
    reach = len(one.planned.cases)
    return (
        name,
        "yes" if one.compiles else "no",
        f"{one.passed} of {reach}" if reach else "none reach it",
        f"{ours}" if reach else "",
        ", ".join(f"{word} {count}" for word, count in sorted(needed.items())),
        str(sum(scaled.is_smaller for scaled in one.planned.cases) or ""),
        ", ".join(f"`{rule}`" for rule in sorted(rules)),
        f"{_build_s(one):.1f}",
        f"{sum(case.seconds for case in one.cases):.1f}",
    )


def _build_s(one: OperatorResult) -> float:
    return 0.0 if one.compiled is None else one.compiled.verdict.timings.get("compile", 0.0)
