"""Intervals of predicted times: made of measured kernels, holding for others, told apart where nothing was measured."""

from __future__ import annotations

from importlib.resources import files

import pytest
import yaml

from benchmarks.calibration.silicon.residuals import compared, inside, intervals, section
from npukb_twin.timing.intervals import REGIMES, SMALL_US, interval_of, regime_of

MEMORY = {"path_memory_time": 30.0, "path_vector_time": 5.0}


def test_the_committed_intervals_follow_from_the_committed_predictions() -> None:
    known = yaml.safe_load((files("npukb_twin") / "timing" / "residuals.yaml").read_text(encoding="utf-8"))
    made = intervals(compared())
    assert known.keys() == made.keys()
    for regime, (low, high, rows) in made.items():
        assert known[regime]["rows"] == len(rows)
        assert known[regime]["low"] == pytest.approx(low, abs=1e-3)
        assert known[regime]["high"] == pytest.approx(high, abs=1e-3)


def test_nine_in_ten_are_inside_and_eight_in_ten_of_sizes_left_out() -> None:
    rows = compared()
    made = intervals(rows)
    assert sum(inside(row, made) for row in rows) >= 0.9 * len(rows)
    left = 0
    for size in {row.decade for row in rows}:
        others = intervals([row for row in rows if row.decade != size])
        left += sum(inside(row, others) for row in rows if row.decade == size)
    assert left >= 0.8 * len(rows)


def test_no_predicted_row_beats_its_roofline() -> None:
    assert all(row.predicted_us >= row.bound_us for row in compared())
    assert "0 of" in section()


def test_what_most_time_goes_to_decides() -> None:
    assert regime_of(MEMORY, 40.0) == "memory large"
    assert regime_of(MEMORY, SMALL_US - 1) == "memory small"
    assert regime_of({**MEMORY, "aic_cube_time": 1.0}, 40.0) == "cube large"
    assert (
        regime_of({"path_scalar_time": 2.0, "path_vector_time": 1.0}, 5.0) == "vector small"
    )  # the start is no reason
    assert {
        regime_of({f"path_{part}_time": 9.0}, 40.0).split()[0] for part in ("move", "issue", "rest", "sync")
    } <= set(REGIMES)


def test_an_interval_holds_its_time_and_says_when_it_is_a_guess() -> None:
    known = interval_of(MEMORY, 40.0)
    assert known.low_us < 40.0 < known.high_us
    assert known.note == ""
    far = interval_of(MEMORY, 1e5)
    assert "measured kernels like this one take" in far.note
    strange = interval_of({"path_sync_time": 90.0}, 100.0)
    assert "no measured kernel" in strange.note
    assert round(strange.high_us / 100.0, 9) >= round(known.high_us / 40.0, 9)
