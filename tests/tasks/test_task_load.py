from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from npukernelbench.errors import TaskError
from npukernelbench.nouns import Core, DType, Presence, TensorCase, TensorShape, Track, ValueSpec
from npukernelbench.prompts import interface_skeleton
from npukernelbench.tasks.cache import task_from_json, task_to_json
from npukernelbench.tasks.goldens import read_golden
from npukernelbench.tasks.load import load_task, read_waivers
from npukernelbench.tasks.schema import json_schema

Write = Callable[..., Path]
DYNAMIC = ("{name: x, dtypes: [float16, float32],", "{name: x, presence: dynamic, dtypes: [float16, float32],")


def test_a_task_file_becomes_a_resolved_task(write_task: Write) -> None:
    task, files = load_task(write_task())
    assert (task.name, task.suite, task.level, task.category, task.kernel) == ("Twice", "trial", 1, "Math", "twice")
    assert task.core is Core.VECTOR
    assert task.tags == {"elementwise"}
    assert task.arguments == ("x", "y", "workspace")
    case = task.case("0")
    values = ValueSpec("uniform", {"low": 1.0, "high": 2.0})
    assert case.inputs == {"x": TensorCase(TensorShape((4, 6), DType.FLOAT16), values)}
    assert case.outputs == {"y": TensorShape((4, 6), DType.FLOAT16)}
    assert case.attributes == {"scale": 2.0}
    assert case.profiles == {"full"}
    assert files[0] == task.path


@pytest.mark.parametrize(
    ("old", "new", "field", "line", "words"),
    [
        ("level: 1", "level: one", "level", 3, "integer"),
        ("level: 1", "level: 0", "level", 3, "greater"),
        ("summary: Twice the input.", "sumary: x", "sumary", 8, "no such key"),
        ("version: 1\n", "", "version", 1, "missing"),
        ("kernel: twice", "kernel: 2twice", "kernel", 7, "pattern"),
        ("name: x,", "name: workspace,", "interface.inputs.0.name", 12, "reserved"),
        ("[float16, float32]", "[float16, float31]", "interface.inputs.0.dtypes.1", 12, "input should be"),
        ("uniform: [1.0, 2.0]", "unifrom: [1.0, 2.0]", "interface.inputs.0.values", 12, "no generator 'unifrom'"),
        ("uniform: [1.0, 2.0]", "uniform: [2.0, 1.0]", "interface.inputs.0.values", 12, "low must not exceed"),
        ("uniform: [1.0, 2.0]", "integers: [1.5, 2]", "interface.inputs.0.values", 12, "must be an integer"),
        ("default: 2.0", "default: two", "interface.attributes.0.default", 14, "not of type float"),
        ("type: float", "type: real", "interface.attributes.0.type", 14, "input should be"),
        ("dtype_like: x, ", "", "interface.outputs.0", 16, "exactly one of"),
        ("shape_like: x", "shape_like: z", "interface.outputs.0.shape_like", 16, "no input 'z'"),
        ("name: y,", "name: x,", "interface.outputs.0.name", 16, "taken"),
        ("float16: {atol: 1.0e-3,", "float16: {atol: -1.0,", "tolerance.limits.float16.atol", 20, "greater"),
        ("id: smoke", 'id: "0"', "cases.1.id", 24, "given twice"),
        ("[4, 6]", "[4, -6]", "cases.0.inputs.x.shape.1", 23, "greater"),
        ("[4, 6]", "[4, 6.5]", "cases.0.inputs.x.shape.1", 23, "integer"),
        ("[4, 6], dtype: float16", "[4, 6], dtype: int8", "cases.0.inputs.x.dtype", 23, "int8 is not allowed"),
        ("{x: {shape: [4, 6]", "{z: {shape: [4, 6]", "cases.0.inputs.z", 23, "no 'z' among its inputs"),
        ("inputs: {x: {shape: [4, 6], dtype: float16}}", "inputs: {}", "cases.0.inputs", 23, "'x' is missing"),
        ("{shape: [4, 6], dtype: float16}", "[{shape: [4], dtype: float16}]", "cases.0.inputs.x", 23, "dynamic"),
        (
            "dtype: float16}}}",
            "dtype: float16}}, attributes: {scale: [1]}}",
            "cases.0.attributes.scale",
            23,
            "not of type",
        ),
        (
            "dtype: float16}}}",
            "dtype: float16}}, attributes: {skale: 1}}",
            "cases.0.attributes.skale",
            23,
            "no 'skale'",
        ),
        ("dtype: float16}}}", "dtype: float16}}, outputs: {z: {shape: []}}}", "cases.0.outputs.z", 23, "no 'z'"),
        (
            "dtype: float16}}}",
            "dtype: float16, values: {literal: [1, 2]}}}}",
            "cases.0.inputs.x.values",
            23,
            "2 values for 24 elements",
        ),
        (", shape_like: x", "", "cases.0.outputs", 23, "shape of output 'y' is missing"),
        ("reference: activation.swish", "reference: swish kernel", "reference", 17, "pattern"),
        ("reference:", "goldens: {static: no.cpp}\nreference:", "goldens.static", 17, "no file no.cpp"),
        ("reference:", "goldens: {static: /no.cpp}\nreference:", "goldens.static", 17, "relative"),
    ],
)
def test_every_defect_is_located(write_task: Write, old: str, new: str, field: str, line: int, words: str) -> None:
    path = write_task((old, new))
    with pytest.raises(TaskError, match=words) as caught:
        load_task(path)
    error = caught.value
    assert error.location is not None
    assert (error.location.path, error.location.line, error.field) == (path, line, field)
    assert error.exit_code == 3


