"""A golden kernel of the static track with one plausible mistake is refused.

By the rule checker where the device would fault or hang, by the comparison where it would compute something else.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from npukernelbench.nouns import Task, Track
from tests.goldens.mutants import Mutant
from tests.suite import suite
from tests.tables import read_yaml

if TYPE_CHECKING:
    from tests.goldens.conftest import JudgeGolden

SUITE = {task.name: task for task in suite().values() if any(golden.track is Track.STATIC for golden in task.goldens)}


def mutants() -> Iterator[Mutant]:
    document = read_yaml(Path(__file__).with_name("mutants.yaml"))
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


@pytest.mark.parametrize("mutant", MUTANTS, ids=str)
def test_mutant_is_refused(judge_golden: JudgeGolden, ragged_tasks: Mapping[str, Task], mutant: Mutant) -> None:
    task = mutant.task_of(SUITE, ragged_tasks)
    mutant.assert_refused(judge_golden(task, task.case(mutant.case), mutant.edit))
