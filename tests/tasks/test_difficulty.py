"""Facts that predict difficulty, and the core selection that is derived from them."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from benchmarks.core_selection import agreement
from npukernelbench.nouns import Core
from npukernelbench.tasks.core import CORE
from npukernelbench.tasks.difficulty import as_json, derive_core, difficulty_of, golden_lines
from npukernelbench.tasks.select import select
from npukernelbench.testing.tasks import tiny_task
from tests.suite import suite


def test_facts_are_counts_out_of_the_definition() -> None:
    difficulty = difficulty_of(suite()["RmsNorm"])
    assert (difficulty.reductions, difficulty.tensors, difficulty.attributes, difficulty.dtypes, difficulty.lists) == (
        1,
        4,
        1,
        3,
        False,
    )
    assert difficulty_of(suite()["ForeachAbs"]).lists
    assert difficulty_of(suite()["BasicMatmul"]).core == "cube"
    assert 0.0 < difficulty_of(suite()["ForeachAddList"]).ragged < 1.0
    assert difficulty_of(suite()["UnalignAdd"]).ragged == 0.0
    formula = replace(suite()["Sqrt"], formula="y = sum(a * b) + exp(c)")
    assert (difficulty_of(formula).operations, difficulty_of(formula).reductions) == (4, 1)
    plain = difficulty_of(suite()["Sqrt"])
    assert difficulty_of(replace(suite()["Sqrt"], core=Core.MIX)).load > plain.load


def test_lines_of_golden_kernels_are_counted_with_what_they_share() -> None:
    assert (golden_lines(suite()["RmsNorm"]) or 0) > 100
    assert golden_lines(tiny_task("Bare")) is None
    assert as_json(suite()["Sqrt"])["golden_lines"] == golden_lines(suite()["Sqrt"])
    assert all(golden_lines(task) for task in suite().values())


def test_the_core_selection_is_what_the_rule_chooses() -> None:
    tasks = list(suite().values())
    assert frozenset(derive_core(tasks)) == CORE
    assert 35 <= len(CORE) <= 45
    assert {(t.suite, t.level, t.category) for t in tasks if t.name in CORE} == {
        (t.suite, t.level, t.category) for t in tasks
    }
    assert {selected.task.name for selected in select(tasks, ["core"])} == CORE
    assert all(selected.cases for selected in select(tasks, ["core"]))


def test_a_group_is_spanned_from_its_lightest_to_its_heaviest() -> None:
    tasks = list(suite().values())
    groups = Counter((t.suite, t.level, t.category) for t in tasks if t.name in CORE)
    for group, count in groups.items():
        loads = {t.name: difficulty_of(t).load for t in tasks if (t.suite, t.level, t.category) == group}
        chosen = [load for name, load in loads.items() if name in CORE]
        if count > 1:
            assert (min(chosen), max(chosen)) == (min(loads.values()), max(loads.values()))


def test_the_core_selection_goes_with_all_tasks_on_simulated_models() -> None:
    found = agreement(list(suite().values()))
    assert found.correlation > 0.96
    assert found.error < 7.0
