"""Boards: who may stand beside whom, ranks that are shared, formats."""

from __future__ import annotations

import csv
import json
import shutil
from dataclasses import replace

import pytest

from npukernelbench.errors import UsageError
from npukernelbench.judge.speed import SPEEDUPS
from npukernelbench.report.leaderboard import as_csv, board_json, board_table, leaderboards, read_boards
from npukernelbench.report.table import as_markdown

NAMES = [f"T{i:02}/0" for i in range(20)]


def solved(count: int) -> dict[str, str]:
    return {name: "o" if i < count else "w" for i, name in enumerate(NAMES)}


def test_rows_that_cannot_be_told_apart_share_a_rank(record):
    best, near, far = (record(n, solved(c), model=n) for n, c in (("best", 18), ("near", 17), ("far", 6)))
    (board,) = leaderboards([far, near, best])
    assert [(row.model, row.rank, board.is_tied(row)) for row in board.rows] == [
        ("best", 1, True),
        ("near", 1, True),
        ("far", 3, False),
    ]
    text = as_markdown(board_table(board))
    assert "| 1= | best | 1.000" in text
    assert "| 3 | far | 1.000" in text
    assert "| 20/20 |" in text


def test_few_tasks_rank_nobody(record):
    """Five tasks that all gain are what chance gives in one of 16 comparisons."""
    names = NAMES[:5]
    good, bad = (record(n, dict.fromkeys(names, letters), model=n) for n, letters in (("good", "oo"), ("bad", "ow")))
    (board,) = leaderboards([good, bad])
    assert [row.rank for row in board.rows] == [1, 1]


def test_tiers_rules_and_tasks_stand_apart(record):
    first = record("a", solved(5))
    executor = dict(first.identity["executor"])
    records = [
        first,
        record("b", solved(5), executor={**executor, "tier": "npu"}),
        record("c", solved(5), run_timeout_s=3.0),
        record("d", {"Other/0": "o"}),
    ]
    boards = leaderboards(records)
    assert sorted(board.title for board in boards) == [
        "tier npu · 20 tasks · track static · m1",
        "tier twin · 1 task · track static · m1",
        "tier twin · 20 tasks · track static · m1 · run_timeout_s 3.0",
        "tier twin · 20 tasks · track static · m1 · run_timeout_s unset",
    ]


def test_rules_of_a_benchmark_stand_in_the_title(record):
    """The name says it all: facts of its rules are no words for people."""
    rules = {"name": "bench", "comparable": False, "source": "our words", "weights": {"1": 0.2}}
    boards = leaderboards([record("a", solved(5)), record("b", solved(5), rules=rules)])
    assert sorted(board.title for board in boards) == [
        "tier twin · 20 tasks · track static · m1 · rules bench (not comparable)",
        "tier twin · 20 tasks · track static · m1 · rules ours",
    ]
    (alone,) = leaderboards([record("c", solved(5), rules={**rules, "comparable": True})])
    assert alone.title.endswith("rules bench (comparable)")


def test_every_baseline_can_rank(record):
    """A run of optimisation tasks has one of its own."""
    stored = record("a", solved(5))
    for name in SPEEDUPS:
        attempts = tuple(replace(attempt, speedups={name: 1.0}) for attempt in stored.attempts)
        (board,) = leaderboards([replace(stored, attempts=attempts)])
        assert any(measure.endswith(f" {name}") for measure in board.measures), name


def test_settings_tell_rows_apart_and_seeds_do_not(record):
    cold = {"sampling": {"temperature": 0.0}}
    warm = {"sampling": {"temperature": 1.0}}
    (board,) = leaderboards(
        [
            record("a", solved(4), **cold),
            record("b", solved(5), **cold, seed=1),
            record("c", solved(6), **warm),
        ]
    )
    assert sorted((row.settings, row.counted, row.expected, len(row.folders)) for row in board.rows) == [
        ("(temperature 0.0)", 40, 40, 2),
        ("(temperature 1.0)", 20, 20, 1),
    ]


def test_results_folder_csv_and_json(folder, tmp_path):
    folder("runs/a", {**solved(4), "T19/0": "i"})
    empty = folder("runs/b", {"T00/0": "o"}, model="n")
    for name in ("events.jsonl", "index.sqlite", "results.json"):
        (empty / name).unlink()
    boards, unread = read_boards(tmp_path / "runs")
    assert len(unread) == 1
    assert "nothing in this run was judged yet" in unread[0]
    assert read_boards(tmp_path / "runs/a", tmp_path / "runs/b", tmp_path / "runs") == (boards, unread), "each once"
    (row,) = list(csv.DictReader(as_csv(boards).splitlines()))
    assert (row["tier"], row["rank"], row["counted"], row["expected"]) == ("twin", "1", "19", "20")
    assert float(row["correct@1"]) == pytest.approx(4 / 19)
    assert float(row["correct@1_low"]) < 4 / 19 < float(row["correct@1_high"])
    parsed = json.loads(json.dumps([board_json(board) for board in boards]))
    assert parsed[0]["rows"][0]["rates"]["correct@1"]["value"] == pytest.approx(4 / 19)


def test_a_copy_of_a_run_is_no_further_seed(folder, tmp_path):
    """The one that was copied before the run went on is left out, whichever comes first."""
    whole = folder("runs/b", solved(4))
    for name in ("a", "c"):
        shutil.copytree(whole, tmp_path / "runs" / name)
    log = tmp_path / "runs" / "a" / "events.jsonl"
    log.write_text("".join(log.read_text().splitlines(keepends=True)[:-1]))
    boards, left_out = read_boards(tmp_path / "runs")
    [row] = boards[0].rows
    assert (row.counted, row.expected, row.folders) == (20, 20, (whole,))
    assert left_out == tuple(
        f"{tmp_path / 'runs' / name}: a copy of the run in {whole}, which is ranked" for name in ("a", "c")
    )


def test_what_cannot_be_ranked(record, tmp_path):
    with pytest.raises(UsageError, match="no run has a rate 'speed'") as error:
        leaderboards([record("a", solved(2))], by="speed")
    assert "correct@1" in str(error.value)
    with pytest.raises(UsageError, match="there is no run at or below"):
        read_boards(tmp_path / "nothing")
