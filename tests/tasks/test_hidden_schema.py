"""The hidden section of a task file: what it means, and file, line and field of everything wrong in it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from npukernelbench.errors import TaskError
from npukernelbench.nouns import DType, HiddenAxis, HiddenForm, HiddenRange, Task, ValueClass
from npukernelbench.tasks.cache import task_from_json, task_to_json
from npukernelbench.tasks.load import load_task
from npukernelbench.tasks.schema import json_schema

INPUTS = """\
    - {name: x, dtypes: [float16, float32], values: {uniform: [1.0, 2.0]}}
    - {name: b, dtypes: [float16, float32], presence: optional}
    - {name: i, dtypes: [int32], presence: optional, values: {integers: [0, 9]}}
"""
ATTRIBUTES = """\
    - {name: scale, type: float, default: 2.0}
    - {name: dim, type: int, default: 0}
    - {name: axes, type: list_int, default: [0]}
"""


@pytest.fixture
def load(write_task: Callable[..., Path]) -> Callable[[str], Task]:
    """Loads a task with that hidden section."""

    def from_section(section: str) -> Task:
        path = write_task(
            ("    - {name: x, dtypes: [float16, float32], values: {uniform: [1.0, 2.0]}}\n", INPUTS),
            ("    - {name: scale, type: float, default: 2.0}\n", ATTRIBUTES),
        )
        path.write_text(path.read_text() + "hidden:\n" + section)
        return load_task(path).task

    return from_section


def test_forms_have_what_they_leave_out_from_the_section(load: Callable[[str], Task]) -> None:
    task = load(
        """\
  axes: {n: [1, 64], d: {low: 2, high: 32, multiple_of: 2}}
  shapes: {x: [n, d], b: [d]}
  attributes: {scale: {low: 0, high: 1.5}, dim: [0, n - 1]}
  values: {i: {integers: [0, n]}}
  required: [b]
  forms:
    - {attributes: {axes: [[0, d / 2], []]}, dtypes: [{x: float16, b: float32}]}
    - {shapes: {x: [..., d]}, outputs: {y: [..., d]}, value_classes: {x: [nan, {large: 100}]}}
