"""The 52 tasks of the suite ``ascendcraft``: shapes as published, and cases that can be afforded and are ragged."""

from __future__ import annotations

from collections import Counter

import pytest

from npukernelbench.nouns import Case, DType, Task, TensorCase, TensorShape
from npukernelbench.tasks.registry import TaskRegistry
from npukernelbench.tasks.select import fold
from tests.suite import suite
from tests.tasks.smoke import assert_small_and_ragged

#: Operator: its category and the shapes of its tensors on a device.
SUITE: dict[str, tuple[str, list[tuple[int, ...]]]] = {
    "elu": ("activation", [(4096, 393216)]),
    "gelu": ("activation", [(4096, 393216)]),
    "hardsigmoid": ("activation", [(4096, 393216)]),
    "hardtanh": ("activation", [(4096, 393216)]),
    "leaky_relu": ("activation", [(4096, 393216)]),
    "log_softmax": ("activation", [(4096, 393216)]),
    "min_gpt_new_gelu": ("activation", [(8192, 8192)]),
    "relu": ("activation", [(4096, 393216)]),
    "selu": ("activation", [(4096, 393216)]),
    "sigmoid": ("activation", [(4096, 393216)]),
    "softmax": ("activation", [(4096, 393216)]),
    "softplus": ("activation", [(4096, 393216)]),
    "softsign": ("activation", [(4096, 393216)]),
    "swish": ("activation", [(4096, 393216)]),
    "tanh": ("activation", [(4096, 393216)]),
    "cosine_similarity_loss": ("loss", [(128, 4096), (128, 4096)]),
    "cross_entropy_loss": ("loss", [(32768, 4096), (32768,)]),
    "hinge_loss": ("loss", [(32768, 32768), (32768,)]),
    "huber_loss": ("loss", [(32768, 32768), (32768, 32768)]),
    "kl_div_loss": ("loss", [(16384, 16384), (16384, 16384)]),
    "mse_loss": ("loss", [(32768, 32768), (32768, 32768)]),
    "triplet_margin_loss": ("loss", [(32768, 8192), (32768, 8192), (32768, 8192)]),
    "cumprod": ("math", [(32768, 32768)]),
    "cumsum": ("math", [(32768, 32768)]),
    "cumsum_exclusive": ("math", [(32768, 32768)]),
    "cumsum_reverse": ("math", [(32768, 32768)]),
    "masked_cumsum": ("math", [(32768, 32768), (32768, 32768)]),
    "matrix_scalar_multiplication": ("math", [(65536, 16384)]),
    "batch_norm": ("normalization", [(64, 64, 512, 512)]),
    "frobenius_norm": ("normalization", [(128, 64, 512, 512)]),
    "group_norm": ("normalization", [(128, 64, 512, 512)]),
    "instance_norm": ("normalization", [(128, 64, 512, 512)]),
    "l1_norm": ("normalization", [(32768, 65535)]),
    "l2_norm": ("normalization", [(32768, 65535)]),
    "layer_norm": ("normalization", [(64, 64, 256, 256)]),
    "rms_norm": ("normalization", [(128, 64, 512, 512)]),
    "adagrad": ("optimizer", [(1024, 4096), (1024, 4096), (1024, 4096)]),
    "adam": ("optimizer", [(512, 2048), (512, 2048), (512, 2048), (512, 2048)]),
    "lamb": ("optimizer", [(512, 4096), (512, 4096), (512, 4096)]),
    "rmsprop": ("optimizer", [(2048, 2048), (2048, 2048), (2048, 2048)]),
    "sgd": ("optimizer", [(1024, 4096), (1024, 4096), (1024, 4096)]),
    "max_reduction_over_a_dimension": ("reduce", [(128, 4096, 4096)]),
    "mean_reduction_over_a_dimension": ("reduce", [(128, 4096, 4096)]),
    "min_reduction_over_a_dimension": ("reduce", [(128, 4096, 4096)]),
    "product_reduction_over_a_dimension": ("reduce", [(128, 4096, 4096)]),
    "sum_reduction_over_a_dimension": ("reduce", [(128, 4096, 4096)]),
    "average_pooling_1d": ("pooling", [(64, 128, 65536)]),
    "average_pooling_2d": ("pooling", [(16, 64, 512, 512)]),
    "average_pooling_3d": ("pooling", [(16, 32, 128, 128, 256)]),
    "max_pooling_1d": ("pooling", [(64, 192, 2048)]),
    "max_pooling_2d": ("pooling", [(32, 64, 512, 512)]),
    "max_pooling_3d": ("pooling", [(16, 32, 128, 128, 128)]),
}

#: Inputs that the source makes inside: weights of norms. They come last.
WEIGHTS = {"batch_norm": [(64,)] * 2, "group_norm": [(64,)] * 2, "layer_norm": [(64, 256, 256)] * 2}


