"""What ``npukb validate`` found, counted: for people as lines, for machines as JSON values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from npukernelbench.nouns.codec import to_json

if TYPE_CHECKING:
    from npukernelbench.tasks.validate import Examination

__all__ = ["Totals", "examination_json"]

#: What is still to be had, with the words for it.
_MISSING = {"no_golden": "without a golden kernel", "no_hidden": "without hidden cases"}


def examination_json(examination: Examination) -> Mapping[str, object]:
    """One task's examination: findings, cases run, mutants by kind."""
    return {
        "task": examination.task,
        "cases": examination.cases,
        "hidden_cases": examination.hidden,
        "mutants": _mutants(examination.tried, examination.killed),
        "findings": [to_json(finding) for finding in examination.findings],
    }


class Totals:
    """Sums over examinations."""

    def __init__(self) -> None:
        self._tasks = 0
        self._cases = 0
        self._hidden = 0
        self._severities: Counter[str] = Counter()
        self._missing: Counter[str] = Counter()
        self._tried: Counter[str] = Counter()
        self._killed: Counter[str] = Counter()

    def add(self, examination: Examination) -> None:
        """Count one more task."""
        self._tasks += 1
        self._cases += examination.cases
        self._hidden += examination.hidden
        self._severities.update(finding.severity.value for finding in examination.findings)
        # A set: a task counts once, however many of its findings say so.
        self._missing.update({finding.code for finding in examination.findings} & _MISSING.keys())
        self._tried.update(examination.tried)
        self._killed.update(examination.killed)

    @property
    def errors(self) -> int:
        """How many findings are errors."""
        return self._severities["error"]

    def as_json(self) -> Mapping[str, object]:
        """All sums."""
        return {
            **self._counts(),
            "cases": self._cases,
            "hidden_cases": self._hidden,
            **{code: self._missing[code] for code in _MISSING},
            "mutants": _mutants(self._tried, self._killed),
        }

    def lines(self) -> Sequence[str]:
        """All sums as text."""
        tried, killed = self._tried.total(), self._killed.total()
        share = f" ({100 * killed / tried:.2f} %)" if tried else ""
        lines = [
            ", ".join(f"{number} {name}" for name, number in self._counts().items()),
            f"mutants: {tried} tried on {self._cases} cases, {killed} killed{share}; {self._hidden} hidden cases",
        ]
        missing = [f"tasks {words}: {self._missing[code]}" for code, words in _MISSING.items() if self._missing[code]]
        return [*lines, *missing]

    def _counts(self) -> Mapping[str, int]:
        severities = {f"{name}s": self._severities[name] for name in ("error", "warning", "note")}
        return {"tasks": self._tasks, **severities}


def _mutants(tried: Mapping[str, int], killed: Mapping[str, int]) -> Mapping[str, object]:
    kinds = {code: {"tried": tried[code], "killed": killed.get(code, 0)} for code in sorted(tried)}
    return {"tried": sum(tried.values()), "killed": sum(killed.values()), "kinds": kinds}
