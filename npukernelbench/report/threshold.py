"""``--fail_under``: the least that a command must reach to end with exit code 0."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from npukernelbench.errors import UsageError
from npukernelbench.report.results import KS

if TYPE_CHECKING:
    from npukernelbench.nouns import Verdict
    from npukernelbench.nouns.results import Results

__all__ = ["Threshold"]

_MISSED = 1
_OPTION = "--fail_under"


@dataclass(frozen=True, slots=True)
class Threshold:
    """A metric and its least value: a share over valid samples in a run, a metric of the verdict for one file."""

    metric: str
    value: float

    @classmethod
    def parse(cls, text: str | None) -> Threshold | None:
        """``METRIC=VALUE``, or a bare number for the share of correct samples; None for None."""
        if text is None:
            return None
        # From the right: names of metrics may hold `=`, numbers do not.
        metric, equals, value = text.rpartition("=")
        try:
            least = float(value)
            # Nothing reaches NaN or infinity, and everything minus infinity.
            if not math.isfinite(least):
                raise ValueError(value)
        except ValueError:
            raise UsageError(
                f"{text!r} is no threshold", field=_OPTION, remedy="write for instance --fail_under correct@1=0.9"
            ) from None
        return cls(metric.strip() if equals else "correct", least)

    @classmethod
    def for_run(cls, text: str | None, num_samples: int, shard: str | None = None) -> Threshold | None:
        """:meth:`parse`, and UsageError for a metric that a run of that many samples per problem does not have, and
        for a part of a run."""
        threshold = cls.parse(text)
        if threshold is None:
            return None
        if shard is not None:
            raise UsageError(
                f"shard {shard} is part of a run, and a threshold is for the whole",
                field=_OPTION,
                remedy="give it to npukb merge",
            )
        known = ["correct@1", "compile@1", *(f"pass@{k}" for k in KS if k <= num_samples)]
        # A verdict calls these two otherwise, and users may take either name.
        metric = {"correct": "correct@1", "compiled": "compile@1"}.get(threshold.metric, threshold.metric)
        if metric not in known:
            raise UsageError(
                f"this run will have no metric {metric!r}", field=_OPTION, remedy=f"metrics: {', '.join(known)}"
            )
        return cls(metric, threshold.value)

    def value_in_run(self, results: Results) -> float | None:
        """What a run reached over valid samples; None when too few of them were valid to say."""
        row = results.aggregates.all
        family, _, k = self.metric.partition("@")
        single = {"compile": row.compile_at_1, "correct": row.correct_at_1}
        shares = row.pass_at_k.get(k) if family == "pass" else single[family]
        # Over valid samples: a fault of ours must not fail a build.
        return shares.valid.value if shares and shares.valid else None

    def value_in_verdict(self, verdict: Verdict) -> float:
        """What one verdict reached; minus infinity when it ended too early to say. UsageError for unknown metrics."""
        name = {"correct@1": "correct", "compile@1": "compiled"}.get(self.metric, self.metric)
        if name in verdict.metrics:
            return verdict.metrics[name]
        if not verdict.metrics.get("correct", 0.0):
            return float("-inf")  # stopped before the metric was measured
        raise UsageError(
            f"a verdict has no metric {self.metric!r}",
            field=_OPTION,
            remedy=f"metrics: {', '.join(sorted(verdict.metrics))}",
        )

    def exit_code_of_run(self, results: Results) -> int:
        """0 when the run is good enough, else 1."""
        return self.exit_code(self.value_in_run(results))

    def exit_code(self, reached: float | None) -> int:
        """0 when ``reached`` is enough, else 1."""
        # Nothing reached counts as missed: a check that measured nothing must not pass.
        return 0 if reached is not None and reached >= self.value else _MISSED

    def exit_code_of_verdict(self, verdict: Verdict) -> int:
        """0 when the verdict is good enough, else 1."""
        return self.exit_code(self.value_in_verdict(verdict))
