"""The tasks on tensor lists: all operators and public cases are there, with the interfaces of their definitions."""

from __future__ import annotations

from math import prod

import numpy as np
import pytest

from npukernelbench.nouns import DType, Presence, Task, TensorCase, TensorShape
from npukernelbench.reference import expected_outputs
from npukernelbench.tasks import generate_inputs
from npukernelbench.tasks.registry import TaskRegistry
from tests.suite import suite

#: Task: (arguments before the workspace, number of the source suite's cases).
SUITE: dict[str, tuple[str, int]] = {
    "ForeachAbs": ("x y", 18),
    "ForeachAcos": ("x y", 9),
    "ForeachAddList": ("x1 x2 alpha y", 18),
    "ForeachAddScalar": ("x scalar y", 5),
    "ForeachAddScalarList": ("x scalars y", 5),
    "ForeachAddcdivList": ("x1 x2 x3 scalars y", 18),
    "ForeachAddcdivScalar": ("x1 x2 x3 scalar y", 18),
    "ForeachAddcdivScalarList": ("x1 x2 x3 scalars y", 17),
    "ForeachAddcmulList": ("x1 x2 x3 scalars y", 24),
    "ForeachAddcmulScalar": ("x1 x2 x3 scalar y", 24),
    "ForeachAddcmulScalarList": ("x1 x2 x3 scalars y", 24),
    "ForeachAsin": ("x y", 18),
    "ForeachAtan": ("x y", 17),
    "ForeachCopy": ("x y", 18),
    "ForeachCos": ("x y", 18),
    "ForeachCosh": ("x y", 18),
    "ForeachDivList": ("x1 x2 y", 18),
    "ForeachDivScalar": ("x scalar y", 18),
    "ForeachDivScalarList": ("x scalars y", 18),
    "ForeachErf": ("x y", 18),
    "ForeachErfc": ("x y", 18),
    "ForeachExp": ("x y", 18),
    "ForeachExpm1": ("x y", 17),
    "ForeachLerpScalar": ("x1 x2 weight y", 5),
    "ForeachLog": ("x y", 18),
    "ForeachLog10": ("x y", 18),
    "ForeachLog1p": ("x y", 18),
    "ForeachLog2": ("x y", 18),
    "ForeachMaximumList": ("x1 x2 y", 24),
    "ForeachMaximumScalar": ("x scalar y", 24),
    "ForeachMinimumList": ("x1 x2 y", 24),
    "ForeachMinimumScalar": ("x scalar y", 24),
    "ForeachMulList": ("x1 x2 y", 24),
    "ForeachMulScalar": ("x scalar y", 24),
    "ForeachMulScalarList": ("x scalars y", 24),
    "ForeachNeg": ("x y", 6),
    "ForeachNonFiniteCheckAndUnscale": ("scaled_grads found_inf inv_scale scaled_grads_ref found_inf_ref", 21),
    "ForeachNorm": ("x scalar y", 18),
    "ForeachPowScalar": ("x scalar y", 9),
    "ForeachPowScalarAndTensor": ("scalar x y", 5),
    "ForeachReciprocal": ("x y", 18),
    "ForeachRoundOffNumber": ("x roundMode y", 8),
    "ForeachSigmoid": ("x y", 18),
    "ForeachSign": ("x y", 18),
    "ForeachSin": ("x y", 18),
    "ForeachSinh": ("x y", 18),
    "ForeachSqrt": ("x y", 18),
    "ForeachSubList": ("x1 x2 alpha y", 24),
    "ForeachSubScalar": ("x scalar y", 24),
    "ForeachSubScalarList": ("x scalars y", 24),
    "ForeachTan": ("x y", 18),
    "ForeachTanh": ("x y", 17),
    "ForeachZeroInplace": ("x x_ref", 18),
}

F16, BF16, F32, I32, I64 = DType.FLOAT16, DType.BFLOAT16, DType.FLOAT32, DType.INT32, DType.INT64
#: What a scalar is for each element type of the lists: tensors on the device, values from the host, or that very type.
DEVICE = {F16: F16, BF16: F32, F32: F32, I32: I32}
HOST = {F16: F32, BF16: F32, F32: F32, I32: I64}
SAME = {F16: F16, BF16: BF16, F32: F32, I32: I32}
SCALARS = {
    "ForeachAddcdivList": SAME,
    "ForeachAddcdivScalarList": SAME,
    "ForeachAddcmulList": SAME,
    "ForeachAddcmulScalarList": SAME,
    "ForeachAddScalarList": HOST,
    "ForeachDivScalarList": HOST,
    "ForeachLerpScalar": HOST,
    "ForeachMulScalarList": HOST,
    "ForeachPowScalarAndTensor": HOST,
    "ForeachSubScalarList": HOST,
}


@pytest.fixture(scope="module")
def registry() -> TaskRegistry:
    return suite()


def lists(task: Task, case_id: str) -> dict[str, tuple[TensorShape, ...]]:
    found = task.case(case_id).inputs.items()
    return {name: tuple(item.tensor for item in value) for name, value in found if isinstance(value, tuple)}


def elements(task: Task, case_id: str) -> int:
    outputs = [item for value in task.case(case_id).outputs.values() if isinstance(value, tuple) for item in value]
    return sum(item.size for tensors in [*lists(task, case_id).values(), outputs] for item in tensors)


