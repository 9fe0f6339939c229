"""Edits of golden operators that have to be refused, and what a refusal is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from npukernelbench.nouns import Outcome, Severity, Task, Verdict
from tests.judging import all_said

__all__ = ["WRONG", "Mutant"]

#: What the comparison says. Poison that was never overwritten may be a number or not.
WRONG = (Outcome.WRONG_VALUE, Outcome.NON_FINITE)


class Mutant(NamedTuple):
    """One edit of one golden operator, judged on a public or ragged case; ``rule`` is the rule it breaks, if any."""

    task: str
    case: str
    what: str
    old: str
    new: str
    rule: str = ""

    def __str__(self) -> str:
        return f"{self.task}-{self.case}-{self.what}".replace(" ", "_")

    def edit(self, text: str) -> str:
        return self.edit_files({"": text})[""]

    def edit_files(self, files: Mapping[str, str]) -> Mapping[str, str]:
        assert any(self.old in text for text in files.values()), f"golden {self.task} has no {self.old!r} any more"
        return {name: text.replace(self.old, self.new) for name, text in files.items()}

    def task_of(self, suite: Mapping[str, Task], ragged_tasks: Mapping[str, Task]) -> Task:
        """The task that has the mutant's case."""
        ragged = ragged_tasks.get(self.task, suite[self.task])
        return ragged if any(case.id == self.case for case in ragged.cases) else suite[self.task]

    def assert_refused(self, verdict: Verdict) -> None:
        said = all_said(verdict)
        errors = {diagnostic.rule for diagnostic in said if diagnostic.severity is Severity.ERROR}
        if self.rule:
            assert (verdict.outcome, self.rule in errors) == (Outcome.RULE_VIOLATION, True), said
        else:
            assert verdict.outcome in WRONG, said
