"""Metrics: numbers of one sample, each a function of its verdict, registered by name through ``register_metrics``.

What the judge records of single cases (errors, times, bounds and baselines, see docs/metrics.md) is in the verdict; a
metric makes one number of it. Those of the harness come first, so that a plugin's can read them in
``verdict.metrics``.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple, Protocol

from npukernelbench.errors import PluginError
from npukernelbench.judge.beaten import beaten
from npukernelbench.judge.profile import MEASURED_TIME, PREDICTED_TIME
from npukernelbench.judge.speed import BOUND_US, EAGER_US, GOLDEN_US, START_US, anchored
from npukernelbench.nouns import Outcome, Stage, Verdict

if TYPE_CHECKING:
    from npukernelbench.plugins.registry import Registry

__all__ = ["BUILT_IN", "Metric", "Named", "load_metrics", "measured"]

_log = logging.getLogger(__name__)

#: Counter of a profile: what starting a kernel takes, in us.
_START = "launch_time"


class Metric(Protocol):
    """A number per sample."""

    def __call__(self, verdict: Verdict, /) -> float | None:
        """The number; None where it has no meaning for this verdict."""
        ...


class Named(NamedTuple):
    """A metric and the name that it is stored under."""

    name: str
    metric: Metric


def load_metrics(registry: Registry | None) -> tuple[Named, ...]:
    """What is registered, or the harness's own without a registry. PluginError for what is no function."""
    if registry is None:
        return tuple(Named(name, metric) for name, metric in BUILT_IN.items())
    loaded: list[Named] = []
    for name, registration in registry.items():
        target = registration.load()
        if not callable(target):
            raise PluginError(
                f"the metric {name!r} of {registration.origin} is no function but {type(target).__name__}"
            )
        loaded.append(Named(name, target))
    return tuple(loaded)


def measured(verdict: Verdict, metrics: Sequence[Named]) -> Verdict:
    """The verdict with its metrics. Boundary: a metric that raises is left out and logged."""
    # Two rounds: plugins' metrics may read the harness's own, and never replace one.
    own = replace(verdict, metrics=_values(verdict, [named for named in metrics if named.name in BUILT_IN]))
    added = _values(own, [named for named in metrics if named.name not in BUILT_IN])
    return replace(own, metrics={**own.metrics, **added}) if added else own


def _values(verdict: Verdict, metrics: Sequence[Named]) -> dict[str, float]:
    values: dict[str, float] = {}
    for name, metric in metrics:
        try:
            value = metric(verdict)
        except Exception:  # noqa: BLE001 - boundary: a plugin's metric is no candidate's fault
            _log.exception("the metric '%s' failed and is left out", name)
            continue
        if value is not None:
            # A plugin may return another kind of number, such as NumPy's float32, which `json` refuses.
            values[name] = float(value)
    return values


def compiled(verdict: Verdict) -> float:
    """1 if there is an artifact."""
    return float(verdict.stage.order > Stage.COMPILE.order)


def correct(verdict: Verdict) -> float:
    """1 if every case is right."""
    return float(verdict.outcome is Outcome.OK)


def cases_passed(verdict: Verdict) -> float | None:
    """How many cases of a compiled sample are right."""
    return float(sum(case.outcome is Outcome.OK for case in verdict.cases)) if compiled(verdict) else None


def cases_total(verdict: Verdict) -> float | None:
    """How many cases a compiled sample was judged on."""
    return float(len(verdict.cases)) if compiled(verdict) else None


def _worst(name: str, worst: Callable[[Sequence[float]], float]) -> Metric:
    """A number of the numeric policies: its worst value over the cases that have it."""

    def metric(verdict: Verdict, /) -> float | None:
        values = [case.metrics[name] for case in verdict.cases if name in case.metrics]
        return worst(values) if values else None

    return metric


def _total(name: str) -> Metric:
    """A time summed over cases; None unless every case is right and has it."""

    def metric(verdict: Verdict, /) -> float | None:
        values = [case.metrics[name] for case in verdict.cases if name in case.metrics]
        everywhere = len(values) == len(verdict.cases) > 0 and verdict.outcome is Outcome.OK
        return sum(values) if everywhere else None

    return metric


