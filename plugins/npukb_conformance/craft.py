"""AscendCraft's rules (``--rules ascendcraft``): limits, values and rates of MultiKernelBench, in our words.

Its tasks are those of the suite of that name. Case 0 has its shapes, which are meant for a device; case cpu has the
same structure in a size that a CPU can afford.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from npukb_conformance.tensors import with_values
from npukernelbench.nouns import DType, Task, Tolerance, ToleranceLimits, ValueSpec
from npukernelbench.tasks.select import DEFAULT_PROFILE

__all__ = ["CRAFT"]

_LIMIT = ToleranceLimits(1e-4, 1e-4)
_PROFILES = frozenset({DEFAULT_PROFILE, "cpu"})
#: Our generators where the source draws from [0, 1); others (classes, masks, distributions) stay.
_PLAIN = frozenset({"uniform", "normal", "varying_normal", "factors"})
_DRAWN = ValueSpec("uniform", {"low": 0.0, "high": 1.0})


@dataclass(frozen=True)
class CraftRules:
    """Comp@1, Pass@1 and Fast of the 52 operators."""

    name: str = "ascendcraft"
    source: str = (
        "limits and values of MultiKernelBench in our own words, prompts, input numbers and weights of norms ours: "
        "not comparable with the paper's figures"
    )
    weights: Mapping[int, float] = field(default_factory=dict)
    baseline: str = "eager"
    thresholds: tuple[float, ...] = (0.2, 0.8, 1.0)

    def apply(self, task: Task) -> Task | None:
        """The task with the benchmark's limits and values."""
        if task.suite != self.name:
            return None

        def drawn(_: str, dtype: DType, values: ValueSpec) -> ValueSpec:
            return _DRAWN if values.kind in _PLAIN and not dtype.is_exact else values

        cases = tuple(with_values(case, drawn) for case in task.cases if case.profiles & _PROFILES)
        # Limits of 1e-4 say nothing about integers: theirs stay.
        exact = {dtype: limit for dtype, limit in task.tolerance.limits.items() if dtype.is_exact}
        limits = {dtype: _LIMIT for dtype in DType if not dtype.is_exact}
        # Part of the task's identity: results under other limits or values must not be taken for these.
        digest = hashlib.sha256(repr((_LIMIT, _DRAWN, sorted(_PLAIN))).encode()).hexdigest()[:16]
        return replace(
            task,
            tolerance=Tolerance("allclose", {**limits, **exact}),
            cases=cases,
            content_hash=f"{task.content_hash}+{self.name}:{digest}",
        )


CRAFT = CraftRules()
