"""Files with Model and get_inputs become tasks: cases in three sizes, torch's own numbers, refusals with reasons."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pytest

from npukb_suites import torch_client
from npukb_suites.modelfiles import KernelBench, MultiKernelBench, TorchFolder
from npukb_suites.store import Suite, add_suite, suites, tasks_folder
from npukb_suites.torchside.loading import sizes_of
from npukernelbench.errors import TaskError
from npukernelbench.nouns import DType, Task, TensorCase, ValueSpec
from npukernelbench.plugins import Plugins
from npukernelbench.reference import expected_outputs
from npukernelbench.tasks.hidden import hidden_cases
from npukernelbench.tasks.inputs import generate_inputs
from tests.suites.conftest import INVENTED, needs_torch

pytestmark = needs_torch

Find = Callable[[str], Task]


def expected(task: Task, case_id: str = "smoke") -> tuple[dict[str, np.ndarray], Mapping[str, np.ndarray]]:
    case = task.case(case_id)
    inputs = generate_inputs(task, case, 3)
    return inputs, expected_outputs(task, case, inputs)


def test_every_file_is_a_task_or_has_a_reason(imported: Suite) -> None:
    assert len(imported.tasks) == 14
    reasons = {Path(place).stem: reason for place, reason in imported.refused.items()}
    assert reasons.keys() == {"3_Chance", "4_Broken", "5_Nothing"}
    assert "random" in reasons["3_Chance"]
    assert "4_Broken.py:6: AttributeError" in reasons["4_Broken"]
    assert "no Model" in reasons["5_Nothing"]


@pytest.mark.usefixtures("imported")  # Its cache, not the user's.
def test_warnings_of_models_do_not_stand_between_results(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    loud = """import warnings
import torch
warnings.warn("told by the model")
class Model(torch.nn.Module):
    def forward(self, x):
        warnings.warn("told again")
        return x * 2
def get_inputs():
    return [torch.rand(64, 64)]
def get_init_inputs():
    return []
