"""The profile stage: times as metrics, each under the name that says whether it was predicted or measured."""

from __future__ import annotations

from collections.abc import Mapping

from npukernelbench.nouns import Profile

__all__ = ["MEASURED_TIME", "PREDICTED_TIME", "TIMES", "profile_metrics"]

PREDICTED_TIME = "predicted_time_us"
MEASURED_TIME = "measured_time_us"
TIMES = (PREDICTED_TIME, MEASURED_TIME)


def profile_metrics(profile: Profile | None) -> Mapping[str, float]:
    """``predicted_time_us`` or ``measured_time_us`` of one launch; nothing when the executor gave no profile."""
    if profile is None:
        return {}
    return {PREDICTED_TIME if profile.predicted else MEASURED_TIME: profile.time_us}