def test_the_category_is_complete(registry: TaskRegistry) -> None:
    assert {name for name, task in registry.items() if task.category == "Foreach"} == set(SUITE)


@pytest.mark.parametrize("name", SUITE)
def test_identity_interface_and_public_cases(registry: TaskRegistry, name: str) -> None:
    task = registry[name]
    arguments, count = SUITE[name]
    assert (task.level, task.category, task.suite) == (2, "Foreach", "npukernelbench")
    assert task.kernel == "".join(f"_{c.lower()}" if c.isupper() else c for c in name).removeprefix("_")
    assert task.arguments == (*arguments.split(), "workspace")
    assert [case.id for case in task.cases if "full" in case.profiles] == [str(item) for item in range(count)]
    assert all("_list" in task.reference or name not in SCALARS or HOST is SCALARS[name] for _ in task.cases)


@pytest.mark.parametrize("name", SUITE)
def test_lists_are_alike_and_scalars_of_their_type(registry: TaskRegistry, name: str) -> None:
    task = registry[name]
    for case in task.cases:
        first, *others = lists(task, case.id).values()
        assert all(other == first for other in others)
        assert len({item.dtype for item in first}) == 1
        for spec in task.inputs:
            value = case.inputs[spec.name]
            assert isinstance(value, tuple) == (spec.presence is Presence.DYNAMIC)
            if not isinstance(value, TensorCase) or name in ("ForeachNorm", "ForeachNonFiniteCheckAndUnscale"):
                continue
            assert value.tensor.size == (len(first) if spec.name == "scalars" else 1), case.id
            assert value.tensor.dtype is SCALARS.get(name, DEVICE)[first[0].dtype], case.id


@pytest.mark.parametrize("name", SUITE)
def test_profiles(registry: TaskRegistry, name: str) -> None:
    task = registry[name]
    assert [case.id for case in task.cases if "smoke" in case.profiles] == ["smoke"]
    [tensors, *_] = lists(task, "smoke").values()
    assert len(tensors) == 3
    assert all(item.nbytes % 32 and item.shape[-1] * item.dtype.itemsize % 32 for item in tensors)
    for case in task.cases:
        assert ("cpu" in case.profiles) == ("full" in case.profiles and elements(task, case.id) <= 4 * 2**20), case.id
    assert sum("cpu" in case.profiles for case in task.cases) >= 4


@pytest.mark.parametrize("name", SUITE)
def test_every_element_type_of_the_definition_is_judged_somewhere(registry: TaskRegistry, name: str) -> None:
    task = registry[name]
    [spec, *_] = [item for item in task.inputs if item.presence is Presence.DYNAMIC]
    seen = {item.dtype for case in task.cases for item in lists(task, case.id)[spec.name]}
    missing = set(spec.dtypes) - seen
    assert missing <= ({BF16} if name == "ForeachAddScalar" else set())


def test_outputs_that_are_inputs_and_outputs_of_another_shape(registry: TaskRegistry) -> None:
    unscale = registry["ForeachNonFiniteCheckAndUnscale"]
    assert [item.alias_of for item in unscale.outputs] == ["scaled_grads", "found_inf"]
    assert [item.alias_of for item in registry["ForeachZeroInplace"].outputs] == ["x"]
    in_place = {name for name in SUITE if any(item.alias_of for item in registry[name].outputs)}
    assert in_place == {"ForeachNonFiniteCheckAndUnscale", "ForeachZeroInplace"}
    norm = registry["ForeachNorm"].case("4")
    assert norm.outputs["y"] == (TensorShape((), F16),) * 3
    types = {
        value.tensor.dtype for c in registry["ForeachNorm"].cases if isinstance(value := c.inputs["scalar"], TensorCase)
    }
    assert types == {I64, F32}


def test_int32_stays_inside_its_range(registry: TaskRegistry) -> None:
    """Sums and products are computed here in int64 from the inputs' own values, and do not wrap."""
    seen = 0
    for name in SUITE:
        task = registry[name]
        for case in task.cases:
            [tensors, *_] = lists(task, case.id).values()
            if tensors[0].dtype is not I32 or sum(prod(item.shape) for item in tensors) > 2**16:
                continue
            inputs = generate_inputs(task, case, 1)
            wide = {
                key: [item.astype(np.int64) for item in value] if isinstance(value, list) else value
                for key, value in inputs.items()
            }
            for output in task.outputs:
                narrow, exact = (expected_outputs(task, case, given)[output.name] for given in (inputs, wide))
                assert all(np.array_equal(a, b) for a, b in zip(narrow, exact, strict=True)), (name, case.id)
            seen += 1
    assert seen > 50


def test_a_sprinkled_case_holds_what_its_operator_looks_for(registry: TaskRegistry) -> None:
    task = registry["ForeachNonFiniteCheckAndUnscale"]
    flags = {}
    for case in task.cases:
        if {"cpu", "smoke", "extra"} & case.profiles:
            flag = expected_outputs(task, case, generate_inputs(task, case, 1))["found_inf_ref"]
            flags[case.id] = float(np.asarray(flag))
    assert {key for key, flag in flags.items() if flag} == {"17", "18", "19", "20", "smoke", "found_before"}
