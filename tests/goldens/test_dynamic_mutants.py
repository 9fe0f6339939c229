"""A golden operator of the dynamic track with one plausible mistake, in host or device code, is refused."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml

from npukernelbench.nouns import Outcome, Severity, Task, Verdict
from tests.goldens.test_dynamic_goldens import SUITE, judge
from tests.goldens.test_mutants import WRONG

__all__ = ["judge"]


class Mutant(NamedTuple):
    """One edit of one golden operator, judged on a public or ragged case; ``rule`` is the rule it breaks, if any."""

    task: str
    case: str
    what: str
    old: str
    new: str
    rule: str = ""

    def edit(self, files: Mapping[str, str]) -> Mapping[str, str]:
        assert any(self.old in text for text in files.values()), f"{self.task} has no {self.old!r} any more"
        return {name: text.replace(self.old, self.new) for name, text in files.items()}


def mutants() -> Iterator[Mutant]:
    for file in sorted(Path(__file__).parent.glob("mutants_dynamic/*.yaml")):
        for entry in yaml.safe_load(file.read_text(encoding="utf-8")):
            for edit in entry["edits"]:
                yield Mutant(entry["task"], entry["case"], **edit)


@pytest.mark.parametrize("mutant", list(mutants()), ids=lambda m: f"{m.task}-{m.case}-{m.what}".replace(" ", "_"))
def test_mutant_is_refused(
    judge: Callable[..., Verdict],
    ragged_tasks: Mapping[str, Task],
    mutant: Mutant,
) -> None:
    ragged = ragged_tasks.get(mutant.task, SUITE[mutant.task])
    task = ragged if any(case.id == mutant.case for case in ragged.cases) else SUITE[mutant.task]
    verdict = judge(task, [task.case(mutant.case)], mutant.edit)
    said = [*verdict.diagnostics, *(diagnostic for case in verdict.cases for diagnostic in case.diagnostics)]
    errors = {diagnostic.rule for diagnostic in said if diagnostic.severity is Severity.ERROR}
    if mutant.rule:
        assert (verdict.outcome, mutant.rule in errors) == (Outcome.RULE_VIOLATION, True), said
    else:
        assert verdict.outcome in WRONG, said
