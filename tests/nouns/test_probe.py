"""A task made up around one kernel: arguments in order, element types of outputs, one case."""

from __future__ import annotations

from npukernelbench.nouns import Core, DType, TensorCase, TensorShape, ValueSpec
from npukernelbench.nouns.probe import probe_task


def test_a_probe_has_the_tensors_it_is_given() -> None:
    inputs = {name: TensorCase(TensorShape((4, 2), DType.INT8), ValueSpec()) for name in ("b", "a")}
    outputs = {"y": TensorShape((3,), DType.FLOAT16)}
    task = probe_task("Trial", inputs, outputs=outputs, core=Core.CUBE, kernel="entry")
    assert task.arguments == ("b", "a", "y", "workspace")
    assert (task.kernel, task.core, task.outputs[0].dtype) == ("entry", Core.CUBE, DType.FLOAT16)
    [case] = task.cases
    assert (case.inputs, case.outputs, dict(case.attributes)) == (inputs, outputs, {})
    assert task.content_hash != probe_task("Other", inputs, outputs=outputs).content_hash