"""
    (tmp_path / "loud.py").write_text(loud)
    torch_client._host.cache_clear()  # A process of its own writes where the test can read it.
    made = add_suite("loud", "torch", TorchFolder(), tmp_path, say=lambda _: None)
    assert len(made.tasks) == 1
    assert "told" not in capfd.readouterr().err


def test_references_are_what_the_files_compute(task_of: Find) -> None:
    inputs, outputs = expected(task_of("level1/2_Leak.py"))
    x = inputs["x"].astype(np.float64)
    np.testing.assert_array_equal(outputs["y"], np.where(x > 0, x, x * 0.02))
    inputs, outputs = expected(task_of("level1/10_Gap.py"))
    gap = inputs["predictions"].astype(np.float64) - inputs["targets"]
    np.testing.assert_allclose(outputs["y"], (gap**2).mean(), rtol=1e-14)
    assert outputs["y"].shape == ()


def test_parameters_are_inputs_and_what_does_not_matter_is_left_out(task_of: Find, imported: Suite) -> None:
    task = task_of("level2/1_Mixed.py")
    names = [entry.name for entry in task.inputs]
    # A bias before a norm over the batch, and running statistics, change nothing.
    assert names == ["x", "linear_weight", "norm_weight", "norm_bias"]
    inputs, outputs = expected(task)
    wide = {name: value.astype(np.float64) for name, value in inputs.items()}
    product = wide["x"] @ wide["linear_weight"].T
    centred = product - product.mean(axis=0)
    norm = centred / np.sqrt((centred**2).mean(axis=0) + 1e-5)
    np.testing.assert_allclose(outputs["y"], norm * wide["norm_weight"] + wide["norm_bias"], atol=1e-9)
    notes = " ".join(imported.notes["level2/1_Mixed.py"])
    assert "dropout is off" in notes
    assert "scaled: batch_size 2097152 to" in notes
    assert "GB" in notes


def test_cases_have_three_sizes_and_the_smallest_has_tails(task_of: Find) -> None:
    task = task_of("level1/1_Rectify.py")
    shapes = {case.id: case.outputs["y"].shape for case in task.cases}
    assert shapes["0"] == (64, 2048)
    assert shapes["smoke"][1] % 8
    assert np.prod(shapes["smoke"]) <= 1 << 13
    large = task_of("level2/1_Mixed.py")
    sizes = [
        sum(entry.tensor.size for entry in case.inputs.values() if isinstance(entry, TensorCase))
        for case in large.cases
    ]
    assert sizes == sorted(sizes, reverse=True)
    assert [case.id for case in large.cases] == ["0", "cpu", "smoke"]


#: Ways to write sizes and values that public suites have: the shape of the file's own case, and the generator.
SPELLED = {
    "1_Rectify": ((64, 2048), ValueSpec("uniform", {"low": -2.0, "high": 2.0})),
    "2_Leak": ((16, 32, 16, 16), ValueSpec("uniform", {"low": -2.0, "high": 2.0})),
    "3_Logistic": ((64, 2048), ValueSpec("uniform", {"low": -2.0, "high": 2.0})),
    "4_Hyperbolic": ((64, 2048), ValueSpec("normal", {"mean": 0.0, "std": 1.0})),
    "5_Shares": ((48, 1024), ValueSpec("uniform", {"low": -2.0, "high": 2.0})),
    "6_SelfGate": ((8, 64, 256), ValueSpec("normal", {"mean": 1.0, "std": 2.0})),
    "7_Soft": ((1 << 17,), ValueSpec("uniform", {"low": -2.0, "high": 2.0})),
    "12_Whole": ((64, 2048), ValueSpec("integers", {"low": -8, "high": 8})),
    "11_Unit": ((64, 2048), ValueSpec("integers", {"low": -4, "high": 5})),
}


@pytest.mark.parametrize("name", SPELLED)
def test_sizes_and_values_are_read_in_every_spelling(task_of: Find, name: str) -> None:
    task = task_of(f"level1/{name}.py")
    [entry] = task.inputs
    given, smoke = task.case("0").inputs[entry.name], task.case("smoke").inputs[entry.name]
    assert isinstance(given, TensorCase)
    assert isinstance(smoke, TensorCase)
    assert (given.tensor.shape, entry.values) == SPELLED[name]
    # Only sizes that were found can be made smaller.
    assert smoke.tensor.size <= 1 << 13


def sizes_in(folder: Path, drawn: str, more: str = "") -> dict[str, int]:
    path = folder / "model.py"
    path.write_text(f"import torch\n{more}\ndef get_inputs():\n    return [{drawn}]\n")
    return sizes_of({"file": str(path)})


def test_a_bound_of_random_integers_is_a_size_only_beside_one(tmp_path: Path) -> None:
    assert list(sizes_in(tmp_path, "torch.randint(-8, 8, (64, 32))").values()) == [64, 32]
    assert list(sizes_in(tmp_path, "torch.randint(16, (64,))").values()) == [64]
    assert list(sizes_in(tmp_path, "torch.randint(8, 16, (64,)), torch.randint(16, (64,))").values()) == [64, 64]
    # A vocabulary: indices have to stay inside of the table.
    assert sorted(sizes_in(tmp_path, "torch.randint(0, 512, (64,))", "rows = 512").values()) == [64, 512, 512]
    found = sizes_in(tmp_path, "torch.randn(512, 32), torch.randint(0, 512, (64,))")
    assert sorted(found.values()) == [32, 64, 512, 512]


def test_parameters_are_drawn_as_the_module_draws_them(task_of: Find) -> None:
    weight = next(entry for entry in task_of("level2/1_Mixed.py").inputs if entry.name == "linear_weight")
    assert weight.values.kind == "uniform"


def test_what_has_no_generator_is_drawn_by_the_file(task_of: Find) -> None:
    task = task_of("level2/2_Symmetric.py")
    inputs, outputs = expected(task)
    x = inputs["x"]
    np.testing.assert_array_equal(x, x.T)
    np.testing.assert_allclose(outputs["y"], x.astype(np.float64) @ x.astype(np.float64), rtol=1e-12)
    again = generate_inputs(task, task.case("smoke"), 3)["x"]
    np.testing.assert_array_equal(again, x)
    assert not np.array_equal(generate_inputs(task, task.case("smoke"), 4)["x"], x)
    assert not task.hidden


def test_hidden_cases_follow_from_the_trace(task_of: Find) -> None:
    task = task_of("level1/5_Shares.py")
    cases = hidden_cases(task, "secret")
    assert len({case.outputs["y"].shape for case in cases}) > 6
    case = min(cases, key=lambda one: one.outputs["y"].size)
    outputs = expected_outputs(task, case, generate_inputs(task, case, 1))
    np.testing.assert_allclose(outputs["y"].sum(axis=1), 1.0, rtol=1e-12)


def test_limits_are_as_strict_as_single_precision_allows(task_of: Find) -> None:
    limits = task_of("level1/3_Logistic.py").tolerance.limits[DType.FLOAT32]
    assert 1e-7 < limits.rtol < 1e-5
    # The mean of 131072 squares is summed by torch itself within this.
    assert task_of("level1/10_Gap.py").tolerance.limits[DType.FLOAT32].rtol < 1e-4


def test_a_changed_model_is_another_task(task_of: Find) -> None:
    task = task_of("level1/6_SelfGate.py")
    model = task.path.parent / "model.py"
    text = model.read_text()
    model.write_text(text.replace("torch.sigmoid", "torch.tanh"))
    try:
        with pytest.raises(TaskError, match="not the file that the task was made of") as raised:
            expected(task)
        assert "model.py" in str(raised.value)
    finally:
        model.write_text(text)


def test_attributes_that_make_other_parameters_are_an_error(task_of: Find) -> None:
    from dataclasses import replace

    task = task_of("level2/1_Mixed.py")
    case = task.case("smoke")
    wrong = replace(case, attributes={**case.attributes, "out": int(case.attributes["out"]) + 1})
    with pytest.raises(TaskError, match=r"linear\.weight"):
        expected_outputs(task, wrong, generate_inputs(task, case, 1))


def test_adding_again_makes_only_what_has_changed(imported: Suite, tmp_path: Path) -> None:
    class Counting(KernelBench):
        made = 0

        def folder(self, suite, entry):
            self.made += 1
            return super().folder(suite, entry)

    root = tmp_path / "level1"
    root.mkdir()
    for name in ("1_Rectify.py", "7_Soft.py"):
        (root / name).write_text((INVENTED / "level1" / name).read_text())
    counting = Counting()

    def add() -> Suite:
        return add_suite("again", "kernelbench", counting, tmp_path, say=lambda _: None)

    add()
    assert (add().tasks, counting.made) == (
        {"level1/1_Rectify.py": "KernelBench_1_1_Rectify", "level1/7_Soft.py": "KernelBench_1_7_Soft"},
        2,
    )
    (root / "7_Soft.py").write_text((root / "7_Soft.py").read_text() + "# another\n")
    (root / "1_Rectify.py").unlink()
    assert list(add().tasks) == ["level1/7_Soft.py"]
    assert counting.made == 3
    assert [path.name for path in tasks_folder("again").iterdir()] == ["KernelBench_1_7_Soft"]


def test_plugins_find_the_tasks(imported: Suite) -> None:
    plugins = Plugins.load(autoload=False)
    import npukb_suites

    plugins.register(npukb_suites, "suites")
    assert "invented" in plugins.tasks
    assert {"kernelbench", "multikernelbench", "torch"} <= set(plugins.importers)
    assert imported in list(suites())


def test_other_layouts_of_such_files(with_torch: None, tmp_path: Path) -> None:
    text = (INVENTED / "level1" / "7_Soft.py").read_text()
    for folder in ("reference/curve", "mine"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "soft.py").write_text(text)
    (tmp_path / "mine" / "other.py").write_text("x = 1\n")
    assert [entry.name for entry in MultiKernelBench().entries(tmp_path)] == ["MultiKernelBench_curve_soft"]
    assert [entry.name for entry in TorchFolder().entries(tmp_path / "mine")] == ["Torch_mine_soft"]
