"""Rows for trainers, from the command line; the adapters' trial on the twin."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest


def npukb(cwd: Path, *arguments: str, code: int = 0) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, "-m", "npukernelbench", *arguments], cwd=cwd, capture_output=True, text=True, check=False
    )
    assert done.returncode == code, done.stderr
    return done


def read(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_rows_hold_the_prompt_of_the_harness(tmp_path: Path) -> None:
    npukb(tmp_path, "rewards", "dataset", "trl.jsonl", "--tasks", "Sqrt", "Muls:smoke", "--limit", "2")
    rows = read(tmp_path / "trl.jsonl")
    assert [row["npukb_task"].split("/")[0] for row in rows] == ["Muls", "Sqrt", "Sqrt"]
    task, case = rows[1]["npukb_task"].split("/")
    asked = json.loads(npukb(tmp_path, "prompt", task, "--case", case, "--json").stdout)
    assert rows[1]["prompt"] == asked["messages"]


def test_rows_for_verl_name_the_ground_truth(tmp_path: Path) -> None:
    npukb(tmp_path, "rewards", "dataset", "rows.jsonl", "-t", "Sqrt", "--track", "dynamic", "--format", "verl")
    [row] = read(tmp_path / "rows.jsonl")
    assert row["reward_model"] == {"style": "rule", "ground_truth": "dynamic:Sqrt"}
    assert row["data_source"] == "npukernelbench"
    assert row["prompt"][-1]["role"] == "user"


def test_a_file_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    assert "npukb" in npukb(tmp_path, "rewards", "dataset", "folder", "-t", "Sqrt", code=2).stderr


def test_policies_are_listed(tmp_path: Path) -> None:
    listed = json.loads(npukb(tmp_path, "rewards", "ls", "--json").stdout)
    assert {"shaped@2", "binary@1"} <= set(listed)
    assert listed["binary@1"]["outcomes"]["ok"] == 1.0


def test_every_adapter_holds_on_the_twin(tmp_path: Path) -> None:
    parsed = json.loads(npukb(tmp_path, "rewards", "check", "--json").stdout)
    assert {one["what"].split(":")[0] for one in parsed} == {"trl", "verl", "verifiers"}
    assert all(one["holds"] in (True, None) for one in parsed)
    assert sum(one["holds"] is True for one in parsed) >= 6


@pytest.mark.parametrize("question", ["Gemm", "Nothing", "dynamic:Sqrt/0"])
def test_a_question_without_a_golden_is_refused(tmp_path: Path, question: str) -> None:
    assert "remedy" in npukb(tmp_path, "rewards", "check", "--question", question, code=2).stderr


def test_rows_ask_what_a_run_with_that_strategy_asks(tmp_path: Path) -> None:
    done = npukb(
        tmp_path, "rewards", "dataset", "rows.jsonl", "--tasks", "CraftElu:smoke", "Ccopy:smoke", "--strategy", "tile"
    )
    [row] = read(tmp_path / "rows.jsonl")
    asked = json.loads(npukb(tmp_path, "prompt", "CraftElu", "--case", "smoke", "--strategy", "tile", "--json").stdout)
    assert row["prompt"] == asked["messages"]
    assert "left out, " in done.stderr
