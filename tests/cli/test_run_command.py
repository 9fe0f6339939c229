"""``npukb run``: folder, resume, tables, exit codes, and every wrong command line."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

#: Twelve samples, whatever else the suites hold.
TWELVE = (
    "AbsMath:smoke,AddCustom:smoke,Equal:smoke,Fill:smoke,ForeachAddScalar:smoke,Gelu:smoke,"
    "MseLoss:smoke,Muls:smoke,RmsNorm:smoke,Sqrt:smoke,SwiGlu:smoke,Swish:smoke"
)


@pytest.fixture
def run(npukb, fake):
    """``run("--tasks", …)`` runs the fake model on the fake executor."""

    def call(*options):
        return npukb("run", "--model", "fake", "--executor", "fake", *options)

    return call


def answering(text: str) -> list[str]:
    """Options that make the fake model answer a kernel which the fake executor gives that outcome."""
    return ["--model_args", json.dumps({"text": f"```cpp\n// {{task}} {{index}} fake: {text}\n```\n"})]


def folders() -> list[Path]:
    """Run folders in the default output path."""
    return sorted(Path("results").iterdir())


def test_a_run_shows_its_table_and_keeps_its_results(run):
    finished = run("--tasks", TWELVE)
    assert finished.code == 0, finished.err
    (folder,) = folders()
    results = json.loads((folder / "results.json").read_text())
    assert results["totals"]["correct"] == results["totals"]["samples"] == 12
    assert "predicted µs (twin)" in finished.out
    assert all(task in finished.out for task in results["aggregates"]["tasks"])
    assert "12 of 12 valid samples correct" in finished.out
    assert str(folder / "results.json") in finished.out
    assert finished.err.splitlines()[0] == "12 samples"
    assert "[12/12]" in finished.err


def test_the_folder_is_readable_and_the_same_for_every_spelling(run):
    run("--tasks", "sqrt", "add_custom", "--limit", "1")
    run("--tasks", "AddCustom,Sqrt", "--limit", "1", "--jobs", "1")
    (folder,) = folders()
    name, tasks, digits = folder.name.split("__")
    assert (name, tasks, len(digits)) == ("fake", "addcustom-sqrt", 8)
    run("--tasks", "sqrt", "add_custom", "--limit", "1", "--seed", "1")
    assert len(folders()) == 2


def test_a_second_run_has_nothing_to_do_and_says_so(run, tmp_path):
    log = tmp_path / "calls"
    options = ["--tasks", TWELVE, "--executor_args", f"log={log}"]
    first = run(*options)
    calls = log.read_text()
    second = run(*options)
    assert second.code == 0
    assert "nothing to do, all 12 samples were finished" in second.err
    assert log.read_text() == calls
    assert second.out == first.out


def test_wrong_kernels_are_results_and_no_error(run):
    finished = run("--tasks", "sqrt:smoke", *answering("double"))
    assert finished.code == 0
    assert "wrong_value" in finished.out
    assert "0 of 1 valid samples correct" in finished.out


@pytest.mark.parametrize(
    ("word", "threshold", "code"),
    [("ok", "1", 0), ("double", "0.1", 1), ("double", "compile@1=1", 0), ("ok", "pass@1=1", 0), ("double", "0", 0)],
)
def test_a_threshold_decides_the_exit_code(run, word, threshold, code):
    assert run("--tasks", "sqrt:smoke", "--fail-under", threshold, *answering(word)).code == code


@pytest.mark.parametrize("threshold", ["pass@4=1", "speed=3"])
def test_a_threshold_the_run_cannot_have_is_refused_before_it_starts(run, threshold):
    finished = run("--tasks", "sqrt:smoke", "--fail-under", threshold)
    assert finished.code == 2
    assert "correct@1" in finished.err
    assert not Path("results").exists()


def test_several_samples_per_problem(run):
    shown = run("--tasks", "sqrt:smoke", "-n", "2", "--fail_under", "pass@2=1", "--json")
    assert shown.code == 0
    assert shown.json["aggregates"]["all"]["pass@k"]["2"]["valid"]["value"] == 1.0
    assert "2/2" in run("--tasks", "sqrt:smoke", "--repeats", "2").out


def test_faults_of_ours_end_with_4_and_are_tried_again(run):
    options = ["--tasks", "sqrt:smoke", *answering("raise")]
    first = run(*options)
    assert first.code == 4
    assert "1 of 1 samples could not be judged" in first.err
    assert "0 of 0 valid samples correct" in first.out
    second = run(*options)
    assert "nothing to do" not in second.err
    assert second.code == 4


def test_json_is_the_only_thing_on_standard_output(run):
    shown = run("--tasks", TWELVE, "--json").json
    assert shown["totals"]["samples"] == 12
    assert Path(shown["directory"], "manifest.json").is_file()


def test_predict_only_stores_answers_and_the_same_command_judges_them(run, tmp_path):
    log = tmp_path / "asked"
    options = ["--tasks", TWELVE, "--model_args", f"log={log}"]
    finished = run(*options, "-x")
    assert finished.code == 0
    assert "12 answers are stored" in finished.out
    assert not (folders()[0] / "results.json").exists()
    assert "nothing to do" in run(*options, "--predict-only").err
    judged = run(*options)
    assert "12 of 12 valid samples correct" in judged.out
    assert len(folders()) == 1
    assert len(log.read_text().splitlines()) == 12


def test_a_limit_warns(run):
    finished = run("--tasks", TWELVE, "--limit", "1")
    assert "warning: --limit" in finished.err
    assert finished.code == 0
    assert "warning" not in run("--tasks", TWELVE).err


def test_samples_name_cases(run):
    shown = run("--samples", '{"sqrt": ["smoke"], "Gelu": ["smoke"]}', "--json").json
    assert [(s["task"], s["case"]) for s in shown["samples"]] == [("Gelu", "smoke"), ("Sqrt", "smoke")]


def test_report_shows_what_the_run_showed(run, npukb):
    finished = run("--tasks", TWELVE)
    tables = npukb("report", folders()[0]).out
    assert tables.splitlines()[:15] == finished.out.splitlines()[:15]


def test_verdicts_in_the_middle_of_a_line_of_plain_progress(run):
    finished = run("--tasks", "sqrt:smoke", *answering("crash"))
    assert "[1/1] Sqrt/smoke/static/0  crash" in finished.err


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        (["--tasks", "smokee"], 2, ["'smokee'", "did you mean smoke"]),
        ([], 2, ["--tasks", "npukb ls tasks"]),
        (["--tasks", "smoke", "--model", "fak"], 2, ["there is no backend 'fak'", "did you mean 'fake'?"]),
        (["--tasks", "smoke", "--executor", "fak"], 2, ["there is no executor 'fak'", "did you mean 'fake'?"]),
        (["--tasks", "smoke", "--parser", "autoo"], 2, ["there is no parser 'autoo'", "'auto'"]),
        (["--tasks", "smoke", "--prompt_style", "long"], 2, ["there is no prompt style 'long'"]),
        (["--tasks", "smoke", "--model_args", "nonsense"], 2, ["--model_args", "'nonsense'", "key=value"]),
        (["--tasks", "smoke", "--model_args", "{'a': 1}"], 2, ["--model_args", "JSON"]),
        (["--tasks", "smoke", "--model_args", "colour=red"], 2, ["model_args.colour", "backend 'fake'"]),
        (["--tasks", "smoke", "--executor_args", "colour=red"], 2, ["executor_args.colour", "executor 'fake'"]),
        (["--tasks", "smoke", "--samples", "{"], 2, ["--samples", "JSON"]),
        (["--samples", '{"sqrt": ["77"]}'], 2, ["no case '77'", "smoke"]),
        (["--tasks", "smoke", "--samples", '{"sqrt": ["0"]}', "--limit", "1"], 2, ["exclude each other"]),
        (["--tasks", "smoke", "--limit", "-1"], 2, ["--limit"]),
        (["--tasks", "smoke", "--shard", "0/4"], 2, ["--shard", "I/N", "'0/4'", "--shard 3/16"]),
        (["--tasks", "smoke", "--shard", "5/4"], 2, ["--shard", "counted from 1", "'5/4'"]),
        (["--tasks", "smoke", "--shard", "third"], 2, ["--shard", "I/N", "'third'"]),
        (["--tasks", "smoke", "--shard", "1/2", "--fail_under", "1"], 2, ["--fail_under", "shard 1/2", "npukb merge"]),
        (["--tasks", "smoke", "--jobs", "0"], 2, ["--jobs", "at least 1"]),
        (["--tasks", "smoke", "--gen_kwargs", "temperature=hot"], 2, ["--gen_kwargs temperature", "'hot'"]),
        (["--tasks", "smoke", "--track", "dynamic"], 2, ["executor 'fake' judges track static only"]),
        (["--tasks", "smoke", "--config", "missing.yaml"], 3, ["missing.yaml"]),
        (["--tasks", "smoke", "stray", "--seed", "1", "words"], 2, ["words"]),
    ],
)
def test_wrong_command_lines_are_refused_before_anything_is_done(run, options, code, words):
    finished = run(*options)
    assert (finished.code, finished.out) == (code, ""), finished.err
    assert all(word in finished.err for word in words), finished.err
    assert "Traceback" not in finished.err
    assert not Path("results").exists()


def test_no_model_is_a_usage_error(npukb):
    finished = npukb("run", "--tasks", "smoke")
    assert finished.code == 2
    assert "--model reference" in finished.err


@pytest.mark.parametrize("deep", ["", "a/b"])
def test_an_output_folder_that_cannot_be_written_ends_with_4(run, tmp_path, deep):
    blocked = tmp_path / "blocked"
    blocked.write_text("")
    log = tmp_path / "asked"
    finished = run("--tasks", "smoke", "-o", blocked / deep, "--model_args", f"log={log}")
    assert finished.code == 4
    assert str(blocked) in finished.err
    assert "remedy" in finished.err
    assert "Traceback" not in finished.err
    assert not log.exists()


def test_a_model_that_goes_away_ends_with_4_and_keeps_what_is_done(run):
    finished = [run("--tasks", TWELVE, "--model_args", "stop_after=5") for _ in range(3)]
    assert [one.code for one in finished] == [4, 4, 0]
    assert "the fake model went away" in finished[0].err
    assert "remedy: run the same command again" in finished[0].err
    assert "12 samples, 10 of them finished before" in finished[2].err


def test_an_answer_that_never_came_is_counted_apart_from_the_models_faults(run):
    finished = run("--tasks", "sqrt:smoke", "--model_args", "text=fault: too busy", "--json")
    assert finished.code == 4
    assert finished.json["totals"]["owners"] == {"infra": 1}
    assert finished.json["samples"][0]["message"] == "too busy"


def test_settings_come_from_file_environment_and_options(npukb, monkeypatch):
    Path("npukb.yaml").write_text("seed: 5\njobs: 2\nnum_samples: 3\n")
    monkeypatch.setenv("NPUKB_JOBS", "4")
    shown = npukb("run", "--show_config", "--json", "-n", "7").json
    assert (shown["seed"]["value"], shown["jobs"]["value"], shown["num_samples"]["value"]) == (5, 4, 7)
    assert shown["jobs"]["origin"] == "environment NPUKB_JOBS"
    assert shown["num_samples"]["origin"] == "--num_samples"
    assert shown["seed"]["origin"].endswith("npukb.yaml:1")
    text = npukb("run", "--show_config").out
    assert text.splitlines()[0].split() == ["SETTING", "VALUE", "ORIGIN"]


def test_soc_and_checker_are_arguments_of_the_executor(npukb):
    shown = npukb(
        "run", "--show_config", "--json", "--soc", "ascend910b2", "--checker", "full", "--executor_args", "x=1"
    ).json
    assert shown["executor_args"]["value"] == {"x": 1, "soc": "ascend910b2", "checker": "full"}


def test_exit_codes_reach_the_shell(fake):
    command = [sys.executable, "-m", "npukernelbench", "--model", "fake", "--executor", "fake", "--tasks", "sqrt:smoke"]
    environ = {**os.environ, "COLUMNS": "80"}
    codes = [
        subprocess.run([*command, *options], env=environ, capture_output=True, check=False).returncode
        for options in ([], ["--fail_under", "1", *answering("double")], ["--tasks", "nope"], answering("raise"))
    ]
    assert codes == [0, 1, 2, 4]