"""
    )
    axes = {"n": HiddenAxis(1, 64), "d": HiddenAxis(2, 32, 2)}
    shared = {"scale": HiddenRange(0.0, 1.5), "dim": (0, "n - 1")}
    assert task.hidden == (
        HiddenForm(
            axes=axes,
            shapes={"x": ("n", "d"), "b": ("d",)},
            attributes={**shared, "axes": ((0, "d / 2"), ())},
            values={"i": {"integers": [0, "n"]}},
            dtypes=({"x": DType.FLOAT16, "b": DType.FLOAT32},),
            required=("b",),
        ),
        HiddenForm(
            axes=axes,
            shapes={"x": ("...", "d"), "b": ("d",)},
            outputs={"y": ("...", "d")},
            attributes=shared,
            values={"i": {"integers": [0, "n"]}},
            value_classes={"x": (ValueClass("nan"), ValueClass("large", 100.0))},
            required=("b",),
        ),
    )
    assert task_from_json(task_to_json(task)) == task


def test_the_section_is_part_of_the_content(load: Callable[[str], Task]) -> None:
    first = load("  {axes: {n: [1, 64]}, shapes: {x: [n]}}\n").content_hash
    assert load("  {axes: {n: [1, 65]}, shapes: {x: [n]}}\n").content_hash != first


@pytest.mark.parametrize(
    ("section", "field", "message"),
    [
        ("axes: {n: [4, 2]}", "hidden.axes.n", "no extent between low and high"),
        ("axes: {n: [0, 2]}", "hidden.axes.n", "both at least 1"),
        ("axes: {n: {low: 5, high: 7, multiple_of: 4}}", "hidden.axes.n", "no extent between"),
        ("axes: {count: [1, 2]}", "hidden.axes.count", "choose another name"),
        ("axes: {n: [1]}", "hidden.axes.n", "at least 2 items"),
        ("axes: {n: [1, 2]}", "hidden", "axes and outputs need shapes"),
        ("shapes: {z: [1]}", "hidden.shapes.z", "no 'z' here"),
        ("shapes: {x: [n]}", "hidden.shapes.x", "there is no axis 'n'"),
        ("{axes: {n: [1, 9]}, shapes: {x: [n / 2]}}", "hidden.shapes.x", "1 / 2 leaves a remainder"),
        ("{axes: {n: [1, 9]}, shapes: {x: [n - 5]}}", "hidden.shapes.x", "'n - 5' may be -4"),
        ("{axes: {n: [1, 9]}, shapes: {x: ['f(n)']}}", "hidden.shapes.x", "is no extent"),
        ("shapes: {x: [..., 2, ...]}", "hidden.shapes.x", "once in a shape"),
        ("shapes: {b: [2]}", "hidden.shapes", "the shape of the input 'x' is missing"),
        ("{shapes: {x: [2]}, dtypes: [{x: int8}]}", "hidden.dtypes.0", "no input 'x' of int8"),
        ("{shapes: {x: [2]}, attributes: {zoom: [1]}}", "hidden.attributes.zoom", "no 'zoom' here"),
        ("{shapes: {x: [2]}, attributes: {scale: [wide]}}", "hidden.attributes.scale", "is not of type float"),
        ("{shapes: {x: [2]}, attributes: {dim: [n]}}", "hidden.attributes.dim", "there is no axis 'n'"),
        ("{shapes: {x: [2]}, attributes: {dim: [1.5]}}", "hidden.attributes.dim", "is not of type int"),
        ("{shapes: {x: [2]}, attributes: {axes: {low: 1, high: 2}}}", "hidden.attributes.axes", "a range is for"),
        ("{shapes: {x: [2]}, attributes: {scale: {low: 3, high: 2}}}", "hidden.attributes.scale", "low up to high"),
        ("{shapes: {x: [2]}, values: {x: {uniform: [n, 2]}}}", "hidden.values.x", "low must be a number"),
        ("{shapes: {x: [2]}, value_classes: {x: [odd]}}", "hidden.value_classes.x", "there is no class 'odd'"),
        ("{shapes: {x: [2]}, value_classes: {x: [{nan: 1.0}]}}", "hidden.value_classes.x", "there is no class 'nan'"),
        ("{shapes: {x: [2]}, value_classes: {i: [nan]}}", "hidden.value_classes.i", "integers and booleans"),
        ("{shapes: {x: [2]}, required: [x]}", "hidden.required", "'x' is no optional input"),
        ("{shapes: {x: [2]}, colour: red}", "hidden.colour", "there is no such key"),
        ("{shapes: {x: [2]}, forms: [{shapes: {x: [m]}}]}", "hidden.forms.0.shapes.x", "there is no axis 'm'"),
    ],
)
def test_what_is_wrong_has_a_place(load: Callable[[str], Task], section: str, field: str, message: str) -> None:
    with pytest.raises(TaskError) as raised:
        load(f"  {section}\n")
    assert raised.value.field == field
    assert message in raised.value.message
    assert raised.value.location is not None
    assert raised.value.location.line > 20


def test_an_output_without_a_shape_is_missing(write_task: Callable[..., Path]) -> None:
    path = write_task(
        ("{name: y, dtype_like: x, shape_like: x}", "{name: y, dtype_like: x}"),
        ("dtype: float16}}}", "dtype: float16}}, outputs: {y: {shape: [4, 6]}}}"),
        ("dtype: float32}}, prof", "dtype: float32}}, outputs: {y: {shape: [3, 5]}}, prof"),
    )
    path.write_text(path.read_text() + "hidden: {shapes: {x: [4]}}\n")
    with pytest.raises(TaskError, match="the shape of the output 'y' is missing"):
        load_task(path)


def test_axes_of_lists_are_not_shared_with_single_tensors(write_task: Callable[..., Path]) -> None:
    path = write_task(
        (
            "    - {name: x, dtypes: [float16, float32], values: {uniform: [1.0, 2.0]}}\n",
            "    - {name: x, dtypes: [float16, float32], presence: dynamic}\n    - {name: s, dtypes: [float32]}\n",
        ),
        ("{name: y, dtype_like: x, shape_like: x}", "{name: y, dtype_like: x, shape_like: x, presence: dynamic}"),
        (
            "{x: {shape: [4, 6], dtype: float16}}",
            "{x: [{shape: [4, 6], dtype: float16}], s: {shape: [1], dtype: float32}}",
        ),
        (
            "{x: {shape: [3, 5], dtype: float32}}",
            "{x: [{shape: [3, 5], dtype: float32}], s: {shape: [1], dtype: float32}}",
        ),
    )
    text = path.read_text()
    path.write_text(text + "hidden: {axes: {n: [1, 4]}, shapes: {x: [n], s: [n]}}\n")
    with pytest.raises(TaskError, match="'n' differs from tensor to tensor of a list"):
        load_task(path)
    path.write_text(text + "hidden: {axes: {n: [1, 4]}, shapes: {x: [n], s: [count]}}\n")
    assert load_task(path).task.hidden[0].shapes == {"x": ("n",), "s": ("count",)}


def test_the_json_schema_knows_the_section() -> None:
    schema = json_schema()
    definitions = schema["$defs"]
    assert isinstance(definitions, dict)
    assert set(definitions["HiddenModel"]["properties"]) >= {"axes", "shapes", "forms"}
