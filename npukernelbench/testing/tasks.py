"""A task small enough to read at a glance: element-wise square root of a handful of numbers."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

from npukernelbench.generate.extract import candidate_of
from npukernelbench.nouns import (
    Candidate,
    Case,
    Core,
    DType,
    InputSpec,
    OutputSpec,
    Task,
    TensorCase,
    TensorShape,
    Tolerance,
    ValueSpec,
)

__all__ = ["candidate", "tiny_case", "tiny_task"]

_POSITIVE = ValueSpec("uniform", {"low": 0.5, "high": 4.0})


def tiny_case(case_id: str = "smoke", *, shape: tuple[int, ...] = (4, 5), dtype: DType = DType.FLOAT32) -> Case:
    """One case of :func:`tiny_task`."""
    tensor = TensorShape(shape, dtype)
    return Case(case_id, {"x": TensorCase(tensor, _POSITIVE)}, {"y": tensor}, {}, frozenset({"smoke"}))


def tiny_task(
    name: str = "TinySqrt", *, cases: tuple[Case, ...] | None = None, policy: str = "pcl", reference: str = "math.sqrt"
) -> Task:
    """A level-1 task ``y = sqrt(x)`` with one smoke case unless ``cases`` says otherwise; it has no golden kernel."""
    return Task(
        name=name,
        suite="testing",
        level=1,
        category="Math",
        version=1,
        kernel=name.lower(),
        core=Core.VECTOR,
        summary="Element-wise square root of a few numbers.",
        description="Compute the square root of every element.",
        formula="y_i = sqrt(x_i)",
        inputs=(InputSpec("x", (DType.FLOAT16, DType.FLOAT32), values=_POSITIVE),),
        outputs=(OutputSpec("y", dtype_like="x", shape_like="x"),),
        attributes=(),
        cases=cases if cases is not None else (tiny_case(),),
        reference=reference,
        tolerance=Tolerance(policy),
        tags=frozenset({"testing"}),
        goldens=(),
        path=Path("tiny") / name,
        content_hash=sha256(f"tiny/{name}".encode()).hexdigest(),
    )


def candidate(source: str = "// fake: ok\n", name: str = "kernel.cpp") -> Candidate:
    """A candidate of one file."""
    return candidate_of({name: source})
