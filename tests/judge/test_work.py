"""Work that is not commensurate with the task: told, and no more than told."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from npukernelbench.judge.work import CUBE_PRODUCTS, RULE, VECTOR_RESULTS, little_work, only_moves
from npukernelbench.nouns import Core, Profile, Severity, Task
from npukernelbench.testing.tasks import tiny_case, tiny_task
from tests.suite import suite

CASE = tiny_case(shape=(300, 40))  # 12,000 elements


def profile(vector: float, cube: float = 0.0) -> Profile:
    counters = {VECTOR_RESULTS: vector, CUBE_PRODUCTS: cube}
    return Profile(time_us=1.0, predicted=True, machine="m", blocks=1, counters=counters)


@pytest.fixture
def task() -> Task:
    return tiny_task(cases=(CASE,))


@pytest.mark.parametrize(("share", "told"), [(0.0, True), (0.4, True), (0.6, False), (2.0, False)])
def test_half_of_the_least_work_is_enough(task: Task, share: float, told: bool) -> None:
    nbytes = CASE.outputs["y"].nbytes  # type: ignore[union-attr]
    diagnostic = little_work(task, CASE, profile(share * nbytes))
    assert (diagnostic is not None) is told
    if diagnostic is not None:
        assert (diagnostic.rule, diagnostic.severity) == (RULE, Severity.WARNING)


def test_products_of_a_matrix_may_come_from_either_unit() -> None:
    task = suite()["BasicMatmul"]
    assert task.core is not Core.VECTOR
    case = task.cases[0]
    diagnostic = little_work(task, case, profile(0.0, 1.0))
    assert diagnostic is not None
    assert "cube units" in diagnostic.message
    assert little_work(task, case, profile(0.0, 1e18)) is None
    assert little_work(task, case, profile(1e18)) is None


def test_who_cannot_tell_is_not_asked(task: Task) -> None:
    assert little_work(task, CASE, None) is None
    assert little_work(task, CASE, replace(profile(0.0), counters={})) is None


def test_small_cases_are_left_to_loops() -> None:
    case = tiny_case(shape=(10, 10))
    assert little_work(tiny_task(cases=(case,)), case, profile(0.0)) is None


def test_what_is_only_moved_needs_no_arithmetic(task: Task) -> None:
    for moving in ({"category": "TensorMove"}, {"tags": frozenset({"copy"})}, {"reference": "foreach_unary.copy"}):
        assert little_work(replace(task, **moving), CASE, profile(0.0)) is None


def test_values_that_come_from_inputs_were_moved(task: Task) -> None:
    mover = replace(task, tags=frozenset())
    given = np.array([[1.0, np.nan], [-0.0, 4.0]], np.float32)
    assert only_moves(mover, {"x": given}, {"y": given.T})
    assert only_moves(mover, {"x": [given, given + 1], "n": None}, {"y": [given[:1], given[1:] + 1]})
    assert not only_moves(mover, {"x": given}, {"y": given + 1})
    assert not only_moves(mover, {"x": given}, {"y": np.zeros(3, np.float32)}), "minus zero is another value"
    assert not only_moves(mover, {"x": given}, {"y": given.astype(np.float16)})
    assert not only_moves(replace(task, tags=frozenset({"comparison"})), {"x": given}, {"y": given})
