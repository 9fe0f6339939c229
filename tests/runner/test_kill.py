"""``kill -9`` at several moments, then the same command: the same results, and nothing finished is done twice."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from hashlib import sha256
from pathlib import Path

import pytest

from npukernelbench.store import read_run

SCRIPT = Path(__file__).with_name("killable_run.py")


def start(folder, jobs):
    return subprocess.Popen([sys.executable, str(SCRIPT), str(jobs)], cwd=folder, env=dict(os.environ))


def lines(folder, name):
    path = folder / name
    return path.read_text().splitlines() if path.exists() else []


def results(folder):
    content = json.loads((folder / "run" / "results.json").read_text())
    del content["timing"]
    return content


def artifact(sample):
    """The fake executor's key for a sample's candidate."""
    return sha256(f"{sample.candidate.hash}/{sample.key.task}/{sample.key.case}".encode()).hexdigest()[:16]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("undisturbed")
    assert start(folder, 1).wait() == 0
    return results(folder)


@pytest.mark.parametrize("moments", [("events", 1), ("asked.log", 4), ("calls.log", 2), ("calls.log", 13)], ids=str)
def test_a_killed_run_ends_as_if_nothing_had_happened(tmp_path, undisturbed, moments):
    name, count = moments
    process = start(tmp_path, 2)
    while process.poll() is None and len(lines(tmp_path, "run/events.jsonl" if name == "events" else name)) < count:
        time.sleep(0.002)
    process.send_signal(signal.SIGKILL)
    process.wait()

    stored = read_run(tmp_path / "run")
    judged = {artifact(sample) for sample in stored.samples.values()}
    answered = {str(key) for key in stored.completions}
    calls, asked = len(lines(tmp_path, "calls.log")), len(lines(tmp_path, "asked.log"))

    assert start(tmp_path, 2).wait() == 0
    assert results(tmp_path) == undisturbed
    again = {line.split()[-1] for line in lines(tmp_path, "calls.log")[calls:]}
    assert again.isdisjoint(judged)
    assert answered.isdisjoint(lines(tmp_path, "asked.log")[asked:])
    assert len(read_run(tmp_path / "run").samples) == 12


def test_a_run_killed_again_and_again_still_ends(tmp_path, undisturbed):
    judged_before = -1
    for _ in range(40):
        process = start(tmp_path, 2)
        seen = len(lines(tmp_path, "calls.log"))
        while process.poll() is None and len(lines(tmp_path, "calls.log")) < seen + 7:
            time.sleep(0.002)
        if process.poll() == 0:
            break
        process.send_signal(signal.SIGKILL)
        process.wait()
        judged = len(read_run(tmp_path / "run").samples)
        assert judged >= judged_before
        judged_before = judged
    assert results(tmp_path) == undisturbed
