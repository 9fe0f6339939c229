"""A real cluster of several node processes on this machine. ``scripts/test-models`` installs Ray."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from benchmarks.scale.answers import Decided, decided, end, start, stored, write_answers
from benchmarks.scale.proof import cluster as cluster_of
from benchmarks.scale.proof import head_lost
from npukb_ray.cluster import RayCluster
from npukb_ray.desk import Inner
from npukb_ray.pool import DeskLostError
from npukernelbench.nouns import Track

pytest.importorskip("ray")

#: Answers, three quarters of them right, and different ones to each of the eight tasks.
ANSWERS, DISTINCT = 64, 7
#: Until a run that hangs is given up.
LIMIT_S = 300


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """A head without nodes."""
    with cluster_of(0) as made:
        yield made


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("answers") / "answers.jsonl"
    write_answers(path, ANSWERS, DISTINCT)
    return path


@pytest.fixture(scope="module")
def alone(answers: Path, tmp_path_factory: pytest.TempPathFactory) -> Decided:
    """What is decided without Ray."""
    folder = tmp_path_factory.mktemp("alone")
    end(folder, start(folder, answers, ANSWERS, "twin", {}), LIMIT_S)
    found = decided(folder)
    assert len(found.verdicts) == ANSWERS
    assert found.outcomes.keys() == {"ok", "compile_error", "rule_violation"}
    assert set(found.judged.values()) == {1}
    return found


def test_verdicts_are_those_of_one_machine_and_a_killed_node_loses_none(
    cluster: Any, answers: Path, alone: Decided, tmp_path: Path
) -> None:
    stays, goes = cluster.add_node(num_cpus=1), cluster.add_node(num_cpus=1)
    try:
        run = start(tmp_path, answers, ANSWERS, "ray", {"address": cluster.address})
        deadline = time.monotonic() + LIMIT_S
        while run.poll() is None and not stored(tmp_path) and time.monotonic() < deadline:
            time.sleep(0.01)
        cluster.remove_node(goes, allow_graceful=False)
        end(tmp_path, run, LIMIT_S)
        assert decided(tmp_path) == alone
    finally:
        cluster.remove_node(stays, allow_graceful=False)


def test_a_desk_on_a_node_that_has_just_left_is_lost(cluster: Any) -> None:
    needed = {"CPU": 1.0}
    joined = RayCluster(cluster.address, Inner("twin", {}, needed), slots=1, patience_s=10.0)
    try:
        desk = joined.desk("0f" * 28)  # an id that no node has
        with pytest.raises(DeskLostError, match="schedulable"):
            desk.prepare(Track.STATIC)
    finally:
        joined.close()


def test_a_run_whose_head_is_lost_goes_on_on_a_new_cluster(answers: Path, alone: Decided, tmp_path: Path) -> None:
    assert head_lost(tmp_path, answers, ANSWERS, patience_s=3.0) == alone


def test_a_cluster_that_does_not_answer(answers: Path, tmp_path: Path) -> None:
    end(tmp_path, start(tmp_path, answers, ANSWERS, "ray", {"address": "127.0.0.1:1"}), LIMIT_S, code=4)
    output = (tmp_path / "output.txt").read_text()
    assert "no Ray cluster answers at '127.0.0.1:1'" in output
    assert "ray start --head" in output
