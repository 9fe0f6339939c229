"""Functions that were not written for us become tasks: what is found out about them, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from npukb_suites.fresh import Made, Wish, fresh_task
from npukb_suites.torchside import probing
from npukernelbench.errors import TaskError
from npukernelbench.reference.evaluate import expected_outputs
from npukernelbench.tasks.hidden import hidden_cases
from npukernelbench.tasks.inputs import generate_inputs
from npukernelbench.tasks.load import load_task
from tests.suites.conftest import needs_torch

FUNCTIONS = """
import torch, torch.nn as nn, torch.nn.functional as F

def rope(x, cos):
    a, b = x.chunk(2, dim=-1)
    return torch.cat((-b, a), dim=-1) * cos
def embed(idx, table): return F.embedding(idx, table)
def spread(x): return x.std(-1)
def larger(x, y): return torch.maximum(x, y)
def smaller(x, y): return torch.minimum(x, y)
def largest(x, y): return x.max(-1).values + y.max()
def smallest(x, y): return x.amin(-1) + y.min()
def quotient(x, y): return x // y
def logarithm(x): return torch.log(x)
def scatter(x, i, src): return x.scatter_add(1, i, src)
def update(x, y): return x.add_(y)
def separate(x, y): return x + y
def moments(m, v, g, rate: float = 0.9):
    m.mul_(rate).add_(g, alpha=1 - rate)
    v.mul_(rate).addcmul_(g, g, value=1 - rate)
def root(v, g): return g / v.sqrt()
def scaled(x, factor): return x * factor
def kept(x): return x[x > 0]
def nothing(x): return None
def combined(xs, ys): return torch._foreach_add(xs, ys, alpha=0.5)
def both(xs, eps): return [x.norm(dim=-1) for x in xs], torch.stack([x.sum() for x in xs]) + eps
def grown(xs, ys): torch._foreach_mul_(xs, ys)
def logarithms(xs): return [torch.log(x) for x in xs]
def joined(xs): return torch.cat(xs)
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(16, 8)
    def forward(self, x): return self.layer(x)
