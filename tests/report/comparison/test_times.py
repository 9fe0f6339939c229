"""Two profiles or two runs side by side."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from npukernelbench.errors import UsageError
from npukernelbench.nouns import Profile, Tier
from npukernelbench.nouns.codec import to_json
from npukernelbench.report.comparison.times import Side, compare, comparison_json, read_side
from npukernelbench.report.profile import render_profile
from npukernelbench.report.profile_files import write_profile

PREDICTED = Profile(10.0, True, "ascend910b2", 48, {"aiv_time": 8.0, "path_move_time": 2.0}, low_us=9.0, high_us=12.0)
MEASURED = Profile(11.0, False, "npu_ascend910b3", 40, {"aiv_time": 10.0, "msprof_clock_mhz": 1800.0})


def saved(path: Path, profile: Profile | None) -> Path:
    path.write_text(json.dumps({"outcome": "ok", "profile": to_json(profile)}), encoding="utf-8")
    return path


def test_two_profiles(tmp_path: Path) -> None:
    first, second = (
        read_side(saved(tmp_path / name, profile)) for name, profile in (("a.json", PREDICTED), ("b.json", MEASURED))
    )
    table = compare(first, second)
    assert [column.name for column in table.columns] == [
        "counter", "predicted ascend910b2", "measured npu_ascend910b3", "ratio",
    ]  # fmt: skip
    assert table.rows == (
        ("time (µs)", "10", "11", "1.100"),
        ("blocks", "48", "40", "0.833"),
        ("aiv_time", "8", "10", "1.250"),
        ("path_move_time", "2", "-", "-"),
        ("msprof_clock_mhz", "-", "1800", "-"),
    )
    assert table.note == "the time of the second is within the interval of the first"
    assert "outside" in compare(first, Side("b", {(): replace(MEASURED, time_us=8.0)})).note
    assert compare(second, first).note == ""  # what was measured here has no interval


def test_two_runs_are_paired_by_answer_and_case() -> None:
    first = {("Sqrt", "static", "hash", case): PREDICTED for case in ("0", "1", "2")}
    second = {
        ("Sqrt", "static", "hash", "0"): replace(MEASURED, time_us=20.0),
        ("Sqrt", "static", "hash", "1"): MEASURED,
        ("Sqrt", "static", "another answer", "2"): MEASURED,
    }
    sides = Side("a", first), Side("b", second)
    table = compare(*sides)
    assert table.rows == (
        ("Sqrt", "static", "0", "10.00", "20.00", "2.000", "no"),
        ("Sqrt", "static", "1", "10.00", "11.00", "1.100", "yes"),
    )
    assert table.note == "2 cases, geometric mean of ratios 1.483, 1 within the interval"
    found = comparison_json(*sides)
    assert found["first"] == "predicted ascend910b2"
    assert [(pair["first_us"], pair["second_us"], pair["within"]) for pair in found["pairs"]] == [  # type: ignore[attr-defined]
        (10.0, 20.0, False),
        (10.0, 11.0, True),
    ]


def test_a_time_of_0_has_no_ratio() -> None:
    """On either side: 0 divides nothing, and no geometric mean takes it."""
    keys = [("Sqrt", "static", "hash", case) for case in ("0", "1", "2")]
    times = ((0.0, 10.0), (10.0, 0.0), (10.0, 20.0))
    first, second = (
        {key: replace(MEASURED, time_us=pair[side]) for key, pair in zip(keys, times, strict=True)} for side in (0, 1)
    )
    table = compare(Side("a", first), Side("b", second))
    assert [row[5] for row in table.rows] == ["-", "-", "2.000"]
    assert "3 cases, geometric mean of ratios 2.000," in table.note
    none = {keys[0]: first[keys[0]]}
    assert "1 case, geometric mean of ratios -," in compare(Side("a", none), Side("b", none)).note


def test_what_cannot_be_compared(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="the kernel was not right"):
        read_side(saved(tmp_path / "none.json", None))
    for text in ("", "{", "[1]", '{"profile": {"time_us": "fast"}}'):
        (tmp_path / "bad.json").write_text(text)
        with pytest.raises(UsageError, match=r"bad\.json (is|holds) no profile"):
            read_side(tmp_path / "bad.json")
    with pytest.raises(UsageError, match="is no profile"):
        read_side(tmp_path / "nothing.json")
    with pytest.raises(UsageError, match="no kernel in common"):
        compare(Side("a", {("Sqrt", "static", "x", "0"): PREDICTED}), Side("b", {(): MEASURED}))


def test_a_profile_without_some_counters_can_be_shown(tmp_path: Path) -> None:
    """The vendor's profiler does not count all that the twin does, and a plain measurement counts nothing."""

    def plain(text: str, _: object) -> str:
        return text

    bare = "\n".join(render_profile(replace(MEASURED, counters={}), {}, Tier.NPU, plain))
    assert bare.strip() == "measured 11.00 µs on npu_ascend910b3 (tier npu)"
    some = {"aiv_time": 9.0, "aiv_mte2_time": 6.0, "aiv_mte2_ratio": 0.75, "aiv_gm_to_ub_bw_gbs": 50.0}
    lines = list(render_profile(replace(MEASURED, counters=some), {}, Tier.NPU, plain))
    assert "  aiv_mte2          6.00    75.0%        -              -" in lines
    assert "  gm to ub: 50.0 GiB/s per core" in lines
    assert write_profile(replace(MEASURED, counters=some), "sqrt", tmp_path)