def test_all_defects_of_the_shape_are_listed_in_one_go(write_task: Write) -> None:
    path = write_task(("level: 1", "level: one"), ("version: 1", "version: x"))
    with pytest.raises(TaskError) as caught:
        load_task(path)
    text = str(caught.value)
    assert f"{path}:3:1: level:" in text
    assert f"also {path}:5:1: version:" in text


def test_integers_need_a_generator_of_integers(write_task: Write) -> None:
    path = write_task(
        ("[float16, float32]", "[float16, float32, int32]"), ("[4, 6], dtype: float16", "[4, 6], dtype: int32")
    )
    with pytest.raises(TaskError, match="cannot hold; use integers") as caught:
        load_task(path)
    assert caught.value.field == "cases.0.inputs.x.values"


def test_values_for_one_type_replace_the_inputs_values(write_task: Write) -> None:
    path = write_task(("values: {uniform: [1.0, 2.0]}", "values: {normal: []}, values_for: {float16: {constant: 3}}"))
    task = load_task(path).task
    drawn = [case.inputs["x"] for case in task.cases]
    assert [item.values.kind for item in drawn if isinstance(item, TensorCase)] == ["constant", "normal"]


def test_an_output_may_be_zeroed_by_the_caller(write_task: Write) -> None:
    assert not load_task(write_task()).task.outputs[0].zeroed
    task = load_task(write_task(("{name: y, ", "{name: y, zeroed: true, "))).task
    assert task.outputs[0].zeroed
    assert "// y: output, float32 [3, 5] (15 elements, 60 bytes), filled with zeros" in interface_skeleton(
        task, task.cases[1], Track.STATIC
    )


def test_tensor_lists_and_optional_inputs_resolve(write_task: Write) -> None:
    path = write_task(
        DYNAMIC,
        ("  attributes:", "    - {name: bias, presence: optional, dtypes: [float32]}\n  attributes:"),
        ("{name: y, dtype_like: x", "{name: y, presence: dynamic, dtype_like: x"),
        ("{shape: [4, 6], dtype: float16}", "[{shape: [4], dtype: float16}, {shape: [], dtype: float32}]"),
        ("{x: {shape: [3, 5], dtype: float32}}", "{x: [], bias: {shape: [2], dtype: float32}}"),
        (
            "    - {name: y, presence: dynamic",
            "    - {name: n, dtype: int32, shape_like: bias}\n    - {name: y, presence: dynamic",
        ),
    )
    text = path.read_text()
    path.write_text(text.replace("    - {name: n, dtype: int32, shape_like: bias}\n", ""))
    case = load_task(path).task.case("0")
    assert case.inputs["bias"] is None
    assert case.outputs == {"y": (TensorShape((4,), DType.FLOAT16), TensorShape((), DType.FLOAT32))}
    assert load_task(path).task.case("smoke").outputs == {"y": ()}
    path.write_text(text)
    with pytest.raises(TaskError, match="follows the input 'bias', which this case leaves out"):
        load_task(path)


def test_a_case_may_override_the_type_of_an_output(write_task: Write) -> None:
    path = write_task(("dtype: float16}}}", "dtype: float16}}, outputs: {y: {shape: [], dtype: float32}}}"))
    assert load_task(path).task.case("0").outputs == {"y": TensorShape((), DType.FLOAT32)}


def test_goldens_are_found_by_convention_or_by_name(write_task: Write) -> None:
    path = write_task()
    assert load_task(path).task.goldens == ()
    golden = path.parent / "golden" / "static.cpp"
    assert golden in load_task(path).files
    golden.parent.mkdir()
    golden.write_text("// golden")
    [found] = load_task(path).task.goldens
    assert (found.track, found.path) == (Track.STATIC, golden)
    (path.parent / "mine.cpp").write_text("// mine")
    path.write_text(path.read_text() + "goldens: {static: mine.cpp}\n")
    [named] = load_task(path).task.goldens
    assert (named.track, named.path.name) == (Track.STATIC, "mine.cpp")


def test_a_dynamic_golden_is_a_folder(write_task: Write) -> None:
    path = write_task()
    folder = path.parent / "golden" / "dynamic"
    assert folder in load_task(path).files
    for name in ("op_host/flat.cpp", "op_kernel/deep/flat.cpp"):
        (folder / name).parent.mkdir(parents=True)
        (folder / name).write_text(f"// {name}")
    task, files = load_task(path)
    assert [(golden.track, golden.path) for golden in task.goldens] == [(Track.DYNAMIC, folder)]
    assert {folder / "op_host" / "flat.cpp", folder / "op_kernel" / "deep", folder / "op_host"} <= set(files)
    (folder / "op_host" / "more.h").write_text("")
    assert load_task(path).task.content_hash != task.content_hash
    path.write_text(path.read_text() + "goldens: {dynamic: golden}\n")
    with pytest.raises(TaskError, match="there is no folder golden/op_host"):
        load_task(path)


