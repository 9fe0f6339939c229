"""A golden operator of the dynamic track with one plausible mistake, in host or device code, is refused."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from npukernelbench.nouns import Task, Verdict
from tests.goldens.mutants import Mutant
from tests.goldens.test_dynamic_goldens import SUITE, judge
from tests.tables import read_yaml

__all__ = ["judge"]


def mutants() -> Iterator[Mutant]:
    for file in sorted(Path(__file__).parent.glob("mutants_dynamic/*.yaml")):
        for entry in read_yaml(file):
            for edit in entry["edits"]:
                yield Mutant(entry["task"], entry["case"], **edit)


@pytest.mark.parametrize("mutant", list(mutants()), ids=str)
def test_mutant_is_refused(
    judge: Callable[..., Verdict],
    ragged_tasks: Mapping[str, Task],
    mutant: Mutant,
) -> None:
    task = mutant.task_of(SUITE, ragged_tasks)
    mutant.assert_refused(judge(task, [task.case(mutant.case)], mutant.edit_files))
