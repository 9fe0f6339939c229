"""CANN Bench's layout, on operators of our own: what becomes a task, what is left out, what is refused."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from npukb_suites.benchcases import BenchCase, read_cases
from npukb_suites.cannbench import CannBench
from npukb_suites.store import Suite, add_suite, tasks_folder
from npukernelbench.errors import TaskError, UsageError
from npukernelbench.nouns import DType, Presence, Task
from npukernelbench.reference import expected_outputs
from npukernelbench.tasks.importing import Entry
from npukernelbench.tasks.inputs import generate_inputs
from npukernelbench.tasks.load import load_task
from tests.suites.conftest import needs_torch

PROTO = """
operator:
  name: TiltedSum
  category: Elementwise
  difficulty: L1
  formula: y = tilt * x + bias
  description: A sum with a factor.
  shape_support: any
  attrs:
  - {name: tilt, type: float, default: 2.0, required: false}
  - {name: axes, type: 'int[]', required: true}
  - {name: exact, type: bool, default: "false"}
  inputs:
  - {name: x, description: first, dtype: [float16, float32]}
  - {name: bias, description: second, dtype: [float16, float32]}
  outputs:
  - {name: y, description: the sum, dtype: [float16, float32]}
  schema: tilted_sum(Tensor x, Tensor bias, float tilt=2.0, int[] axes, bool exact) -> Tensor y
"""
GOLDEN = """
import torch

def tilted_sum(x, bias=None, tilt=2.0, axes=(0,), exact=False):
    y = x.float() * tilt
    if bias is not None:
        y = y + bias.float()
    return y.sum(dim=list(axes)).to(x.dtype)
"""
CASES = """
cases:
- operator: TiltedSum
  case_id: 1
  input_shape: [[6, 40], [6, 40]]
  dtype: [float16]
  attrs: {tilt: 3, axes: [1], exact: "true"}
  value_range: [[-1, 1], [0, 0]]
  baseline_perf_us: 1.0
- {case_id: 2, input_shape: [[3, 9], null], dtype: [float32, null], attrs: {axes: [0, 1], bias: null},
   value_range: [[.nan, .nan], [0, 0]]}
- {case_id: 3, input_shape: [[4, 4], [4, 4]], dtype: [float8_e5m2], attrs: {axes: [0]}, value_range: [-1, 1]}
- {case_id: 4, input_shape: [[4, 4], [3, 3]], dtype: [float32], attrs: {axes: [0]}, value_range: [-1, 1]}
- {case_id: 5, input_shape: [[4, 4]], dtype: [float32], attrs: {axes: [0], slope: 1}, value_range: [-1, 1]}
- {case_id: 6, input_shape: [[800000, 4000]], dtype: [float32], attrs: {axes: [0]}, value_range: [-1, 1]}
"""
LIST_PROTO = """
operator:
  name: HalveAll
  inputs:
  - {name: tensors, dtype: [float32]}
  - {name: factor, dtype: [int32]}
  outputs:
  - {name: halves, dtype: [float32]}
  schema: halve_all(Tensor[] tensors, Tensor factor) -> Tensor[] halves
"""
LIST_GOLDEN = """
def halve_all(tensors, factor):
    return [t.double() * 0.5 for t in tensors]

def halve_all_oracle(tensors, factor):
    return [t / factor for t in tensors]
"""
#: As a table: JSON in some cells, Python in others.
LIST_CASES = """operator,case_id,input_shape,dtype,attrs,value_range,note
HalveAll,1,"[[[4, 8], [3]], [1]]","['float32', 'int32']",{},"[[-inf, inf], [2, 2]]",n
"""
#: In other words: types of attributes, names of element types, what belongs to an input by its name.
WORDED_PROTO = """
operator:
  name: WordedSum
  attrs:
  - {name: axes, type: 'List[int]', required: true}
  - {name: scale, type: 'double?', default: 1}
  - {name: mode, type: string, default: plain}
  inputs:
  - {name: mask, dtype: bool}
  - {name: tensors, dtype: [FP16, torch.float32]}
  outputs:
  - {name: y, dtype: [float32]}
  schema: worded_sum(Tensor? mask, Tensor[] tensors, int[] axes, float scale, str mode) -> Tensor y
