"""``--hidden_seed``: hidden cases by name, the same for one secret, and the secret nowhere to be seen."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

SECRET = "zebra-5821"


@pytest.fixture
def run(npukb, fake):
    """``run("--tasks", …)`` runs the fake model on the fake executor."""

    def call(*options):
        answer = json.dumps({"text": "```cpp\n// {task} {index} fake: ok\n```\n"})
        return npukb("run", "--model", "fake", "--executor", "fake", "--model_args", answer, *options)

    return call


def leaks() -> list[Path]:
    """Files below the current and the cache folder that hold the secret."""
    return [path for path in Path("..").rglob("*") if path.is_file() and SECRET.encode() in path.read_bytes()]


def test_a_hidden_case_is_judged_by_name(npukb, fake, kernel):
    judge = ("judge", "sqrt", kernel(), "--executor", "fake", "--case", "hidden-003")
    finished = npukb(*judge, "--hidden_seed", SECRET)
    assert finished.code == 0, finished.err
    assert finished.out.startswith("✓ ok  Sqrt · case hidden-003 · static")
    assert SECRET not in finished.out + finished.err
    missing = npukb(*judge)
    assert missing.code == 2
    assert "hidden cases need --hidden_seed" in missing.err


def test_prompts_of_hidden_cases_differ_by_secret_and_repeat(npukb):
    def prompt(secret):
        return npukb("prompt", "swiglu", "--case", "hidden-004", "--hidden_seed", secret).out

    assert prompt("a") == prompt("a")
    assert prompt("a") != prompt("b")


def test_the_variable_works_as_the_option(npukb, monkeypatch):
    option = npukb("prompt", "sqrt", "--case", "hidden-004", "--hidden-seed", SECRET).out
    monkeypatch.setenv("NPUKB_HIDDEN_SEED", SECRET)
    assert npukb("prompt", "sqrt", "--case", "hidden-004").out == option


def test_a_dynamic_prompt_never_shows_hidden_cases(npukb):
    plain = npukb("prompt", "sqrt", "--track", "dynamic").out
    assert npukb("prompt", "sqrt", "--track", "dynamic", "--hidden_seed", SECRET).out == plain


def test_a_run_keeps_the_hash_and_not_the_secret(run):
    finished = run("--tasks", "sqrt:hidden,gelu", "--hidden_seed", SECRET)
    assert finished.code == 0, finished.err
    (folder,) = Path("results").iterdir()
    identity = json.loads((folder / "manifest.json").read_text())["identity"]
    assert identity["tasks"]["Sqrt"]["cases"] == [f"hidden-{number:03d}" for number in range(12)]
    assert len(identity["hidden"]) == 32
    assert json.loads((folder / "config.json").read_text())["settings"]["hidden_seed"]["value"] == "<redacted>"
    assert leaks() == []
    assert SECRET not in finished.out + finished.err
    again = run("--tasks", "sqrt:hidden,gelu", "--hidden_seed", SECRET)
    assert "nothing to do" in again.err
    run("--tasks", "sqrt:hidden,gelu", "--hidden_seed", "other")
    assert len(list(Path("results").iterdir())) == 2


def test_a_secret_that_is_not_used_is_no_part_of_a_run(run):
    run("--tasks", "sqrt")
    finished = run("--tasks", "sqrt", "--hidden_seed", SECRET)
    assert "nothing to do" in finished.err
    (folder,) = Path("results").iterdir()
    assert "hidden" not in json.loads((folder / "manifest.json").read_text())["identity"]


def test_samples_may_name_hidden_cases(run):
    finished = run("--samples", '{"sqrt": ["hidden-001", "0"]}', "--hidden_seed", SECRET, "--json")
    assert finished.json["totals"]["samples"] == 2


def test_the_configuration_is_shown_without_the_secret(run):
    shown = run("--show_config", "--hidden_seed", SECRET)
    assert "<redacted>" in shown.out
    assert SECRET not in shown.out


@pytest.mark.parametrize("option", [["--hidden_seed", SECRET], [f"--hidden-seed={SECRET}"]])
def test_a_crash_log_has_no_secret(npukb, monkeypatch, option):
    def broken(*_: object) -> None:
        raise RuntimeError("unforeseen")

    monkeypatch.setattr("npukernelbench.cli.run.make_plan", broken)
    finished = npukb("run", "--model", "reference", "--tasks", "sqrt", *option)
    assert finished.code == 4
    assert "unforeseen" in finished.err
    logs = list(Path("..").rglob("npukb-crash-*.log"))
    assert len(logs) == 1
    assert "<redacted>" in logs[0].read_text()
    assert leaks() == []