"""


def made(name: str, inputs: str, **options: Any) -> Made:
    Path("functions.py").write_text(FUNCTIONS)
    return fresh_task(Wish(name="Own", into=Path("Own"), torch_place=f"functions.py:{name}", inputs=inputs, **options))


def task(name: str, inputs: str, **options: Any) -> dict[str, Any]:
    text = made(name, inputs, **options).files["task.yaml"]
    return dict(yaml.safe_load(text))


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, with_torch: None) -> None:
    monkeypatch.chdir(tmp_path)


@needs_torch
@pytest.mark.parametrize(
    ("name", "inputs", "shape", "least"),
    [
        ("rope", "x:float16[s, d], cos:float16[s, d]", ("x", 1), 2),
        ("embed", "idx:int64[n], table:float16[v, d]", ("table", 0), 8),
        ("spread", "x:float32[n, d]", ("x", 1), 2),
        ("separate", "x:float32[n], y:float32[n]", ("x", 0), 1),
    ],
)
def test_hidden_extents_begin_where_the_function_works(
    name: str, inputs: str, shape: tuple[str, int], least: int
) -> None:
    hidden = task(name, inputs)["hidden"]
    letter = hidden["shapes"][shape[0]][shape[1]]
    assert hidden["axes"][letter][0] == least


@needs_torch
def test_extents_that_depend_on_one_another_are_no_hidden_ones() -> None:
    found = made("scatter", "x:float32[n, d], i:int64[n, k], src:float32[n, k]")
    assert "hidden" not in yaml.safe_load(found.files["task.yaml"])
    assert any("extents depend on one another" in note for note in found.notes)


@needs_torch
@pytest.mark.parametrize(
    ("name", "inputs", "tensor", "values"),
    [
        ("quotient", "x:int32[n], y:int32[n]", "y", {"integers": [1, 8]}),
        ("quotient", "x:int32[n], y:int32[n]", "x", {"integers": [0, 8]}),
        ("embed", "idx:int64[n], table:float16[5, d]", "idx", {"integers": [0, 5]}),
        ("logarithm", "x:float16[n]", "x", {"uniform": [2.0**-6, 1 + 2.0**-6]}),
        ("root", "v:float32[n], g:float32[n]", "v", {"uniform": [2.0**-6, 1 + 2.0**-6]}),
        ("root", "v:float32[n], g:float32[n]", "g", {"normal": [0.0, 1.0]}),
    ],
)
def test_values_are_those_that_the_function_takes(name: str, inputs: str, tensor: str, values: dict[str, Any]) -> None:
    [entry] = [entry for entry in task(name, inputs)["interface"]["inputs"] if entry["name"] == tensor]
    assert entry["values"] == values


@needs_torch
@pytest.mark.parametrize(
    ("name", "category"),
    [("larger", "Elementwise"), ("smaller", "Elementwise"), ("largest", "Reduce"), ("smallest", "Reduce")],
)
def test_the_larger_of_two_tensors_is_no_reduction(name: str, category: str) -> None:
    assert task(name, "x:float32[n, d], y:float32[n, d]")["category"] == category


@needs_torch
def test_what_is_changed_is_an_output_in_place() -> None:
    inputs = "x:float32[n], y:float32[n]"
    changed, separate = task("update", inputs), task("separate", inputs)
    assert changed["interface"]["outputs"] == [
        {"name": "x_out", "dtype": "float32", "alias_of": "x", "shape_like": "x"}
    ]
    assert changed["tolerance"] == separate["tolerance"]
    both = task("moments", "m:float32[n], v:float32[n], g:float32[n]")["interface"]
    assert [output["alias_of"] for output in both["outputs"]] == ["m", "v"]
    assert both["attributes"] == [{"name": "rate", "type": "float"}]


@needs_torch
def test_a_module_has_the_type_of_its_inputs() -> None:
    inputs = task("Net", "x:float16[n, 16]")["interface"]["inputs"]
    assert {entry["name"]: entry["dtypes"] for entry in inputs} == {
        "x": ["float16"],
        "layer_weight": ["float16"],
        "layer_bias": ["float16"],
    }


@needs_torch
def test_lists_of_tensors_are_lists_of_the_task() -> None:
    found = task("combined", "xs:[float16[..]], ys:[float16[..]]")
    assert [entry["presence"] for entry in found["interface"]["inputs"]] == ["dynamic"] * 2
    assert found["interface"]["outputs"] == [
        {"name": "y", "presence": "dynamic", "dtype": "float16", "shape_like": "xs"}
    ]
    assert found["hidden"] == {"axes": {}, "shapes": {"xs": ["..."], "ys": ["..."]}}
    assert found["cases"][-1]["inputs"]["ys"][1] == {"shape": [129], "dtype": "float16"}


@needs_torch
def test_a_list_may_stand_beside_a_tensor() -> None:
    found = task("both", "xs:[float32[n, d]], eps:float32[count]")
    assert found["interface"]["outputs"] == [
        {"name": "y0", "presence": "dynamic", "dtype": "float32"},
        {"name": "y1", "dtype": "float32", "shape_like": "eps"},
    ]
    assert found["hidden"]["outputs"] == {"y0": ["n"]}
    assert found["hidden"]["shapes"] == {"xs": ["n", "d"], "eps": ["count"]}


@needs_torch
def test_a_reference_takes_and_gives_lists() -> None:
    folder = Path("Own")
    folder.mkdir()
    for name, text in made("both", "xs:[float32[n, d]], eps:float32[count]").files.items():
        (folder / name).write_text(str(text))
    own, _ = load_task(folder / "task.yaml")
    for case in (own.usual_case, *hidden_cases(own, "secret", 4)):
        inputs = generate_inputs(own, case, 1)
        answer = expected_outputs(own, case, inputs)
        wide = [np.asarray(x, dtype=np.float64) for x in inputs["xs"]]
        assert len(answer["y0"]) == len(wide)
        for norm, x in zip(answer["y0"], wide, strict=True):
            np.testing.assert_allclose(norm, np.sqrt((x * x).sum(-1)))
        np.testing.assert_allclose(answer["y1"], [x.sum() for x in wide] + inputs["eps"].astype(np.float64))


@needs_torch
def test_a_list_that_is_changed_is_an_output_in_place() -> None:
    [output] = task("grown", "xs:[float32[..]], ys:[float32[..]]")["interface"]["outputs"]
    assert (output["name"], output["alias_of"], output["presence"]) == ("xs_out", "xs", "dynamic")


@needs_torch
def test_values_of_a_lists_tensors_are_those_that_the_function_takes() -> None:
    [entry] = task("logarithms", "xs:[float16[n]]")["interface"]["inputs"]
    assert entry["values"] == {"uniform": [2.0**-6, 1 + 2.0**-6]}


@needs_torch
def test_a_sum_of_a_lists_extents_is_no_hidden_one() -> None:
    found = made("joined", "xs:[float32[n, 8]]")
    assert "hidden" not in yaml.safe_load(found.files["task.yaml"])
    assert any("an extent of its outputs is no extent of its inputs" in note for note in found.notes)


@needs_torch
def test_lists_of_a_file_are_drawn_as_torch_draws_them() -> None:
    head = "import torch\ndef own(xs): return [x + 1 for x in xs]\n"
    Path("own.py").write_text(head + "def get_inputs(): return [[torch.randn(3), torch.randn(4)]]\n")
    found = yaml.safe_load(fresh_task(Wish("Own", Path("Own"), torch_place="own.py:own")).files["task.yaml"])
    assert [tensor["shape"] for tensor in found["cases"][0]["inputs"]["xs"]] == [[3], [4]]
    Path("own.py").write_text(head + "def get_inputs(): return [[torch.linalg.qr(torch.randn(3, 3))[0]]]\n")
    with pytest.raises(TaskError, match="xs is a list of tensors that the file's own code draws"):
        fresh_task(Wish("Own", Path("Own"), torch_place="own.py:own"))


@needs_torch
@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("scaled", r"nothing says what its argument 'factor' is.*--attributes \(factor:float=1.0\)"),
        ("kept", "cannot tell the shapes of its results without values"),
        ("nothing", "it returns nothing and changes none of its arguments"),
    ],
)
def test_what_cannot_be_a_task_says_why(name: str, said: str) -> None:
    with pytest.raises(TaskError, match=said):
        made(name, "x:float16[n]")


def test_extents_are_not_tried_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(probing, "_PATIENCE_S", -1.0)
    with pytest.raises(ValueError, match="trying how its extents may vary takes more than"):
        probing.narrowed({"a": (1, 0)}, {"x": ["a"]}, {"x": torch.zeros(4)}, lambda named: list(named.values()))
