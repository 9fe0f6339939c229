"""A golden operator of the dynamic track with one mistake is refused, by the rule checker or by the comparison."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml

import npukb_twin
from npukernelbench.generate import candidate_of
from npukernelbench.judge.executor import make_executor
from npukernelbench.judge.pipeline import Judge, JudgeSettings
from npukernelbench.nouns import Outcome, Severity, Task, Track
from npukernelbench.plugins import Plugins
from npukernelbench.tasks import load_registry
from npukernelbench.tasks.goldens import read_golden

SUITE = load_registry(Plugins.load(autoload=False))

#: What the comparison says. Poison that was never overwritten may be a number or not.
WRONG = (Outcome.WRONG_VALUE, Outcome.NON_FINITE)


class Mutant(NamedTuple):
    """One edit of one golden operator, judged on a public or ragged case; ``rule`` is the rule it breaks, if any."""

    task: str
    case: str
    what: str
    file: str
    old: str
    new: str
    rule: str = ""

    def edit(self, files: Mapping[str, str]) -> Mapping[str, str]:
        changed = {
            name: text.replace(self.old, self.new)
            for name, text in files.items()
            if name.endswith(self.file) and self.old in text
        }
        assert changed, f"the golden operator {self.task} has no {self.old!r} any more"
        return {**files, **changed}


def mutants() -> Iterator[Mutant]:
    document = yaml.safe_load(Path(__file__).with_name("mutants_dynamic.yaml").read_text(encoding="utf-8"))
    for entry in document["mutants"]:
        common = document["walk"] if entry.get("walk") else []
        for edit in (*common, *entry.get("edits", ())):
            yield Mutant(entry["task"], entry["case"], **edit)


@pytest.fixture(scope="module")
def judge() -> Iterator[Judge]:
    plugins = Plugins.load(autoload=False)
    plugins.register(npukb_twin, "twin")
    executor = make_executor(plugins.executors.find("twin"), {})
    settings = JudgeSettings(run_timeout_s=5.0)
    yield Judge(executor, checkers=plugins.checkers, guards=plugins.guards, settings=settings)
    executor.close()


@pytest.mark.parametrize("mutant", list(mutants()), ids=lambda m: f"{m.task}-{m.case}-{m.what}".replace(" ", "_"))
def test_mutant_is_refused(judge: Judge, ragged_tasks: Mapping[str, Task], mutant: Mutant) -> None:
    ragged = ragged_tasks[mutant.task]
    task = ragged if any(case.id == mutant.case for case in ragged.cases) else SUITE[mutant.task]
    [golden] = [golden for golden in task.goldens if golden.track is Track.DYNAMIC]
    candidate = candidate_of(mutant.edit(read_golden(golden)))
    verdict = judge.judge(task, [task.case(mutant.case)], Track.DYNAMIC, candidate)
    said = [*verdict.diagnostics, *(one for case in verdict.cases for one in case.diagnostics)]
    errors = {one.rule for one in said if one.severity is Severity.ERROR}
    if mutant.rule:
        assert (verdict.outcome, mutant.rule in errors) == (Outcome.RULE_VIOLATION, True), [str(one) for one in said]
    else:
        assert verdict.outcome in WRONG, [verdict.outcome, *(str(one) for one in said)]
