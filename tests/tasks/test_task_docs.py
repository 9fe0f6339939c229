from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from npukernelbench.nouns import Severity, Track
from npukernelbench.plugins import Plugins
from npukernelbench.prompts import specialise
from npukernelbench.reference import expected_outputs
from npukernelbench.tasks import generate_inputs, load_registry, validate_task
from npukernelbench.tasks.hidden import hidden_cases
from npukernelbench.tasks.hidden_schema import HiddenModel
from npukernelbench.tasks.load import load_task
from npukernelbench.tasks.mutants import CODES
from npukernelbench.tasks.schema import TaskModel
from npukernelbench.tasks.values import VALUE_CLASSES, parse_values
from tests.suite import furnished

TEXT = (Path(__file__).parents[2] / "docs" / "tasks.md").read_text()


def snippet(language: str, marker: str) -> str:
    blocks = re.findall(rf"```{language}\n(.*?)```", TEXT, re.DOTALL)
    [found] = [block for block in blocks if marker in block]
    return str(found)


def test_the_documented_task_can_be_added_as_written(tmp_path: Path) -> None:
    text = snippet("yaml", "ScaledSwish")
    path = tmp_path / text.splitlines()[0].removeprefix("# ")
    path.parent.mkdir(parents=True)
    path.write_text(text)
    plugins = Plugins.load(autoload=False)
    registry = load_registry(plugins, [tmp_path / "my_tasks"], cache_dir=furnished(tmp_path / "cache"))
    task = registry["scaled-swish"]
    assert [case.id for case in registry.select(["ScaledSwish"])[0].cases] == ["0"]
    styles = [registration.load() for registration in plugins.prompts.values()]
    findings = validate_task(task, plugins.checkers, styles)  # type: ignore[arg-type]
    assert [(item.severity, item.code) for item in findings] == [(Severity.NOTE, "no_golden")]
    case = task.case("0")
    inputs = generate_inputs(task, case, 0)
    y = expected_outputs(task, case, inputs)["y"]
    assert isinstance(y, np.ndarray)
    assert y.shape == (64, 1024)
    assert "constexpr float SCALE = 1.25f;" in specialise(task, case, "")
    assert task.goldens == () or task.goldens[0].track is Track.STATIC


def test_the_documented_hidden_section_can_be_drawn(tmp_path: Path) -> None:
    text = snippet("yaml", "forms:")
    path = tmp_path / text.splitlines()[0].removeprefix("# ")
    path.parent.mkdir(parents=True)
    head = """\
name: RowNorm
suite: mine
level: 2
category: Norm
version: 1
kernel: row_norm
summary: Normalisation of rows.
interface:
  inputs:
    - {name: x, dtypes: [float16, float32]}
    - {name: gamma, dtypes: [float16, float32]}
  attributes:
    - {name: epsilon, type: float, default: 1.0e-6}
    - {name: halves, type: bool, default: false}
  outputs:
    - {name: y, dtype_like: x}
    - {name: scale, dtype: float32}
reference: norm.rms_norm
cases:
  - id: smoke
    inputs: {x: {shape: [3, 4], dtype: float32}, gamma: {shape: [4], dtype: float32}}
    outputs: {y: {shape: [3, 4]}, scale: {shape: [3, 1]}}
    profiles: [smoke]
"""
    path.write_text(head + text)
    task = load_task(path).task
    assert [len(form.attributes) for form in task.hidden] == [2, 2]
    assert len(hidden_cases(task, "s")) == 12


def test_every_key_of_a_hidden_section_is_documented() -> None:
    for name in HiddenModel.model_fields:
        assert f"| `{name}` |" in TEXT
    for name in VALUE_CLASSES:
        assert f"`{name}`" in TEXT


def test_every_finding_is_documented() -> None:
    for code in CODES:
        assert f"`{code}`" in TEXT


def test_the_documented_reference_is_the_real_one() -> None:
    from npukernelbench.reference.activation import swish

    namespace: dict[str, object] = {"np": np}
    exec(snippet("python", "def swish"), namespace)
    x = np.linspace(-6.0, 6.0, 101)
    assert np.allclose(namespace["swish"](x, 1.25), swish(x, 1.25), rtol=1e-12)  # type: ignore[operator]


def test_the_documented_plugin_registers_its_suite(tmp_path: Path) -> None:
    (tmp_path / "my_tasks").mkdir()
    module = type("Plugin", (), {})()
    namespace: dict[str, object] = {"__file__": str(tmp_path / "plugin.py")}
    exec(snippet("python", "register_tasks"), namespace)
    module.register_tasks = namespace["register_tasks"]
    plugins = Plugins.load(autoload=False)
    plugins.register(module, "documented")
    assert plugins.tasks["my-suite"].load() == tmp_path / "my_tasks"


def test_every_field_is_documented() -> None:
    for name in TaskModel.model_fields:
        assert f"`{name}`" in TEXT


def test_every_documented_generator_example_parses() -> None:
    examples = re.findall(r"`\{(uniform): (\[[^`]*\])\}`", TEXT)
    assert examples
    for kind, arguments in examples:
        assert parse_values({kind: [float(item) for item in arguments.strip("[]").split(",")]}).kind == kind
