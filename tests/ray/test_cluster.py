"""A real cluster of several node processes on this machine. ``scripts/test-models`` installs Ray."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from npukernelbench.nouns.codec import to_json
from npukernelbench.store import read_run

pytest.importorskip("ray")

TASKS = "Reduce:smoke,Comparison:smoke"
#: Until a run that hangs is given up.
LIMIT_S = 300
#: A dead node is noticed in some ten seconds instead of half a minute, and one that is slow on a busy machine is kept.
HEALTH = {
    "health_check_initial_delay_ms": 0,
    "health_check_period_ms": 1000,
    "health_check_timeout_ms": 3000,
    "health_check_failure_threshold": 3,
}


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    from ray.cluster_utils import Cluster

    made = Cluster(
        initialize_head=True,
        head_node_args={"num_cpus": 0, "include_dashboard": False, "_system_config": HEALTH},
    )
    try:
        yield made
    finally:
        made.shutdown()


def start(folder: Path, executor: str, args: dict[str, object]) -> subprocess.Popen[str]:
    folder.mkdir()
    words = ["run", "--model", "reference", "--tasks", TASKS, "--executor", executor]
    line = [sys.executable, "-m", "npukernelbench", *words, "--executor_args", json.dumps(args)]
    return subprocess.Popen(line, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def verdicts(folder: Path, process: subprocess.Popen[str]) -> dict[str, object]:
    """What was decided on every sample, without what the clock of this machine said."""
    output, _ = process.communicate(timeout=LIMIT_S)
    assert process.returncode == 0, output[-4000:]
    (run,) = (folder / "results").iterdir()
    samples = list(read_run(run).samples.values())
    assert samples
    decided = {}
    for sample in samples:
        verdict = to_json(sample.verdict)
        assert isinstance(verdict, dict)
        decided[str(sample.key)] = {name: value for name, value in verdict.items() if name != "timings"}
    assert len(decided) == len(samples), "a sample was counted twice"
    return decided


def stored(folder: Path) -> int:
    return sum(log.read_bytes().count(b'"type":"sample"') for log in folder.glob("results/*/events.jsonl"))


def test_verdicts_are_those_of_one_machine_and_a_killed_node_loses_none(cluster: Any, tmp_path: Path) -> None:
    alone = verdicts(tmp_path / "alone", start(tmp_path / "alone", "twin", {}))
    stays, goes = cluster.add_node(num_cpus=1), cluster.add_node(num_cpus=1)
    try:
        run = start(tmp_path / "ray", "ray", {"address": cluster.address})
        deadline = time.monotonic() + LIMIT_S
        while run.poll() is None and not stored(tmp_path / "ray") and time.monotonic() < deadline:
            time.sleep(0.01)
        cluster.remove_node(goes, allow_graceful=False)
        assert verdicts(tmp_path / "ray", run) == alone
    finally:
        cluster.remove_node(stays, allow_graceful=False)


def test_a_cluster_that_does_not_answer(tmp_path: Path) -> None:
    run = start(tmp_path / "none", "ray", {"address": "127.0.0.1:1"})
    output, _ = run.communicate(timeout=LIMIT_S)
    assert run.returncode == 4
    assert "no Ray cluster answers at '127.0.0.1:1'" in output
    assert "ray start --head" in output
