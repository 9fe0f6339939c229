"""The 52 references of the suite ``ascendcraft`` against torch, and torch in float32 against the tolerances."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from npukb_npu import eager
from npukb_npu.eager_craft import CRAFT
from npukernelbench.judge.check import pcl
from npukernelbench.nouns import Case, DType, Task, TensorShape
from npukernelbench.reference import expected_outputs
from npukernelbench.tasks import generate_inputs
from tests.suite import suite

torch = pytest.importorskip("torch", reason="torch is not installed; test_craft.py stands alone")

SUITE = {task.name: task for task in suite().values() if task.suite == "ascendcraft"}


def both(task: Task, case: Case, real: Any) -> tuple[Any, Any]:
    """What torch computes in the type ``real``, and what the reference says."""
    inputs: dict[str, Any] = dict(generate_inputs(task, case, 11))
    floats = {name: float(np.float32(v)) if isinstance(v, float) else v for name, v in case.attributes.items()}
    tensors = {name: torch.from_numpy(value) for name, value in inputs.items()}
    wide = {name: value.to(real) if value.is_floating_point() else value for name, value in tensors.items()}
    [expected] = expected_outputs(task, case, inputs).values()
    return eager.evaluate(torch, task, {**wide, **floats}).numpy(), expected


def test_torch_has_a_word_for_every_operator_of_the_suite() -> None:
    assert set(CRAFT) == set(SUITE)


@pytest.mark.parametrize("name", sorted(SUITE))
def test_reference_agrees_with_torch_in_double_precision(name: str) -> None:
    actual, expected = both(SUITE[name], SUITE[name].case("smoke"), torch.float64)
    assert actual.shape == expected.shape
    np.testing.assert_allclose(actual, expected, rtol=1e-9, atol=3e-9 if name == "CraftSoftplus" else 1e-12)


@pytest.mark.parametrize("profile", ["smoke", "cpu"])
@pytest.mark.parametrize("name", sorted(SUITE))
def test_torch_in_single_precision_is_accepted(name: str, profile: str) -> None:
    task = SUITE[name]
    [case] = [item for item in task.cases if profile in item.profiles]
    actual, expected = both(task, case, torch.float32)
    assert case.outputs == {task.outputs[0].name: TensorShape(actual.shape, DType.FLOAT32)}
    result = pcl(actual, expected, DType.FLOAT32, task.tolerance.limits[DType.FLOAT32])
    assert result.passed, (result.reason, result.metrics)


@pytest.mark.parametrize("profile", ["smoke", "cpu"])
@pytest.mark.parametrize("name", [name for name in sorted(SUITE) if not name.endswith("Loss")])
def test_inputs_in_half_precision_are_refused(name: str, profile: str) -> None:
    task = SUITE[name]
    [case] = [item for item in task.cases if profile in item.profiles]
    inputs: dict[str, Any] = dict(generate_inputs(task, case, 11))
    [expected] = expected_outputs(task, case, inputs).values()
    half = {
        name: value.astype(np.float16).astype(np.float32) if value.dtype.kind == "f" else value
        for name, value in inputs.items()
    }
    [coarse] = expected_outputs(task, case, half).values()
    result = pcl(np.asarray(coarse).astype(np.float32), expected, DType.FLOAT32, task.tolerance.limits[DType.FLOAT32])
    assert not result.passed, result.metrics
