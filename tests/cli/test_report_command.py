"""``npukb report``: a run folder read back."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from npukernelbench.nouns import Outcome, Profile, Sample
from npukernelbench.report.results import summarise
from npukernelbench.store import Manifest, RunStore
from npukernelbench.testing.samples import judged_sample


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A finished run of two samples."""
    manifest = Manifest({"model": "m", "tasks": {"Sqrt": {"level": 1, "category": "Math", "suite": "s"}}})
    path = tmp_path / "run"
    with RunStore.open(path, manifest) as store:
        for case, outcome in (("0", Outcome.OK), ("1", Outcome.WRONG_VALUE)):
            store.add_sample(judged(case, outcome))
        store.write_results(summarise(manifest, store.samples().values()))
    return path


def judged(case: str, outcome: Outcome) -> Sample:
    good = outcome is Outcome.OK
    profile = Profile(2.5, True, "m", 4) if good else None
    metrics = {"compiled": 1.0, "correct": float(good), **({"predicted_time_us": 2.5} if good else {})}
    return judged_sample(outcome, case=case, profile=profile, metrics=metrics)


def test_the_tables_of_a_run(npukb, folder):
    finished = npukb("report", folder)
    assert finished.code == 0
    assert finished.out.count("Sqrt") >= 2
    assert "predicted µs (twin)" in finished.out
    assert "wrong_value" in finished.out
    assert finished.out.endswith("1 of 2 valid samples correct, 2 compiled\n")


def test_json_is_what_results_json_holds(npukb, folder):
    stored = json.loads((folder / "results.json").read_text())
    shown = npukb("report", folder, "--json").json
    assert npukb("report", folder, "--format", "json").json == shown
    assert {name: stored[name] for name in shown} == shown


def test_markdown(npukb, folder):
    text = npukb("report", folder, "--format", "markdown").out
    assert "| Sqrt | 0 | ✓ | ✓ | 2.50 | ok |" in text
    assert "### Levels" in text


@pytest.mark.parametrize("what", ["nothing", "empty", "file"])
def test_what_is_no_run_is_refused_with_its_path(npukb, tmp_path, what):
    path = tmp_path / what
    if what == "empty":
        path.mkdir()
    elif what == "file":
        path.write_text("x")
    finished = npukb("report", path)
    assert finished.code in (2, 4)
    assert finished.out == ""
    assert str(path) in finished.err
    assert "Traceback" not in finished.err


def test_a_corrupt_log_names_its_line(npukb, folder):
    log = folder / "events.jsonl"
    lines = log.read_text().splitlines()
    log.write_text("\n".join([lines[0], "{nonsense", *lines[1:]]) + "\n")
    for index in folder.glob("index.sqlite*"):
        index.unlink()
    finished = npukb("report", folder)
    assert finished.code == 4
    assert f"{log}:2" in finished.err


def test_a_run_can_be_moved(npukb, folder, tmp_path):
    before = npukb("report", folder).out
    shutil.move(folder, tmp_path / "elsewhere")
    assert npukb("report", tmp_path / "elsewhere").out == before


def test_a_page_is_written_into_the_folder(npukb, folder):
    finished = npukb("report", folder, "--format", "html")
    assert finished.code == 0
    assert finished.out == f"{folder / 'report.html'}\n"
    assert (folder / "report.html").read_text(encoding="utf-8").startswith("<!doctype html>")