"""
WORDED_GOLDEN = """
def worded_sum(mask, tensors, axes, scale=1.0, mode="plain"):
    total = sum(t.float() for t in tensors) * scale
    return (total if mask is None else total * mask).sum(dim=list(axes))
"""
WORDED_CASES = """
cases:
- case_id: 1
  input_shape: {mask: [2, 3], tensors: [[2, 3], [2, 3]]}
  dtype: {mask: bool, tensors: [half, DT_FLOAT]}
  value_range: {mask: null, tensors: [[1, 1], [2, 2]]}
  attrs: {axes: [0]}
- case_id: 2
  input_shape: {tensors: [[4, 4]]}
  dtype: {tensors: bf16}
  value_range: {tensors: [0, 1]}
  attrs: {axes: [1]}
- {case_id: 3, input_shape: {other: [4]}, dtype: float16, value_range: [0, 1]}
- {case_id: 4, input_shape: [[4, 4]], dtype: bool}
"""
COUNT_PROTO = """
operator:
  name: CountTo
  attrs:
  - {name: end, type: int64}
  inputs: []
  outputs:
  - {name: y, dtype: [int32]}
  schema: count_to(int end) -> Tensor y
"""
COUNT_GOLDEN = """
import torch

def count_to(end):
    return torch.arange(end, dtype=torch.int32)
