"""From a worker's report to the profile object that the twin's predictions use, too. Not yet run on hardware."""

from __future__ import annotations

import re

from npukb_npu.discovery import Site
from npukb_npu.jobs import Report
from npukernelbench.nouns import Profile, Task

__all__ = ["machine_name", "measured_profile"]


def machine_name(soc: str) -> str:
    """Name under which measurements of a chip are kept: never that of a machine file of the twin."""
    return "npu_" + re.sub(r"\W+", "_", soc.strip().lower() or "unknown")


def measured_profile(report: Report, task: Task, site: Site) -> Profile | None:  # noqa: ARG001  as msprof's
    """Median time with its interval; the noise of the measurement is a counter. None where nothing was timed."""
    timing = report.timing
    if timing is None:
        return None
    noise = float(timing["noise"])
    return Profile(
        time_us=float(timing["median_us"]),
        predicted=False,
        machine=machine_name(report.soc or site.chip),
        blocks=report.blocks,
        counters={"measured_samples": float(timing["samples"]), "measured_noise_ratio": noise},
        low_us=float(timing["low_us"]),
        high_us=float(timing["high_us"]),
        bottleneck=f"A/A noise {noise:.1%} over {int(timing['samples'])} launches",
    )
