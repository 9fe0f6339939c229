"""NPUKernelBench's rules for ``npukb run --rules npukernelbench``: its limits, its values, its weights of levels.

Without ``--checkout`` they are stated in our own words (``limits.yaml``, ``values.yaml``): the prompt is ours, cases
that a task has beside the suite's are left out, and inputs have the suite's distributions, not its numbers.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from npukb_conformance.verified import Verification, load_verification
from npukernelbench.errors import TaskError
from npukernelbench.nouns import DType, Task, Tolerance, ToleranceLimits
from npukernelbench.tasks.select import BENCHMARK, DEFAULT_PROFILE

if TYPE_CHECKING:
    from npukb_conformance.founded import CheckoutRules

__all__ = ["RULES", "SuiteRules"]

_FILE = "limits.yaml"
#: The suite's reference has the type of the output.
_POLICY = "rounded"
_REST, _USUAL = "rest", "usual"


@dataclass(frozen=True)
class SuiteRules:
    """The benchmark's rules as far as we state them."""

    name: str = "npukernelbench"
    source: str = (
        "limits, values and weights in our own words, prompts and input numbers ours: not comparable with the suite's "
        "own results"
    )
    weights: Mapping[int, float] = field(default_factory=lambda: {1: 0.2, 2: 0.3, 3: 0.5})

    def apply(self, task: Task) -> Task | None:
        """The task with the suite's limits and values and those of its cases that the suite has."""
        if task.suite != BENCHMARK:
            return None
        limits = self.limits(task.name)
        drawn = [self._values.drawn(task, case) for case in task.cases if DEFAULT_PROFILE in case.profiles]
        stated = {
            dtype: ToleranceLimits(limit, limit)
            for dtype in DType
            # The same number as of the kind `usual`.
            if not dtype.is_exact and (limit := limits.get(dtype.value, limits.get(_REST, 1e-3)))
        }
        kept = {dtype: limit for dtype, limit in task.tolerance.limits.items() if dtype.is_exact}
        # Part of the task's identity: a result under these limits is not one under ours.
        digest = hashlib.sha256(repr((_POLICY, limits, self._values.digest(task))).encode()).hexdigest()[:16]
        return replace(
            task,
            tolerance=Tolerance(_POLICY, {**stated, **kept}),
            cases=tuple(drawn),
            content_hash=f"{task.content_hash}+{self.name}:{digest}",
        )

    def with_checkout(self, root: Path) -> CheckoutRules:
        """The rules as the checkout at ``root`` has them, which alone are comparable. UsageError when it is none."""
        from npukb_conformance.checkout import Checkout
        from npukb_conformance.founded import CheckoutRules

        # Made for its check alone: a folder that is no checkout is told now.
        Checkout(root)
        return CheckoutRules(root)

    def limits(self, operator: str) -> Mapping[str, float]:
        """The limit by element type, ``rest`` for those that are not named."""
        kinds, operators = self._limits["kinds"], self._limits["operators"]
        limits = operators.get(operator, _USUAL)
        return kinds[limits] if isinstance(limits, str) else limits

    @cached_property
    def _values(self) -> Verification:
        return load_verification()

    @cached_property
    def _limits(self) -> Mapping[str, Mapping[str, Mapping[str, float]]]:
        import yaml

        document: Mapping[str, Mapping[str, Mapping[str, float]]] = yaml.safe_load(
            (files(__package__) / _FILE).read_text(encoding="utf-8")
        )
        kinds, names = document["kinds"], {dtype.value for dtype in DType} | {_REST}
        for operator, limits in document["operators"].items():
            wrong = limits not in kinds if isinstance(limits, str) else not names >= limits.keys()
            if wrong:
                raise TaskError(f"{_FILE}: {operator}: {limits!r} is neither a kind nor limits by element type")
        return document


RULES = SuiteRules()
