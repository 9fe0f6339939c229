"""Trace sets: a definition with its reference and a workload become a task; what cannot be drawn is refused."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from npukb_suites.store import add_suite, tasks_folder
from npukb_suites.traces import TraceSet
from npukernelbench.reference import expected_outputs
from npukernelbench.tasks.inputs import generate_inputs
from npukernelbench.tasks.load import load_task
from tests.suites.conftest import needs_torch

REFERENCE = """
import torch

def run(hidden, weight):
    wide = hidden.to(torch.float32)
    size = (wide * wide).mean(-1, keepdim=True)
    return (wide * torch.rsqrt(size + 1e-6) * weight.float()).to(torch.bfloat16)
"""
FLAT = {
    "name": "flat_h96",
    "op_type": "flat",
    "axes": {"rows": {"type": "var"}, "h": {"type": "const", "value": 96}},
    "inputs": {
        "hidden": {"shape": ["rows", "h"], "dtype": "bfloat16"},
        "weight": {"shape": ["h"], "dtype": "bfloat16"},
    },
    "outputs": {"out": {"shape": ["rows", "h"], "dtype": "bfloat16"}},
    "reference": REFERENCE,
}


def write(root: Path, definition: dict, workloads: list[dict]) -> None:
    for kind in ("definitions", "workloads"):
        (root / kind / "flat").mkdir(parents=True, exist_ok=True)
    (root / "definitions" / "flat" / f"{definition['name']}.json").write_text(json.dumps(definition))
    lines = [json.dumps({"definition": definition["name"], "workload": workload}) for workload in workloads]
    (root / "workloads" / "flat" / f"{definition['name']}.jsonl").write_text("\n".join(lines))


@needs_torch
def test_a_trace_set(with_torch: None, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("NPUKB_CACHE_DIR", str(tmp_path / "cache"))
    stored = {"axes": {"rows": 7}, "inputs": {"hidden": {"type": "safetensors", "path": "x"}}}
    drawn = {"axes": {"rows": 40}, "inputs": {"hidden": {"type": "random"}, "weight": {"type": "random"}}}
    root = tmp_path / "set"
    write(root, FLAT, [stored, drawn])
    write(root, {**FLAT, "name": "kept"}, [stored])
    pages = {**FLAT["inputs"], "pages": {"shape": ["rows"], "dtype": "int32"}}
    write(root, {**FLAT, "name": "paged", "inputs": pages}, [drawn])
    write(root, {**FLAT, "name": "empty", "reference": ""}, [drawn])
    suite = add_suite("traces", "flashinfer-bench", TraceSet(), root, say=lambda _: None)
    assert list(suite.tasks) == ["definitions/flat/flat_h96.json"]
    reasons = {Path(place).stem: reason for place, reason in suite.refused.items()}
    assert "inputs in files" in reasons["kept"]
    assert "pages is int32" in reasons["paged"]
    assert "missing" in reasons["empty"]

    task, _ = load_task(tasks_folder("traces") / suite.tasks["definitions/flat/flat_h96.json"] / "task.yaml")
    assert task.case("0").outputs["y"].shape == (40, 96)
    case = task.case("smoke")
    assert case.outputs["y"].shape == (5, 96)
    inputs = generate_inputs(task, case, 1)
    x, w = (inputs[name].astype(np.float64) for name in ("hidden", "weight"))
    y = expected_outputs(task, case, inputs)["y"]
    np.testing.assert_allclose(y, x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-6) * w, rtol=1e-12)
    assert task.hidden
