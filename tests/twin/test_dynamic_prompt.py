"""What prompts of the dynamic track show as right is right: the worked example runs on the twin."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from npukernelbench.generate.extract import extract_with
from npukernelbench.generate.parsers import auto
from npukernelbench.nouns import Candidate, CompileRequest, Completion, DType, Outcome, RunRequest, Task, Track
from npukernelbench.prompts.style import DEFAULT
from tests.suite import suite
from tests.twin.running import Inputs, Outputs, Twin, task_for


@pytest.fixture(scope="module")
def example() -> Candidate:
    """The example, taken out of a prompt as a parser takes it out of an answer that repeats it."""
    task = suite()["Sqrt"]
    text = DEFAULT.render(task, None, Track.DYNAMIC).messages[1].content
    shown = text[text.index("## Example") : text.index("## Answer")]
    candidate = extract_with(auto, Completion(shown), task, Track.DYNAMIC)
    assert isinstance(candidate, Candidate)
    return candidate


def test_the_example_has_the_three_files_that_are_asked_for(example: Candidate) -> None:
    assert list(example.files) == ["op_host/maximum.cpp", "op_host/maximum_tiling.h", "op_kernel/maximum.cpp"]


@pytest.mark.parametrize("shape", [(100003,), (1,), (0,), (7, 301), (3, 4096, 5), ()])
@pytest.mark.parametrize("dtype", [DType.FLOAT16, DType.FLOAT32])
def test_the_example_is_right_for_every_shape_and_type(
    twin: Twin, example: Candidate, shape: tuple[int, ...], dtype: DType
) -> None:
    rng = np.random.default_rng(5)
    inputs: Inputs = {name: rng.normal(size=shape).astype(dtype.numpy()) for name in ("x", "y")}
    outputs: Outputs = {"z": (shape, dtype)}
    task: Task = replace(task_for(inputs, outputs), kernel="maximum")
    compiled = twin.executor.compile(CompileRequest(task, None, Track.DYNAMIC, example, 60.0, task.cases))
    assert compiled.artifact is not None, [str(diagnostic) for diagnostic in compiled.diagnostics]
    seen = twin.executor.run(RunRequest(task, task.cases[0], compiled.artifact, inputs, 1, 30.0))
    assert seen.outcome is Outcome.OK, [str(diagnostic) for diagnostic in seen.diagnostics]
    assert not seen.diagnostics
    z = seen.outputs["z"]
    assert not isinstance(z, list)
    np.testing.assert_array_equal(z, np.maximum(inputs["x"], inputs["y"]))  # type: ignore[arg-type]
