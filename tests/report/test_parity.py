"""Predicted beside measured: which side is which, what is paired, and the rows that a calibration takes."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest

from npukernelbench.errors import UsageError
from npukernelbench.nouns import Profile
from npukernelbench.report.comparison.times import Side
from npukernelbench.report.parity import parity_csv, parity_markdown, parity_rows, summary

ROOT = Path(__file__).parents[2]


def profile(time_us, *, predicted, **changes):
    machine = "ascend910b3" if predicted else "npu_ascend910b3"
    return Profile(time_us, predicted=predicted, machine=machine, blocks=40, **changes)


def key(case):
    return ("Sqrt", "static", "hash", case)


def sides():
    predicted = {
        key("a"): profile(10.0, predicted=True, counters={"aiv_vec_ratio": 0.5, "launch_time": 1.0}),
        key("b"): profile(30.0, predicted=True),
        key("only twin"): profile(1.0, predicted=True),
    }
    measured = {
        key("a"): profile(8.0, predicted=False, counters={"aiv_vec_ratio": 0.4}, low_us=7.9, high_us=8.1),
        key("b"): profile(31.0, predicted=False, low_us=29.0, high_us=33.0),
    }
    return Side("twin", predicted), Side("device", measured)


def test_each_case_has_a_row_whichever_side_comes_first():
    twin, device = sides()
    rows = parity_rows(twin, device)
    assert rows == parity_rows(device, twin)
    assert [(row.case, row.predicted_us, row.measured_us, row.within) for row in rows] == [
        ("a", 10.0, 8.0, False),
        ("b", 30.0, 31.0, True),
    ]
    assert rows[0].error == pytest.approx(0.25)
    assert rows[0].counters == {"aiv_vec_ratio": (0.5, 0.4)}, "of what both sides count"
    assert summary(rows) == "2 cases: median error 14.1%, worst +25.0%, 1 within the measured interval"


def test_rows_for_other_tools_and_for_the_page():
    rows = parity_rows(*sides())
    read = list(csv.DictReader(io.StringIO(parity_csv(rows))))
    assert [float(row["measured_us"]) for row in read] == [8.0, 31.0]
    assert {row["measured_on"] for row in read} == {"npu_ascend910b3"}
    lines = parity_markdown(rows).splitlines()
    assert lines[2] == "| Sqrt:static:a | 8.0 | 10.0 | +25.0% | npu_ascend910b3 |"
    assert len(lines) == 4


def test_rows_that_lie_in_results_are_on_the_page(tmp_path):
    from benchmarks.calibration import device

    assert device.section(tmp_path).startswith("None yet")
    page = (ROOT / "docs" / "calibration.md").read_text(encoding="utf-8")
    assert device.section() in page
    (tmp_path / "npu-acceptance-910b3").mkdir()
    (tmp_path / "npu-acceptance-910b3" / "rows.csv").write_text(parity_csv(parity_rows(*sides())))
    text = device.section(tmp_path)
    assert text.startswith("`npu_ascend910b3`, predicted with `ascend910b3`: 2 cases: median error 14.1%")
    assert "| Sqrt:static:a | 8.0 | 10.0 | +25.0% | npu_ascend910b3 |" in text


def test_two_predictions_are_no_parity():
    twin, device = sides()
    for pair in ((twin, twin), (device, device)):
        with pytest.raises(UsageError, match="not one prediction and one measurement"):
            parity_rows(*pair)
    with pytest.raises(UsageError, match="no answer and case in common"):
        parity_rows(twin, Side("device", {key("c"): profile(1.0, predicted=False)}))
