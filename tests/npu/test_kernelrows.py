"""``npukb calibrate --rows``: what ``npukb compare --rows`` wrote becomes an interval of the machine file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from npukb_npu.kernelrows import LEAST_ROWS, machine_file
from npukb_twin.timing import machine
from npukb_twin.timing.intervals import interval_of
from npukernelbench.cli import main
from npukernelbench.errors import UsageError
from npukernelbench.report.parity import ParityRow, parity_csv, read_rows

ROWS = tuple(
    ParityRow(
        "Sqrt", "static", str(i), 10.0 + i, (10.0 + i) * (0.8 + i / 10), 1.0, 99.0, "ascend910b3", "npu_ascend910b3"
    )
    for i in range(LEAST_ROWS)
)


def written(folder: Path, rows: tuple[ParityRow, ...] = ROWS) -> Path:
    path = folder / "rows.csv"
    path.write_text(parity_csv(rows))
    return path


def test_rows_become_the_interval_of_their_machine(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """On the twin a time predicted with the file then lies between the least and the largest ratio."""
    out = tmp_path / "mine.yaml"
    assert main(["calibrate", "--rows", str(written(tmp_path)), "--out", str(out)]) == 0
    said = capsys.readouterr().out
    assert "12 cases: median error" in said
    assert "Sqrt:static:11" in said
    loaded, packaged = machine.load(str(out)), machine.load("ascend910b3")
    assert (loaded.chip, loaded.numbers) == ("ascend910b3", packaged.numbers)
    assert packaged.residuals is None
    interval = interval_of({}, 15.0, loaded.residuals)
    assert (interval.low_us, interval.high_us, interval.note) == (pytest.approx(12.0), pytest.approx(15 * 1.9), "")
    assert "measured kernels like this one take 10.0 to 21" in interval_of({}, 500.0, loaded.residuals).note


def test_a_file_of_ones_own_keeps_its_numbers_and_gets_one_interval(tmp_path: Path) -> None:
    base = tmp_path / "mine.yaml"
    base.write_text(
        "name: mine\ndescription: d\nextends: ascend910b3\nnumbers:\n"
        "  barrier_cycles: {value: 19.5, unit: cycles, source: s, grade: B}\n"
    )
    rows = tuple(replace(row, machine="mine") for row in ROWS)
    base.write_text(machine_file(rows, "ignored", str(base)))
    closer = tuple(replace(row, measured_us=row.predicted_us) for row in rows)
    base.write_text(machine_file(closer, "ignored", str(base)))
    loaded = machine.load(str(base))
    assert loaded.numbers["barrier_cycles"] == 19.5
    assert loaded.residuals is not None
    assert (loaded.residuals.low, loaded.residuals.high) == (1.0, 1.0)


@pytest.mark.parametrize(
    ("rows", "base", "words"),
    [
        (ROWS[:-1], "", "too few"),
        ((), "", "there are no rows"),
        (tuple(replace(row, machine="mine") for row in ROWS), "", "a file of your own"),
        (tuple(replace(row, measured_on="npu_ascend910b2") for row in ROWS), "", "but measured on npu_ascend910b2"),
        ((*ROWS, replace(ROWS[0], machine="ascend910b2")), "", "machine has to be one: ascend910b2, ascend910b3"),
        (ROWS, "/nowhere.yaml", "cannot be read"),
    ],
)
def test_rows_that_say_nothing_of_one_machine_are_refused(rows: tuple[ParityRow, ...], base: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        machine_file(rows, "x", base)


@pytest.mark.parametrize(
    ("old", "new", "words", "line"),
    [
        ("predicted_us", "guessed_us", "predicted_us: the column is missing", 1),
        ("10.0", "ten", "predicted_us: 'ten' is no number", 2),
        ("10.0", "-1.0", "predicted_us: -1.0 is no time", 2),
    ],
)
def test_a_file_of_another_kind_is_refused_at_its_line(
    tmp_path: Path, old: str, new: str, words: str, line: int
) -> None:
    path = written(tmp_path)
    path.write_text(path.read_text().replace(old, new, 1))
    with pytest.raises(UsageError, match=words) as caught:
        read_rows(path)
    assert caught.value.location is not None
    assert (caught.value.location.path, caught.value.location.line) == (path, line)


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    assert read_rows(written(tmp_path)) == ROWS
