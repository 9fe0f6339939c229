"""The first twelve tasks of the harness itself: every public case is there, and nothing about them is accidental."""

from __future__ import annotations

import pytest

from npukernelbench.nouns import Core, DType, Task, TensorCase, TensorShape
from npukernelbench.plugins import Plugins
from npukernelbench.tasks import load_registry
from npukernelbench.tasks.registry import TaskRegistry

#: Task: (level, category, entry, arguments before the workspace, ids of the source suite's cases).
SUITE: dict[str, tuple[int, str, str, str, list[int]]] = {
    "Sqrt": (1, "Math", "sqrt", "x y", [*range(5)]),
    "AddCustom": (1, "Math", "add_custom", "x y z", [*range(5)]),
    "AbsMath": (1, "Math", "abs_math", "x y", [*range(18)]),
    "Muls": (1, "Math", "muls", "x value y", [*range(12), *range(15, 21)]),
    "Equal": (1, "Comparison", "equal", "x1 x2 y", [*range(9)]),
    "Fill": (1, "TensorCreation", "fill", "dims value y", [*range(21)]),
    "Swish": (2, "Activation", "swish", "x y", [*range(6)]),
    "Gelu": (2, "Activation", "gelu", "x y", [*range(7)]),
    "SwiGlu": (2, "Activation", "swi_glu", "x y", [*range(14)]),
    "RmsNorm": (2, "Norm", "rms_norm", "x gamma y rstd", [*range(9)]),
    "MseLoss": (2, "Loss", "mse_loss", "predict label y", [*range(7)]),
    "ForeachAddScalar": (2, "Foreach", "foreach_add_scalar", "x scalar y", [*range(5)]),
}


@pytest.fixture(scope="module")
def registry() -> TaskRegistry:
    return load_registry(Plugins.load(autoload=False))


def tensors(task: Task, case_id: str) -> list[TensorShape]:
    case = task.case(case_id)
    found = [item for value in case.inputs.values() for item in (value if isinstance(value, tuple) else (value,))]
    shapes = [item.tensor for item in found if isinstance(item, TensorCase)]
    for value in case.outputs.values():
        shapes += value if isinstance(value, tuple) else (value,)
    return shapes


@pytest.mark.parametrize("name", SUITE)
def test_identity_interface_and_public_cases(registry: TaskRegistry, name: str) -> None:
    task = registry[name]
    level, category, kernel, arguments, ids = SUITE[name]
    assert (task.level, task.category, task.kernel, task.suite) == (level, category, kernel, "npukernelbench")
    assert task.core is Core.VECTOR
    assert task.arguments == (*arguments.split(), "workspace")
    assert [case.id for case in task.cases if "full" in case.profiles] == [str(item) for item in ids]


def test_the_suite_is_complete(registry: TaskRegistry) -> None:
    assert set(registry) >= set(SUITE)


@pytest.mark.parametrize("name", SUITE)
def test_exactly_one_smoke_case_small_and_ragged(registry: TaskRegistry, name: str) -> None:
    task = registry[name]
    assert [case.id for case in task.cases if "smoke" in case.profiles] == ["smoke"]
    shapes = tensors(task, "smoke")
    assert max(shape.size for shape in shapes) < 10_000
    big = [shape for shape in shapes if shape.size > 1_000]
    assert big
    for shape in big:
        assert shape.nbytes % 32 != 0
        assert shape.shape[-1] * shape.dtype.itemsize % 32 != 0


@pytest.mark.parametrize("name", SUITE)
def test_the_cpu_profile_holds_affordable_public_cases(registry: TaskRegistry, name: str) -> None:
    for case in registry[name].cases:
        if "cpu" in case.profiles:
            assert "full" in case.profiles
            assert max(shape.size for shape in tensors(registry[name], case.id)) <= 4 * 2**20


def test_decisions_that_the_source_leaves_open(registry: TaskRegistry) -> None:
    magnitudes = registry["AbsMath"].case("16")
    assert magnitudes.outputs == {"y": TensorShape((512, 3), DType.FLOAT32)}
    assert tensors(registry["AbsMath"], "16")[0].dtype is DType.COMPLEX64
    assert registry["Equal"].case("2").outputs == {"y": TensorShape((32, 64, 128), DType.BOOL)}
    assert registry["MseLoss"].case("0").outputs == {"y": TensorShape((), DType.FLOAT16)}
    assert registry["RmsNorm"].case("5").outputs["rstd"] == TensorShape((1, 2, 1), DType.FLOAT32)
    assert registry["SwiGlu"].case("7").outputs == {"y": TensorShape((32, 16, 768), DType.FLOAT32)}
    assert tensors(registry["Muls"], "9")[1] == TensorShape((1,), DType.FLOAT32)
    assert registry["MseLoss"].workspace_bytes > 0


def test_float_outputs_have_limits_no_looser_than_the_source_suite(registry: TaskRegistry) -> None:
    loosest = {
        DType.FLOAT16: (1e-3, 2e-3),
        DType.BFLOAT16: (1e-3, 8e-3),
        DType.FLOAT32: (1e-3, 1e-3),
        DType.FLOAT64: (1e-3, 1e-3),
        DType.COMPLEX64: (1e-3, 1e-3),
    }
    for task in registry.values():
        for dtype, limits in task.tolerance.limits.items():
            atol, rtol = loosest[dtype]
            assert limits.atol <= atol, (task.name, dtype)
            assert limits.rtol <= rtol, (task.name, dtype)