"""
COUNT_CASES = """operator,case_id,input_shape,dtype,attrs,value_range
CountTo,1,[],[],{'end': 9},[]
"""


def write(root: Path, place: str, proto: str, golden: str, cases: str = "", table: str = "") -> None:
    folder = root / "tasks" / place
    folder.mkdir(parents=True)
    for name, text in (("proto.yaml", proto), ("golden.py", golden), ("cases.yaml", cases), ("cases.csv", table)):
        if text:
            (folder / name).write_text(text)


@pytest.fixture(scope="module")
def bench(with_torch: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Suite]:
    root = tmp_path_factory.mktemp("bench")
    write(root, "level1/tilted_sum", PROTO, GOLDEN, CASES)
    write(root, "level2/halve_all", LIST_PROTO, LIST_GOLDEN, table=LIST_CASES)
    write(root, "level2/worded_sum", WORDED_PROTO, WORDED_GOLDEN, WORDED_CASES)
    write(root, "level2/count_to", COUNT_PROTO, COUNT_GOLDEN, table=COUNT_CASES)
    unlike = PROTO.replace("the sum, dtype", "the sum, compare: false, dtype")
    write(root, "level2/not_compared", unlike, GOLDEN, CASES)
    write(root, "level3/no_golden", PROTO, "", CASES)
    write(root, "level3/other_name", PROTO, GOLDEN.replace("def tilted_sum", "def other"), CASES)
    write(root, "level3/no_cases", PROTO, GOLDEN)
    write(root, "level3/no_mapping", "operator: [1]", GOLDEN, CASES)
    write(root, "level4/by_value", PROTO, GOLDEN.replace("y.sum(", "y[y > 0].sum("), CASES)
    write(root, "level4/counts", PROTO, GOLDEN.replace("return y.sum(dim=list(axes))", "return y[y > 0]"), CASES)
    write(root, "level4/odd_type", PROTO.replace("'int[]'", "tensor"), GOLDEN, CASES)
    patch = pytest.MonkeyPatch()
    patch.setenv("NPUKB_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
    yield add_suite("cann-bench", "cann-bench", CannBench(), root, say=lambda _: None)
    patch.undo()


def task_of(suite: Suite, place: str) -> Task:
    folder = tasks_folder(suite.name) / suite.tasks[f"tasks/{place}/proto.yaml"]
    return load_task(folder / "task.yaml").task


@needs_torch
def test_an_operator_becomes_a_task_with_its_cases(bench: Suite) -> None:
    """Names, levels, optional inputs, types, ranges, attributes; what cannot be a case is a note."""
    task = task_of(bench, "level1/tilted_sum")
    assert (task.name, task.level, task.core.value) == ("CannBench_1_tilted_sum", 1, "vector")
    assert [case.id for case in task.cases] == ["1", "2"]
    assert task.inputs[1].presence is Presence.OPTIONAL
    first, second = task.cases
    assert dict(first.attributes) == {"tilt": 3.0, "axes": (1,), "exact": True}
    assert dict(second.attributes) == {"tilt": 2.0, "axes": (0, 1), "exact": False}
    assert (second.inputs["bias"], first.outputs["y"].shape, second.outputs["y"].dtype) == (None, (6,), DType.FLOAT32)
    assert ("smoke" in first.profiles, "smoke" in second.profiles) == (False, True)
    notes = " | ".join(bench.notes["tasks/level1/tilted_sum/proto.yaml"])
    for words in (
        "case 3 is left out: x is float8_e5m2",
        "case 4 is left out: RuntimeError",
        "case 5 is left out: the attribute slope is not in proto.yaml",
        "case 6 is left out: inputs and a reference in double precision need",
        "no hidden cases",
    ):
        assert words in notes, words


@needs_torch
def test_the_suites_golden_function_is_the_reference(bench: Suite) -> None:
    """In double precision, with inputs that are left out, and with lists; the exact form where there is one."""
    task = task_of(bench, "level1/tilted_sum")
    for case in task.cases:
        inputs = generate_inputs(task, case, 3)
        x = inputs["x"].astype(np.float64) * case.attributes["tilt"]
        bias = inputs["bias"]
        wanted = (x if bias is None else x + bias.astype(np.float64)).sum(axis=case.attributes["axes"])
        np.testing.assert_allclose(expected_outputs(task, case, inputs)["y"], wanted, rtol=1e-12)
        assert np.isnan(x).any() == (case.id == "2")
    task = task_of(bench, "level2/halve_all")
    [case] = task.cases
    inputs = generate_inputs(task, case, 3)
    assert [array.shape for array in inputs["tensors"]] == [(4, 8), (3,)]
    assert np.isinf(inputs["tensors"][0]).any()
    assert inputs["factor"].tolist() == [2]
    for given, found in zip(inputs["tensors"], expected_outputs(task, case, inputs)["halves"], strict=True):
        np.testing.assert_array_equal(found, given.astype(np.float64) / 2)


@needs_torch
def test_other_words_for_the_same_are_understood(bench: Suite) -> None:
    """Types by other names, lists with a type and a range for each tensor, inputs by name, operators without any."""
    task = task_of(bench, "level2/worded_sum")
    assert [attribute.type for attribute in task.attributes] == ["list_int", "float", "str"]
    assert [case.id for case in task.cases] == ["1", "2"]
    inputs = generate_inputs(task, task.cases[0], 3)
    assert [(array.dtype.name, array.max()) for array in inputs["tensors"]] == [("float16", 1), ("float32", 2)]
    np.testing.assert_array_equal(
        expected_outputs(task, task.cases[0], inputs)["y"], 3.0 * inputs["mask"].astype(np.float64).sum(axis=0)
    )
    inputs = generate_inputs(task, task.cases[1], 3)
    assert (inputs["mask"], inputs["tensors"][0].dtype.name) == (None, "bfloat16")
    notes = " | ".join(bench.notes["tasks/level2/worded_sum/proto.yaml"])
    assert "case 3 is left out: the operator has no input other" in notes, notes
    assert "case 4 is left out: it has no value_range" in notes, notes
    task = task_of(bench, "level2/count_to")
    assert expected_outputs(task, task.cases[0], {})["y"].tolist() == list(range(9))


@needs_torch
def test_what_cannot_be_a_task_says_why(bench: Suite) -> None:
    reasons = {Path(place).parent.name: reason for place, reason in bench.refused.items()}
    for name, words in {
        "not_compared": "the output y is not compared by its values (compare)",
        "no_golden": "there is no golden.py beside it",
        "other_name": "it defines no function tilted_sum, which the schema names",
        "no_cases": "there is no cases.yaml or cases.csv beside it",
        "no_mapping": "there is no operator with a name",
        "counts": "shapes of its outputs depend on values",
        "odd_type": "the attribute axes is of type tensor",
    }.items():
        assert words in reasons[name], (name, reasons)
    assert "by_value" in reasons
    assert len(bench.tasks) + len(reasons) == 12


def cases_of(folder: Path, *rows: str) -> list[BenchCase]:
    (folder / "cases.csv").write_text("\n".join(["input_shape,dtype,attrs,value_range", *rows]) + "\n")
    attributes = {"mode": ("mode", "str"), "low": ("low", "float")}
    return read_cases(folder / "proto.yaml", ["x"], attributes, lambda name, why: pytest.fail(f"{name}: {why}"))


def test_words_for_numbers_are_told_from_words_that_hold_them(tmp_path: Path) -> None:
    row = """[[4]],['float32'],"{'mode': 'inference nan \\' null', 'low': -inf}","[-inf, inf]\""""
    [case] = cases_of(tmp_path, row)
    assert case.attributes == {"mode": "inference nan ' null", "low": float("-inf")}
    assert case.inputs["x"]["values"] == {"with_infinities": {"count": 64}}