@pytest.fixture(scope="module")
def registry() -> TaskRegistry:
    return suite()


def of_suite(registry: TaskRegistry) -> list[Task]:
    return [task for task in registry.values() if task.suite == "ascendcraft"]


def profile(task: Task, name: str) -> Case:
    [case] = [case for case in task.cases if name in case.profiles]
    return case


def tensors(case: Case) -> list[TensorShape]:
    inputs = [value.tensor for value in case.inputs.values() if isinstance(value, TensorCase)]
    outputs = [value for value in case.outputs.values() if isinstance(value, TensorShape)]
    assert len(inputs) + len(outputs) == len(case.inputs) + len(case.outputs)
    return [*inputs, *outputs]


def test_there_are_52_operators_in_seven_categories(registry: TaskRegistry) -> None:
    tasks = of_suite(registry)
    assert {task.name for task in tasks} == {registry[f"craft_{name}"].name for name in SUITE}
    counts = {"Activation": 15, "Loss": 7, "Math": 6, "Normalization": 8, "Optimizer": 5, "Reduce": 5, "Pooling": 6}
    assert Counter(task.category for task in tasks) == counts


@pytest.mark.parametrize("name", SUITE)
def test_identity_and_published_shapes(registry: TaskRegistry, name: str) -> None:
    task = registry[f"craft_{name}"]
    category, shapes = SUITE[name]
    assert (fold(task.category), task.level, task.kernel) == (category, 2, f"craft_{name}")
    assert "ascendcraft" in task.tags
    full = profile(task, "full")
    given = [value.tensor for value in full.inputs.values() if isinstance(value, TensorCase)]
    assert full.id == "0"
    assert [tensor.shape for tensor in given] == [*shapes, *WEIGHTS.get(name, [])]
    exact = {"mask": DType.BOOL} | ({"targets": DType.INT64} if name == "cross_entropy_loss" else {})
    assert [tensor.dtype for tensor in given] == [exact.get(item.name, DType.FLOAT32) for item in task.inputs]
    assert all(output.dtype is DType.FLOAT32 and output.alias_of is None for output in task.outputs)


@pytest.mark.parametrize("name", SUITE)
def test_the_cpu_case_keeps_rank_and_fits_a_laptop(registry: TaskRegistry, name: str) -> None:
    task = registry[f"craft_{name}"]
    full, cpu = profile(task, "full"), profile(task, "cpu")
    assert [len(item.shape) for item in tensors(cpu)] == [len(item.shape) for item in tensors(full)]
    assert cpu.attributes == full.attributes
    assert 1_000_000 <= sum(item.size for item in tensors(cpu)) <= 4 * 2**20
    for small, large in zip(tensors(cpu), tensors(full), strict=True):
        assert all(a <= b for a, b in zip(small.shape, large.shape, strict=True))


@pytest.mark.parametrize("name", SUITE)
def test_the_smoke_case_is_small_and_ragged(registry: TaskRegistry, name: str) -> None:
    shapes = tensors(profile(registry[f"craft_{name}"], "smoke"))
    assert_small_and_ragged(shapes)


def test_no_input_is_constant(registry: TaskRegistry) -> None:
    for task in of_suite(registry):
        for case in task.cases:
            kinds = {value.values.kind for value in case.inputs.values() if isinstance(value, TensorCase)}
            assert not kinds & {"constant", "literal"}, (task.name, case.id)


def test_decisions_that_the_names_do_not_tell(registry: TaskRegistry) -> None:
    summed, averaged = registry["CraftSumReductionOverADimension"], registry["CraftMeanReductionOverADimension"]
    assert summed.case("0").outputs["y"] == TensorShape((128, 1, 4096), DType.FLOAT32)
    assert averaged.case("0").outputs["y"] == TensorShape((128, 4096), DType.FLOAT32)
    assert registry["CraftAveragePooling2d"].case("0").outputs["y"].shape == (16, 64, 46, 46)  # type: ignore[union-attr]
    assert registry["CraftMaxPooling2d"].case("0").outputs["y"].shape == (32, 64, 511, 511)  # type: ignore[union-attr]
    assert registry["CraftHingeLoss"].case("smoke").outputs["y"] == TensorShape((), DType.FLOAT32)
    exact = {"CraftRelu", "CraftHardtanh"}
    exact |= {task.name for task in of_suite(registry) if task.name.startswith(("CraftMax", "CraftMin"))}
    exact -= {"CraftMinGptNewGelu"}
    limits = {task.name: task.tolerance.limits[DType.FLOAT32] for task in of_suite(registry)}
    assert {name for name, item in limits.items() if item.atol == item.rtol == 0.0} == exact
    assert all(item.atol <= 1e-5 and item.rtol <= 5e-5 for item in limits.values())
