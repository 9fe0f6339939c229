"""``npukb rejudge`` and ``npukb export``: a finished run used again."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run of the golden kernel, and of a wrong one."""
    folder = tmp_path_factory.mktemp("run")
    answers = folder / "answers"
    answers.mkdir()
    (answers / "all.jsonl").write_text(
        "\n".join(
            json.dumps({"task": "Sqrt", "index": index, "text": text, "model": "m/1"})
            for index, text in enumerate(["no code at all", "```cpp\nint a\n```"])
        )
    )
    command = ["run", "--model", "replay", "-a", f"path={answers}", "-t", "Sqrt", "-L", "1", "-n", "2", "--json"]
    return (folder / str(run(folder, *command)["directory"])).resolve()


def run(cwd: Path, *arguments: str) -> dict[str, object]:
    command = [sys.executable, "-m", "npukernelbench", *arguments]
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    result: dict[str, object] = json.loads(done.stdout)
    return result


def outcomes(results: dict[str, object]) -> list[str]:
    samples = results["samples"]
    assert isinstance(samples, list)
    return [sample["outcome"] for sample in samples]


def test_the_same_answers_get_the_same_verdicts_without_their_model(finished: Path, tmp_path: Path) -> None:
    before = json.loads((finished / "results.json").read_text())
    assert outcomes(before) == ["no_code", "compile_error"]
    again = run(tmp_path, "rejudge", str(finished), "--json")
    assert outcomes(again) == outcomes(before)
    assert (tmp_path / str(again["directory"])).resolve() != finished
    assert again["identity"]["inputs"] == before["identity"]["inputs"]  # the secret that the run drew


def test_another_parser_may_find_other_code(finished: Path, tmp_path: Path) -> None:
    again = run(tmp_path, "rejudge", str(finished), "--parser", "tagged", "--json")
    assert outcomes(again) == ["no_code", "no_code"]


def test_a_folder_without_a_run_is_an_error_that_says_so(npukb, tmp_path: Path) -> None:
    result = npukb("rejudge", tmp_path)
    assert result.code == 2
    assert "there is no run at or below this folder" in result.err


def test_rows_hold_question_answer_and_verdict(npukb, finished: Path, tmp_path: Path) -> None:
    target = tmp_path / "rows.jsonl"
    assert npukb("export", finished, "-o", target).code == 0
    rows = [json.loads(line) for line in target.read_text().splitlines()]
    assert [row["outcome"] for row in rows] == ["no_code", "compile_error"]
    assert rows[0]["response"] == "no code at all"
    assert rows[0]["files"] is None
    assert rows[1]["files"] == {"kernel.cpp": "int a\n"}
    assert rows[0]["messages"][0]["role"] == "system"


def test_parquet_holds_the_same_rows(npukb, finished: Path, tmp_path: Path) -> None:
    pq = pytest.importorskip("pyarrow.parquet")
    target = tmp_path / "rows.parquet"
    assert npukb("export", finished, "--format", "parquet", "-o", target).code == 0
    assert pq.read_table(target).column("outcome").to_pylist() == ["no_code", "compile_error"]


def test_lm_eval_finds_its_files_and_keys(npukb, finished: Path, tmp_path: Path) -> None:
    assert npukb("export", finished, "--format", "lm-eval", "-o", tmp_path / "out").code == 0
    (results,) = (tmp_path / "out").glob("*/results_*.json")
    (samples,) = (tmp_path / "out").glob("*/samples_Sqrt_*.jsonl")
    parsed = json.loads(results.read_text())
    assert parsed["results"]["Sqrt"]["compile@1,none"] == 0.0
    assert parsed["results"]["Sqrt"]["correct@1_stderr,none"] == 0.0
    assert parsed["group_subtasks"] == {"level1": ["Sqrt"]}
    assert parsed["n-samples"]["Sqrt"] == {"original": 1, "effective": 1}
    lines = [json.loads(line) for line in samples.read_text().splitlines()]
    assert [line["resps"] for line in lines] == [[["no code at all"]], [["```cpp\nint a\n```"]]]
    assert {line["filter"] for line in lines} == {"none"}