@pytest.mark.parametrize("row", ["[[4]],['float32']", "[[4]],inference,{},[]", "[[4]],[],{{}: 1},[]", "[" * 5000])
def test_a_cell_that_is_no_literal_is_named_by_its_line(tmp_path: Path, row: str) -> None:
    with pytest.raises(TaskError, match="a cell is no literal") as caught:
        cases_of(tmp_path, row)
    assert str(caught.value.location) == f"{tmp_path / 'cases.csv'}:2"


def test_an_empty_cell_of_attributes_says_that_there_are_none(tmp_path: Path) -> None:
    cases = cases_of(tmp_path, "[[4]],['float32'],,\"[0, 1]\"", '[[4]],[\'float32\']," ","[0, 1]"')
    assert [case.attributes for case in cases] == [{}, {}]


def test_rows_over_several_lines_are_counted_by_the_file_s(tmp_path: Path) -> None:
    with pytest.raises(TaskError, match="a cell is no literal") as caught:
        cases_of(tmp_path, "[[4]],['float32'],{},\"[0,\n1]\"", "", "[[4]],['float32'],{},none")
    assert str(caught.value.location) == f"{tmp_path / 'cases.csv'}:5"


def test_a_number_that_no_attribute_can_hold_leaves_its_case_out(tmp_path: Path) -> None:
    row = "[[4]],['float32'],{'k': inf},\"[0, 1]\""
    (tmp_path / "cases.csv").write_text(f"input_shape,dtype,attrs,value_range\n{row}\n")
    told: list[str] = []
    assert not read_cases(tmp_path / "proto.yaml", ["x"], {"k": ("k", "int")}, lambda _, why: told.append(why))
    assert "infinity" in told[0]


@pytest.mark.parametrize(
    ("given", "kind"), [("'[1, 1]'", "list_int"), ("'None'", "float"), ("[1]", "int"), (".inf", "int")]
)
def test_a_default_of_another_type_refuses_its_operator_alone(tmp_path: Path, given: str, kind: str) -> None:
    spec = f"{{name: tilt, type: {kind}, default: {given}, required: false}}"
    proto = PROTO.replace("{name: tilt, type: float, default: 2.0, required: false}", spec)
    write(tmp_path, "level1/tilted_sum", proto, GOLDEN, CASES.replace("tilt: 3, ", ""))
    place = tmp_path / "tasks/level1/tilted_sum/proto.yaml"
    with pytest.raises(TaskError, match=f"the default of the attribute tilt is .*, which is no {kind}"):
        CannBench().folder("cann-bench", Entry("Sum", place, ""))


def test_a_folder_that_is_no_checkout_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"there is no proto\.yaml"):
        list(CannBench().entries(tmp_path))
