"""A task made up around one kernel: what calibrations and tests of an executor run without a task file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from npukernelbench.nouns.dtypes import DType
from npukernelbench.nouns.task import Case, CaseInput, Core, InputSpec, OutputSpec, Task, TensorShape, Tolerance

__all__ = ["probe_task"]


def probe_task(
    name: str,
    inputs: Mapping[str, CaseInput],
    *,
    outputs: Mapping[str, TensorShape],
    core: Core = Core.VECTOR,
    kernel: str = "probe",
) -> Task:
    """A task with one case of these tensors. It has no reference, so it can be run but not judged."""
    return Task(
        name=name,
        suite=name.lower(),
        level=1,
        category=name,
        version=1,
        kernel=kernel,
        core=core,
        summary="",
        description="",
        formula="",
        # Every type is admitted: the case alone decides which one is used.
        inputs=tuple(InputSpec(argument, tuple(DType)) for argument in inputs),
        outputs=tuple(OutputSpec(argument, dtype=tensor.dtype) for argument, tensor in outputs.items()),
        attributes=(),
        cases=(Case("case", inputs, outputs, {}),),
        reference="",
        tolerance=Tolerance(),
        tags=frozenset(),
        goldens=(),
        path=Path(name.lower()),
        # The name in place of a digest: there is no file whose content could be hashed.
        content_hash=name.lower(),
        workspace_bytes=4096,
    )
