"""A golden kernel of the static track with one plausible mistake is refused.

By the rule checker where the device would fault or hang, by the comparison where it would compute something else.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest
import yaml

from npukernelbench.nouns import Outcome, Severity, Task, Track
from tests.suite import suite

if TYPE_CHECKING:
    from tests.goldens.conftest import JudgeGolden

SUITE = {task.name: task for task in suite().values() if any(golden.track is Track.STATIC for golden in task.goldens)}

#: What the comparison says. Poison that was never overwritten may be a number or not.
WRONG = (Outcome.WRONG_VALUE, Outcome.NON_FINITE)


class Mutant(NamedTuple):
    """One edit of one golden kernel, judged on a public or ragged case; ``rule`` is the rule it breaks, if any."""

    task: str
    case: str
    what: str
    old: str
    new: str
    rule: str = ""

    def edit(self, text: str) -> str:
        assert self.old in text, f"the golden kernel of {self.task} has no {self.old!r} any more"
        return text.replace(self.old, self.new)


def mutants() -> Iterator[Mutant]:
    document = yaml.safe_load(Path(__file__).with_name("mutants.yaml").read_text(encoding="utf-8"))
    for entry in document["mutants"]:
        for edit in document["walk"] if "walk" in entry else ():
            named = {key: text.replace("tiling.", f"{entry['walk']}.") for key, text in edit.items()}
            yield Mutant(entry["task"], entry["case"], **named)
        for edit in entry.get("edits", ()):
            yield Mutant(entry["task"], entry["case"], **edit)


MUTANTS = list(mutants())


def test_every_golden_kernel_has_mutants_of_both_kinds() -> None:
    assert {mutant.task for mutant in MUTANTS if mutant.rule} == set(SUITE)
    assert {mutant.task for mutant in MUTANTS if not mutant.rule} == set(SUITE)


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda m: f"{m.task}-{m.case}-{m.what}".replace(" ", "_"))
def test_mutant_is_refused(judge_golden: JudgeGolden, ragged_tasks: Mapping[str, Task], mutant: Mutant) -> None:
    ragged = ragged_tasks[mutant.task]
    task = ragged if any(case.id == mutant.case for case in ragged.cases) else SUITE[mutant.task]
    verdict = judge_golden(task, task.case(mutant.case), mutant.edit)
    said = [*verdict.diagnostics, *(diagnostic for case in verdict.cases for diagnostic in case.diagnostics)]
    errors = {diagnostic.rule for diagnostic in said if diagnostic.severity is Severity.ERROR}
    if mutant.rule:
        assert (verdict.outcome, mutant.rule in errors) == (Outcome.RULE_VIOLATION, True), said
    else:
        assert verdict.outcome in WRONG, said