pcl_pass, cann_pass = _worst("pcl_pass", min), _worst("cann_pass", min)
max_abs_error, max_rel_error = _worst("max_abs_error", max), _worst("max_rel_error", max)
mean_rel_error, max_ulp = _worst("mean_rel_error", max), _worst("max_ulp", max)
mismatch_fraction = _worst("mismatch_fraction", max)
predicted_time_us, measured_time_us = _total(PREDICTED_TIME), _total(MEASURED_TIME)
bound_us, start_us = _total(BOUND_US), _total(START_US)
_golden_us, _eager_us = _total(GOLDEN_US), _total(EAGER_US)


def roofline(verdict: Verdict) -> float | None:
    """The least time of the task on this machine, divided by the time taken."""
    return _times_as_fast(bound_us, verdict)


def impossible(verdict: Verdict) -> float | None:
    """1 when the time of a case is below what the machine needs; None otherwise."""
    return 1.0 if verdict.outcome is Outcome.OK and beaten(verdict.cases) else None


def speedup_golden(verdict: Verdict) -> float | None:
    """How many times as fast as our own kernel."""
    return _times_as_fast(_golden_us, verdict)


def speedup_eager(verdict: Verdict) -> float | None:
    """How many times as fast as torch_npu's own operators."""
    return _times_as_fast(_eager_us, verdict)


def speedup_start(verdict: Verdict) -> float | None:
    """How many times as fast as the kernel that the task begins with."""
    return _times_as_fast(start_us, verdict)


def roofline_net(verdict: Verdict) -> float | None:
    """The same without what starting a kernel takes, which no kernel can change and which is most of a small case."""
    return _times_as_fast(bound_us, verdict, net=True)


def speedup_net(verdict: Verdict) -> float | None:
    """How many times as fast as our own kernel, without what starting a kernel takes."""
    return _times_as_fast(_golden_us, verdict, net=True)


def hap(verdict: Verdict) -> float | None:
    """Hardware-anchored performance, where a bound and a golden time are known."""
    time_us, golden_us, least_us = _credited_us(verdict), _golden_us(verdict), bound_us(verdict)
    if time_us is None or golden_us is None or least_us is None:
        return None
    return anchored(time_us, golden_us, least_us)


def _times_as_fast(baseline: Metric, verdict: Verdict, *, net: bool = False) -> float | None:
    time_us, baseline_us = _credited_us(verdict), baseline(verdict)
    if time_us is None or baseline_us is None:
        return None
    if not net:
        return baseline_us / time_us
    start_us = _start_us(verdict)
    # Nothing is left to compare, or less than nothing.
    if start_us is None or start_us >= time_us:
        return None
    # A bound holds no start; our own kernel's time does.
    least_us = baseline_us if baseline is bound_us else max(baseline_us - start_us, 0.0)
    return least_us / (time_us - start_us)


def _start_us(verdict: Verdict) -> float | None:
    """What starting the kernel took, over all cases; None where a profile does not say."""
    times = [case.profile.counters.get(_START) for case in verdict.cases if case.profile is not None]
    known = [time for time in times if time is not None]
    return sum(known) if known and len(known) == len(verdict.cases) else None


def _credited_us(verdict: Verdict) -> float | None:
    """The time of a right sample, whichever kind it is; None for 0, which nothing can be compared with, and for one
    that no machine can reach: it says something about the time model, not about the kernel.
    """
    time_us = predicted_time_us(verdict) or measured_time_us(verdict)
    return None if not time_us or impossible(verdict) else time_us


#: The harness's own metrics by name, in the order of docs/metrics.md.
BUILT_IN: Mapping[str, Metric] = MappingProxyType(
    {
        "compiled": compiled,
        "correct": correct,
        "cases_passed": cases_passed,
        "cases_total": cases_total,
        "pcl_pass": pcl_pass,
        "cann_pass": cann_pass,
        "max_abs_error": max_abs_error,
        "max_rel_error": max_rel_error,
        "mean_rel_error": mean_rel_error,
        "mismatch_fraction": mismatch_fraction,
        "max_ulp": max_ulp,
        "predicted_time_us": predicted_time_us,
        "measured_time_us": measured_time_us,
        "bound_us": bound_us,
        "roofline": roofline,
        "impossible": impossible,
        "roofline_net": roofline_net,
        "speedup_golden": speedup_golden,
        "speedup_net": speedup_net,
        "speedup_eager": speedup_eager,
        "start_us": start_us,
        "speedup_start": speedup_start,
        "hap": hap,
    }
)