def test_a_dynamic_golden_may_share_the_folders_of_its_category(write_task: Write) -> None:
    path = write_task()
    own, common = path.parent / "mine", path.parent.parent / "common"
    for folder in (own, common):
        (folder / "op_host").mkdir(parents=True)
        (folder / "op_kernel").mkdir()
    (own / "op_kernel" / "mine.cpp").write_text("// mine")
    (common / "op_kernel" / "shared.h").write_text("// shared")
    path.write_text(path.read_text() + "goldens: {dynamic: [mine, ../common]}\n")
    loaded = load_task(path)
    [golden] = loaded.task.goldens
    assert [folder.resolve() for folder in (golden.path, *golden.shared)] == [own, common]
    assert read_golden(golden) == {"op_kernel/shared.h": "// shared", "op_kernel/mine.cpp": "// mine"}
    assert (common / "op_kernel" / "shared.h") in [file.resolve() for file in loaded.files]
    assert task_from_json(task_to_json(loaded.task)) == loaded.task
    (common / "op_kernel" / "shared.h").write_text("// Shared")
    assert load_task(path).task.content_hash != loaded.task.content_hash
    (common / "op_kernel" / "mine.cpp").write_text("// not mine")
    with pytest.raises(TaskError, match="two folders"):
        load_task(path)


def test_a_static_golden_is_one_file(write_task: Write) -> None:
    path = write_task()
    (path.parent / "mine.cpp").write_text("// mine")
    path.write_text(path.read_text() + "goldens: {static: [mine.cpp, mine.cpp]}\n")
    with pytest.raises(TaskError, match="one file"):
        load_task(path)


def test_the_content_hash_covers_definition_and_goldens_but_not_the_place(write_task: Write, tmp_path: Path) -> None:
    original = load_task(write_task()).task.content_hash
    elsewhere = write_task(folder=tmp_path / "elsewhere")
    assert load_task(elsewhere).task.content_hash == original
    elsewhere.write_text("# a comment\n" + elsewhere.read_text())
    assert load_task(elsewhere).task.content_hash == original
    (elsewhere.parent / "golden").mkdir()
    (elsewhere.parent / "golden" / "static.cpp").write_text("// golden")
    with_golden = load_task(elsewhere).task.content_hash
    assert with_golden != original
    (elsewhere.parent / "golden" / "static.cpp").write_text("// Golden")
    assert load_task(elsewhere).task.content_hash not in (original, with_golden)
    changed = write_task(("uniform: [1.0, 2.0]", "uniform: [1.0, 3.0]"))
    assert load_task(changed).task.content_hash != original


def test_waivers_are_read_per_task_and_case(write_task: Write) -> None:
    path = write_task(("dtype: float16}}}", "dtype: float16}}, waivers: {zeros: so be it}}"))
    path.write_text(path.read_text() + "waivers: {ones: because}\n")
    assert read_waivers(path) == {"": {"ones": "because"}, "0": {"zeros": "so be it"}, "smoke": {}}


def test_an_attribute_without_default_must_be_given(write_task: Write) -> None:
    with pytest.raises(TaskError, match="neither a value nor a default"):
        load_task(write_task((", default: 2.0", "")))


def test_lists_and_integers_as_attributes(write_task: Write) -> None:
    path = write_task(
        ("{name: scale, type: float, default: 2.0}", "{name: scale, type: list_float, default: [1, 2.5]}"),
        ("dtype: float16}}}", "dtype: float16}}, attributes: {scale: [3]}}"),
    )
    assert [case.attributes["scale"] for case in load_task(path).task.cases] == [(3.0,), (1.0, 2.5)]


def test_an_unreadable_file_is_a_task_error(tmp_path: Path) -> None:
    with pytest.raises(TaskError, match="cannot read"):
        load_task(tmp_path / "task.yaml")


def test_presence_of_an_output_is_required_or_dynamic(write_task: Write) -> None:
    path = write_task(("{name: y, dtype_like: x", f"{{name: y, presence: {Presence.OPTIONAL.value}, dtype_like: x"))
    with pytest.raises(TaskError, match="required or dynamic"):
        load_task(path)


def test_the_json_schema_knows_includes_and_generators() -> None:
    schema = json_schema()
    text = str(schema)
    assert "include" in schema["properties"]  # type: ignore[operator]
    assert "'bernoulli'" in text
    assert "required" not in schema
    assert "'cases'" in str(schema["then"])


def test_every_field_of_a_task_file_is_described() -> None:
    """The page of reference and editors show what stands below each field of the schema."""
    schema: dict[str, Any] = json_schema()
    models = {"task": schema, **schema["$defs"]}
    silent = [
        f"{name}.{field}"
        for name, model in models.items()
        for field, facts in model.get("properties", {}).items()
        if not facts.get("description") and name not in ("RangeModel",)
    ]
    assert not silent
