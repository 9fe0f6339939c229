"""A task small enough to read at a glance: element-wise square root of a handful of numbers."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

from npukernelbench import nouns
from npukernelbench.generate.extract import candidate_of

__all__ = ["candidate", "tiny_case", "tiny_task"]

_POSITIVE = nouns.ValueSpec("uniform", {"low": 0.5, "high": 4.0})


def tiny_case(
    case_id: str = "smoke", *, shape: tuple[int, ...] = (4, 5), dtype: nouns.DType = nouns.DType.FLOAT32
) -> nouns.Case:
    """One case of :func:`tiny_task`."""
    tensor = nouns.TensorShape(shape, dtype)
    return nouns.Case(case_id, {"x": nouns.TensorCase(tensor, _POSITIVE)}, {"y": tensor}, {}, frozenset({"smoke"}))


def tiny_task(
    name: str = "TinySqrt",
    *,
    cases: tuple[nouns.Case, ...] | None = None,
    policy: str = "pcl",
    reference: str = "math.sqrt",
) -> nouns.Task:
    """A level-1 task ``y = sqrt(x)`` with one smoke case unless ``cases`` says otherwise; it has no golden kernel."""
    return nouns.Task(
        name=name,
        suite="testing",
        level=1,
        category="Math",
        version=1,
        kernel=name.lower(),
        core=nouns.Core.VECTOR,
        summary="Element-wise square root of a few numbers.",
        description="Compute the square root of every element.",
        formula="y_i = sqrt(x_i)",
        inputs=(nouns.InputSpec("x", (nouns.DType.FLOAT16, nouns.DType.FLOAT32), values=_POSITIVE),),
        outputs=(nouns.OutputSpec("y", dtype_like="x", shape_like="x"),),
        attributes=(),
        cases=cases if cases is not None else (tiny_case(),),
        reference=reference,
        tolerance=nouns.Tolerance(policy),
        tags=frozenset({"testing"}),
        goldens=(),
        path=Path("tiny") / name,
        content_hash=sha256(f"tiny/{name}".encode()).hexdigest(),
    )


def candidate(source: str = "// fake: ok\n", name: str = "kernel.cpp") -> nouns.Candidate:
    """A candidate of one file."""
    return candidate_of({name: source})
