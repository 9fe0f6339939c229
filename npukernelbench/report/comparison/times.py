"""Two profiles, or two runs, side by side: what was predicted beside what was measured, or one machine beside another.

Only the same kernel is compared with itself: in runs, cases are paired by task, track, answer and case. Which side is
predicted is said in every header.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import geometric_mean
from typing import TypeAlias

from npukernelbench.errors import UsageError
from npukernelbench.nouns import Outcome, Profile
from npukernelbench.nouns.decode import profile_from_json
from npukernelbench.report.table import Column, Table
from npukernelbench.report.words import count
from npukernelbench.store import read_run

__all__ = ["Side", "compare", "comparison_json", "in_common", "read_side"]

#: Task, track, hash of the answer, case; one empty key for a single profile.
Key: TypeAlias = "tuple[str, ...]"


@dataclass(frozen=True, slots=True)
class Side:
    """Profiles of one place by what they are of."""

    source: str
    profiles: Mapping[Key, Profile]

    @property
    def label(self) -> str:
        """Whether its times are predicted or measured, and for which machine."""
        kinds = {
            ("predicted" if profile.predicted else "measured", profile.machine) for profile in self.profiles.values()
        }
        return ", ".join(f"{word} {machine}" for word, machine in sorted(kinds))


def read_side(path: Path) -> Side:
    """The profile in a file that ``npukb profile --json`` wrote, or those of a run's folder. UsageError for neither."""
    if path.is_dir():
        return Side(str(path), _of_run(path))
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        stored = data.get("profile") if isinstance(data, dict) else None
        profile = None if stored is None else profile_from_json(stored)
    # Broken JSON and text that is not UTF-8 are ValueErrors, too.
    except (OSError, ValueError) as error:
        raise UsageError(f"{path} is no profile: {error}", remedy=_REMEDY) from error
    if profile is None:
        raise UsageError(f"{path} holds no profile: the kernel was not right", remedy=_REMEDY)
    return Side(str(path), {(): profile})


_REMEDY = "give a run's folder, or a file written by npukb profile --json"


def _of_run(folder: Path) -> dict[Key, Profile]:
    profiles: dict[Key, Profile] = {}
    for sample in read_run(folder).samples.values():
        if sample.verdict is None or sample.candidate is None or sample.verdict.outcome is not Outcome.OK:
            continue
        for case in sample.verdict.cases:
            if case.profile is not None:
                # The answer's hash is part of the key: two answers of one task are two kernels.
                key = (sample.key.task, sample.key.track.value, sample.candidate.hash, case.case)
                profiles[key] = case.profile
    if not profiles:
        raise UsageError(f"no right kernel of {folder} has a profile", remedy=_REMEDY)
    return profiles


def compare(first: Side, second: Side) -> Table:
    """Counters of two profiles, or times of two runs. UsageError where the sides have nothing in common."""
    shared = in_common(first, second)
    # The one empty key is that of a single profile.
    if shared == [()]:
        return _profiles(first, second)
    rows, inside, ratios = [], 0, list[float]()
    for key in shared:
        profile, other = first.profiles[key], second.profiles[key]
        # No ratio to or of 0: a geometric mean takes positive numbers alone.
        timed = profile.time_us > 0 and other.time_us > 0
        ratios += [other.time_us / profile.time_us] if timed else []
        held = _within(profile, other)
        inside += held is True
        rows.append(
            (
                key[0],
                key[1],
                key[3],
                f"{profile.time_us:.2f}",
                f"{other.time_us:.2f}",
                f"{ratios[-1]:.3f}" if timed else "-",
                _WORDS[held],
            )
        )
    named, told = _told_apart(first, second)
    columns = (
        Column("task"), Column("track"), Column("case"), Column(named[0], True), Column(named[1], True),
        Column("ratio", True), Column("in interval"),
    )  # fmt: skip
    note = f"{count(len(rows), 'case')}, geometric mean of ratios {_mean(ratios)}, {inside} within the interval{told}"
    return Table("Times in µs", columns, tuple(rows), note)


def _mean(ratios: Sequence[float]) -> str:
    return f"{geometric_mean(ratios):.3f}" if ratios else "-"


def _told_apart(first: Side, second: Side) -> tuple[tuple[str, str], str]:
    """Headings of the columns, which are no two alike, and what their letters mean."""
    if first.label != second.label:
        return (first.label, second.label), ""
    return (f"A: {first.label}", f"B: {second.label}"), f"; A is {first.source}, B is {second.source}"


def in_common(first: Side, second: Side) -> list[Key]:
    """The kernels and cases that both sides have a time of. UsageError where there are none."""
    shared = sorted(first.profiles.keys() & second.profiles.keys())
    if not shared:
        raise UsageError(
            f"{first.source} and {second.source} have no kernel in common",
            remedy="compare two profiles, or two runs of the same answers on the same cases",
        )
    return shared


def _profiles(first: Side, second: Side) -> Table:
    profile, other = first.profiles[()], second.profiles[()]
    rows = [_row("time (µs)", profile.time_us, other.time_us), _row("blocks", profile.blocks, other.blocks)]
    names = [*profile.counters, *(name for name in other.counters if name not in profile.counters)]
    rows += [_row(name, profile.counters.get(name), other.counters.get(name)) for name in names]
    held = _within(profile, other)
    note = (
        ""
        if held is None
        else f"the time of the second is {'within' if held else 'outside of'} the interval of the first"
    )
    named, told = _told_apart(first, second)
    note += told if note else told.removeprefix("; ")
    columns = (Column("counter"), Column(named[0], True), Column(named[1], True), Column("ratio", True))
    return Table("Profiles side by side", columns, tuple(rows), note)


def _row(name: str, before: float | None, after: float | None) -> tuple[str, str, str, str]:
    # No ratio to 0, which a counter may be.
    ratio = f"{after / before:.3f}" if before and after is not None else "-"
    return name, _number(before), _number(after), ratio


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.4g}" if abs(value) < 1e4 else f"{value:,.0f}"


_WORDS = {True: "yes", False: "no", None: "-"}


def _within(profile: Profile, other: Profile) -> bool | None:
    """Whether the second time lies in the first one's interval; None without one."""
    if profile.low_us is None or profile.high_us is None:
        return None
    return profile.low_us <= other.time_us <= profile.high_us


def comparison_json(first: Side, second: Side) -> dict[str, object]:
    """The same for programs."""
    pairs: list[dict[str, object]] = [
        {
            "key": list(key),
            "first_us": first.profiles[key].time_us,
            "second_us": second.profiles[key].time_us,
            "within": _within(first.profiles[key], second.profiles[key]),
            "first": dict(first.profiles[key].counters),
            "second": dict(second.profiles[key].counters),
        }
        for key in in_common(first, second)
    ]
    return {"first": first.label, "second": second.label, "pairs": pairs}
