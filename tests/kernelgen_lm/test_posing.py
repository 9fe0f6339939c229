"""Questions about formulas as task files: the same question, a reference that agrees with it, held out by function."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from kernelgen_lm.corpus.exclusion import Exclusion
from kernelgen_lm.corpus.questions import is_held_out
from kernelgen_lm.formulas import posing
from kernelgen_lm.formulas.posing import function_of_formula, posed_again, write_formulas
from kernelgen_lm.formulas.short import FAMILIES
from kernelgen_lm.formulas.slots import slotted
from kernelgen_lm.judging import Bench
from kernelgen_lm.training.curriculum import refuse_held_out
from npukb_tile.brief import brief_opening
from npukernelbench.errors import TaskError, UsageError
from npukernelbench.nouns import Task
from npukernelbench.plugins import Plugins
from npukernelbench.reference import resolve
from npukernelbench.tasks import load_registry
from tests.suite import furnished

pytest.importorskip("scipy")


@pytest.fixture(scope="module")
def bench() -> Iterator[Bench]:
    with Bench() as made:
        yield made


def _written(folder: Path, bench: Bench, *, held_out: bool, count: int) -> list[Task]:
    names = write_formulas(
        folder, count, held_out=held_out, share=0.3, seed=777, least=3, exclusion=Exclusion([]), bench=bench
    )
    registry = load_registry(Plugins.load(), [folder], cache_dir=furnished(folder.with_name(f"{folder.name}-cache")))
    return [registry[name] for name in names]


def test_task_files_ask_the_question_that_was_drawn(tmp_path: Path, bench: Bench) -> None:
    """The judge found their known programs right, so that the references are, too."""
    tasks = _written(tmp_path, bench, held_out=True, count=8)
    families = Counter[str]()
    for task in tasks:
        seed, index = (int(part) for part in task.reference.rpartition("formula_")[2].split("_")[:2])
        posed = posed_again(seed, index)
        assert posed is not None
        families[posed.short.family] += 1
        found = slotted(brief_opening(task, task.cases[0]).messages)
        assert found is not None
        assert found.text == posed.short.prompt
    assert len({function_of_formula(task) for task in tasks}) == len(tasks)
    assert families.keys() <= FAMILIES.keys()
    assert len(families) >= 3


def test_training_gets_no_function_that_is_held_out(tmp_path: Path, bench: Bench) -> None:
    held = _written(tmp_path / "a", bench, held_out=True, count=2)
    others = _written(tmp_path / "b", bench, held_out=False, count=2)
    for tasks, wanted in ((held, True), (others, False)):
        assert [is_held_out(function_of_formula(task) or "", 0.3) for task in tasks] == [wanted] * 2
    refuse_held_out(others, 0.3, ())
    with pytest.raises(UsageError, match="2 of the tasks"):
        refuse_held_out(held, 0.3, ())


def test_a_task_of_another_generator_is_refused(tmp_path: Path, bench: Bench) -> None:
    (task,) = _written(tmp_path, bench, held_out=True, count=1)
    name = task.reference
    assert callable(resolve(name))
    with pytest.raises(TaskError, match="another generator"):
        resolve(name[:-1] + ("0" if name[-1] != "0" else "1"))
    with pytest.raises(AttributeError):
        posing.formula_x  # noqa: B018
