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
    missed = [result for result in tried if (result.planned.cases and not result.passes) or not result.compiles]
    conceded = [result for result in tried if result.conceded]
    builds = [_build_s(result) for result in tried]
    return _template().render(
        totals=ConformanceTotals.of(results),
        executor=executor,
        median_build_s=f"{median(builds):.1f}" if builds else "–",
        run_s=f"{sum(case.seconds for result in tried for case in result.cases):.0f}",
        missed=[_missed(result, explanations) for result in missed],
        idle=[result.planned.task.name for result in tried if not result.planned.cases],
        conceded=[row for result in conceded for row in _conceded(result, explanations)],
        kept_back=[(result.planned.task.name, *_kept_back(result)) for result in tried if result.planned.kept_back],
        operators=[_row(result) for result in results],
    )


def _template() -> jinja2.Template:
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("npukb_conformance", "templates"),
        # A misspelled name in the template would otherwise leave an empty cell.
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        # Markdown: escapes for HTML would stand in the text.
        autoescape=False,
    )
    environment.filters["cell"] = _cell
    return environment.get_template(_TEMPLATE)


def _cell(text: str) -> str:
    """Text that may stand in a cell of a table."""
    return " ".join(text.split()).replace("|", "\\|")


def _missed(result: OperatorResult, explanations: Mapping[str, Sequence[Explanation]]) -> tuple[str, ...]:
    """Operator, cases that pass, the first miss, whose fault, why."""
    bad = {case.case for case in result.cases if not case.passed}
    # What does not compile misses all its cases, and no case is named.
    entries = [entry for entry in explanations[result.planned.task.name] if bad & {*entry.cases} or not result.compiles]
    faults = ", ".join(dict.fromkeys(entry.fault.value for entry in entries))
    passed = f"{result.passed} of {len(result.planned.cases)}"
    return (result.planned.task.name, passed, misses(result)[0], faults, " ".join(entry.why for entry in entries))


def _conceded(result: OperatorResult, explanations: Mapping[str, Sequence[Explanation]]) -> list[tuple[str, ...]]:
    """Per explanation: operator, cases, conditions, what came of the first under ours, whose fault, why."""
    rows: list[tuple[str, ...]] = []
    for entry in explanations[result.planned.task.name]:
        cases = [case for case in result.conceded if case.case in entry.cases]
        if cases:
            conditions = ", ".join(dict.fromkeys(case.conceded for case in cases))
            numbers = ", ".join(case.case for case in cases)
            rows.append((result.planned.task.name, numbers, conditions, cases[0].strict, entry.fault.value, entry.why))
    return rows


def _kept_back(result: OperatorResult) -> tuple[str, str]:
    """How many cases do not reach the kernel, and why."""
    reasons = " ".join(dict.fromkeys(result.planned.kept_back.values()))
    return (f"{len(result.planned.kept_back)} of {len(result.planned.kept_back) + len(result.planned.cases)}", reasons)


def _row(result: OperatorResult) -> tuple[str, ...]:
    name = result.planned.task.name
    if result.compiled is None:
        why = result.planned.refused or "not in the checkout"
        return (name, f"not tried: {why}", "", "", "", "", "", "", "")
    ours = sum(case.passed and not case.conceded for case in result.cases)
    needed = Counter(word for case in result.conceded for word in case.conceded.split(", "))
    rules = {d.rule for case in result.cases for d in case.diagnostics if d.severity is Severity.WARNING}
    reach = len(result.planned.cases)
    return (
        name,
        "yes" if result.compiles else "no",
        f"{result.passed} of {reach}" if reach else "none reach it",
        f"{ours}" if reach else "",
        ", ".join(f"{word} {count}" for word, count in sorted(needed.items())),
        str(sum(scaled.is_smaller for scaled in result.planned.cases) or ""),
        ", ".join(f"`{rule}`" for rule in sorted(rules)),
        f"{_build_s(result):.1f}",
        f"{sum(case.seconds for case in result.cases):.1f}",
    )


def _build_s(result: OperatorResult) -> float:
    return 0.0 if result.compiled is None else result.compiled.verdict.timings.get("compile", 0.0)
