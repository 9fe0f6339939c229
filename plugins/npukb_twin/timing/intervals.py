"""How far a predicted time may be from a measured one: nine in ten of the measurements that we know lie inside.

The intervals are quantiles of measured over predicted times, by what a kernel spends its time on and how long it takes
(``residuals.yaml``, which ``python -m benchmarks.calibration.silicon.residuals`` writes). The measured kernels are the
vendor's, the predicted ones ours for the same work, so the intervals hold both errors of the model and differences of
the kernels. What no measurement is like gets the widest interval, and says so; so does every kernel on a chip of which
nobody measured anything.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

from pydantic import Field, TypeAdapter

from npukernelbench.packaged import packaged_table
from npukernelbench.strict import Strict

__all__ = ["REGIMES", "SMALL_US", "UNCALIBRATED", "Interval", "Residuals", "interval_of", "regime_of"]

#: Why a time on a chip without measurements has the widest interval.
UNCALIBRATED = "documented and assumed numbers only, no kernel was measured on this chip"
#: Predicted times below this are mostly start and end.
SMALL_US = 15.0
_PARTS = {
    "memory": ("latency", "move", "memory", "l2"),
    "vector": ("issue", "vector", "banks"),
    "scalar": ("scalar", "rest"),
    "order": ("flag", "barrier", "sync"),
}
#: What most of the time goes to; `cube` whenever a cube core works.
REGIMES = (*_PARTS, "cube")


class Interval(NamedTuple):
    """``note`` is empty unless the prediction is outside of what was calibrated."""

    low_us: float
    high_us: float
    note: str


class Residuals(Strict):
    """Quantiles of measured over predicted, from so many rows with predicted times in a range."""

    rows: int = Field(ge=1)
    low: float = Field(gt=0)
    high: float = Field(gt=0)
    shortest_us: float = Field(gt=0)
    longest_us: float = Field(gt=0)


def regime_of(counters: Mapping[str, float], time_us: float) -> str:
    """``memory small``, ``vector large`` and so on: what a profile's counters say of a kernel."""
    size = "small" if time_us < SMALL_US else "large"
    if counters.get("aic_cube_time", 0.0) > 0:
        return f"cube {size}"
    sums = {
        name: sum(counters.get(f"path_{part}_time", 0.0) for part in parts)
        for name, parts in _PARTS.items()
        if name != "scalar" or size == "large"  # of short kernels the start would be most
    }
    return f"{max(sums, key=lambda name: sums[name])} {size}"


def interval_of(
    counters: Mapping[str, float], time_us: float, own: Residuals | None = None, *, calibrated: bool = True
) -> Interval:
    """Where nine in ten measurements of such kernels lie around a predicted time. ``own`` are those of the very machine
    that is predicted, where kernels were measured on it; else those of kernels that spend their time alike. Without
    ``calibrated``, the widest there is, of which nobody knows how many lie inside.
    """
    if own is not None:
        return _around(time_us, own)
    if not calibrated:
        return _widest(time_us, UNCALIBRATED)
    known = _table().get(regime_of(counters, time_us))
    return (
        _widest(time_us, "no measured kernel spends its time like this one")
        if known is None
        else _around(time_us, known)
    )


def _widest(time_us: float, note: str) -> Interval:
    table = _table().values()
    return Interval(time_us * min(entry.low for entry in table), time_us * max(entry.high for entry in table), note)


def _around(time_us: float, known: Residuals) -> Interval:
    note = ""
    if not known.shortest_us / 2 <= time_us <= known.longest_us * 2:
        reach = f"{known.shortest_us:.1f} to {known.longest_us:.0f} µs"
        note = f"measured kernels like this one take {reach}"
    # the predicted time itself always lies inside
    return Interval(time_us * min(known.low, 1.0), time_us * max(known.high, 1.0), note)


@lru_cache(maxsize=1)
def _table() -> Mapping[str, Residuals]:
    return TypeAdapter(dict[str, Residuals]).validate_python(packaged_table("npukb_twin", "timing", "residuals.yaml"))
