"""Decisions that the source suite leaves open: matrices, attention, optimizers, masks, sparse tensors."""

from __future__ import annotations

import pytest

from npukernelbench.nouns import Core, DType, TensorCase, TensorShape
from npukernelbench.tasks.registry import TaskRegistry
from tests.suite import suite

CATEGORIES = frozenset({"Linalg", "Mask", "Optim", "Reduce", "TensorMove", "GMM", "Sort"})


@pytest.fixture(scope="module")
def registry() -> TaskRegistry:
    return suite()


def test_every_public_case_is_there(registry: TaskRegistry) -> None:
    tasks = [task for task in registry.values() if task.suite == "npukernelbench" and task.category in CATEGORIES]
    assert len(tasks) == 33
    assert sum("full" in case.profiles for task in tasks for case in task.cases) == 272


def test_smoke_cases_are_small_and_ragged(registry: TaskRegistry) -> None:
    for task in registry.values():
        if task.suite == "npukernelbench" and task.category in CATEGORIES:
            case = task.case("smoke")
            shapes = [value.tensor for value in case.inputs.values() if isinstance(value, TensorCase)]
            shapes += [value for value in case.outputs.values() if isinstance(value, TensorShape)]
            big = [shape for shape in shapes if shape.size > 1_000]
            assert big, task.name
            assert max(shape.size for shape in shapes) < 10_000, task.name
            assert all(shape.shape[-1] * shape.dtype.itemsize % 32 and shape.nbytes % 32 for shape in big), task.name


@pytest.mark.parametrize(
    ("name", "aliases"),
    [
        ("ApplyAdamWV2", {"var_out": "var", "m_out": "m", "v_out": "v", "max_grad_norm_out": "max_grad_norm"}),
        ("ApplyFusedEmaAdam", {"var_ref": "var", "m_ref": "m", "v_ref": "v", "s_ref": "s"}),
        ("StridedSliceAssignV2", {"var_out": "var"}),
        ("Gemm", {"d": "c"}),
        ("GroupGemm", {"d": "c"}),
    ],
)
def test_what_is_updated_in_place_has_an_output_that_says_so(
    registry: TaskRegistry, name: str, aliases: dict[str, str]
) -> None:
    task = registry[name]
    assert {output.name: output.alias_of for output in task.outputs} == aliases
    for case in task.cases:
        for output, source in aliases.items():
            value = case.inputs[source]
            assert isinstance(value, TensorCase)
            assert case.outputs[output] == value.tensor


def test_shapes_and_types_that_the_source_leaves_open(registry: TaskRegistry) -> None:
    selected = registry["MaskedSelectV3"].case("0")
    assert selected.outputs["y"] == TensorShape((8119,), DType.FLOAT16)
    assert selected.outputs["shapeout"] == TensorShape((2,), DType.UINT64)
    assert registry["BasicMatmul"].case("0").outputs == {"c": TensorShape((128, 640), DType.FLOAT16)}
    assert registry["TopKV3"].case("2").outputs["indices"] == TensorShape((4, 128), DType.INT32)
    assert registry["CoalesceSparse"].case("7").outputs["new_indices"] == TensorShape((100, 2), DType.INT64)
    flash = registry["FlashAttentionScoreWithLargeHeadDim"].case("0")
    assert flash.outputs["softmax_max"] == TensorShape((2, 8, 2048, 8), DType.FLOAT32)
    assert registry["StridedSliceAssignV2"].case("smoke").inputs["axes"] is None


def test_matrix_products_run_on_cores_that_have_a_matrix_unit(registry: TaskRegistry) -> None:
    products = [task for task in registry.values() if task.category == "GMM" and task.suite == "npukernelbench"]
    assert {task.name for task in products if task.core is Core.VECTOR} == {"Gemv"}
    assert {task.name for task in products if task.core is Core.CUBE} == {
        "BasicMatmul",
        "BatchedMatmul",
        "GroupedMatmulSliceK",
        "GroupedMatmulSliceM",
        "MatmulBias",
    }
