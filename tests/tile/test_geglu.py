"""An operator that the repository did not have, written from docs/tile.md alone: GeGLU with a bias."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from npukb_tile.dtypes import numpy_dtype
from npukb_tile.interpret import interpret
from npukb_tile.lowering import lower_dynamic
from npukb_tile.parse import parse_file
from npukernelbench.generate.extract import candidate_of
from npukernelbench.nouns import CompileRequest, DType, InputSpec, Outcome, OutputSpec, RunRequest, Track
from tests.tile.running import drawn, near
from tests.twin.running import Twin, task_for

PATH = Path(__file__).with_name("geglu_bias.tile.py")
TYPES = {"float16": 2e-3, "bfloat16": 2e-2, "float32": 2e-6}


def test_it_is_short() -> None:
    assert len(PATH.read_text(encoding="utf-8").splitlines()) < 40


@pytest.mark.parametrize(("dtype", "limit"), TYPES.items())
@pytest.mark.parametrize(("rows", "d"), [(1, 1), (7, 301), (50, 32), (2, 5000)])
def test_it_is_right_on_the_twin(twin: Twin, dtype: str, limit: float, rows: int, d: int) -> None:
    program = parse_file(PATH)
    rng = np.random.default_rng(rows + d)
    inputs = {"x": drawn(rng, (rows, 2 * d), dtype), "bias": drawn(rng, (2 * d,), dtype)}
    x, bias = (value.astype(np.float64) for value in inputs.values())
    gate = x[:, d:] + bias[d:]
    gelu = 0.5 * gate * (1.0 + np.tanh(np.sqrt(2.0 / np.pi) * (gate + 0.044715 * gate**3)))
    expected = ((x[:, :d] + bias[:d]) * gelu).astype(numpy_dtype(dtype))
    near(expected, interpret(program, inputs, {})["y"], limit)
    near(expected, run_dynamic(twin, lower_dynamic(program).files, inputs, expected.shape, dtype), limit)


def run_dynamic(twin: Twin, files, inputs, shape, dtype):
    kinds = tuple(DType(name) for name in TYPES)
    task = replace(
        task_for(inputs, {"y": (shape, DType(dtype))}, "geglu_bias"),
        name="GegluBias",
        inputs=(InputSpec("x", kinds), InputSpec("bias", kinds)),
        outputs=(OutputSpec("y", dtype_like="x"),),
        content_hash=f"geglu-{dtype}-{shape}",
    )
    request = CompileRequest(task, None, Track.DYNAMIC, candidate_of(dict(files)), 60.0, task.cases)
    compiled = twin.executor.compile(request)
    assert compiled.artifact is not None, [str(diagnostic) for diagnostic in compiled.diagnostics]
    seen = twin.executor.run(RunRequest(task, task.cases[0], compiled.artifact, inputs, 5, 30.0))
    assert seen.outcome is Outcome.OK, [str(diagnostic) for diagnostic in seen.diagnostics]
    assert not seen.diagnostics, [str(diagnostic) for diagnostic in seen.diagnostics]
    return seen.outputs["y"]
