"""Cases with values of other classes: within the contract of the task, and different."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from npukernelbench.nouns import DType, HiddenForm, TensorCase, TensorShape, ValueClass, ValueSpec
from npukernelbench.tasks.inputs import generate_inputs
from npukernelbench.tasks.variation import patched, varied
from npukernelbench.testing.tasks import tiny_case, tiny_task
from tests.suite import suite

CASE = tiny_case(shape=(30, 40))


def test_rows_of_every_kind() -> None:
    values = np.random.default_rng(0).standard_normal((30, 40)).astype(np.float32)
    array = patched(values, 1)
    assert np.array_equal(array[:10], values[:10])
    assert np.array_equal(array[10:20], np.sort(values[10:20], axis=-1))
    assert np.array_equal(array[20:], np.broadcast_to(values[20:, :1], (10, 40)))
    assert np.array_equal(patched(values, 8)[20:], np.tile(values[20:, :8], (1, 5)))


def test_a_vector_counts_as_three_rows() -> None:
    values = np.random.default_rng(0).standard_normal(99).astype(np.float16)
    array = patched(values, 1)
    assert np.array_equal(array[:33], values[:33])
    assert (np.diff(array[33:66].astype(np.float32)) >= 0).all()
    assert (array[66:] == values[66]).all()


def test_values_are_those_of_the_generator() -> None:
    """Every element of a patchwork is an element that was drawn."""
    values = np.random.default_rng(0).uniform(2.0, 3.0, (7, 11)).astype(np.float32)
    assert set(patched(values, 4).reshape(-1)) <= set(values.reshape(-1))


def test_a_variation_is_drawn_anew_and_always_alike() -> None:
    task = tiny_task(cases=(CASE,))
    one, again, other = varied(task, CASE, 1), varied(task, CASE, 1), varied(task, CASE, 2)
    drawn = [np.asarray(generate_inputs(task, case, 5)["x"]) for case in (CASE, one, again, other)]
    assert np.array_equal(drawn[1], drawn[2])
    assert not np.array_equal(drawn[0], drawn[1])
    assert not np.array_equal(drawn[1], drawn[3])
    assert (one.id, one.outputs, one.attributes) == (CASE.id, CASE.outputs, CASE.attributes)


def test_classes_of_hidden_cases_are_sprinkled_over() -> None:
    form = HiddenForm(value_classes={"x": (ValueClass("nan"),)})
    task = replace(tiny_task(cases=(CASE,)), hidden=(form,))
    drawn = generate_inputs(task, varied(task, CASE, 1), 5)["x"]
    assert 0 < np.isnan(np.asarray(drawn, np.float32)).mean() < 0.5


def test_classes_that_are_for_other_types_or_attributes_are_not() -> None:
    form = HiddenForm(value_classes={"x": (ValueClass("nan"),)}, dtypes=({"x": DType.BFLOAT16},))
    task = replace(tiny_task(cases=(CASE,)), hidden=(form,))
    assert np.isfinite(np.asarray(generate_inputs(task, varied(task, CASE, 1), 5)["x"], np.float32)).all()


@pytest.mark.parametrize("kind", ["distinct", "partition", "literal"])
def test_values_that_depend_on_each_other_stay_as_they_are(kind: str) -> None:
    value = TensorCase(TensorShape((64,), DType.FLOAT32), ValueSpec(kind, {}))
    case = replace(CASE, inputs={"x": value})
    assert varied(tiny_task(cases=(CASE,)), case, 1).inputs["x"] == value


def test_indices_see_no_equal_values() -> None:
    """Which of several equal values an index names is the operator's matter, not that of the values."""
    case = replace(CASE, outputs={"y": TensorShape((30,), DType.INT32)})
    assert varied(tiny_task(cases=(CASE,)), case, 1).inputs == case.inputs


def test_every_case_of_every_task_can_be_varied() -> None:
    tasks = suite()
    changed = sum(varied(task, case, 0).inputs != case.inputs for task in tasks.values() for case in task.cases)
    assert changed > sum(len(task.cases) for task in tasks.values()) / 2
