"""``npukb compare`` and ``npukb leaderboard`` on folders of runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from npukernelbench.nouns import Outcome
from npukernelbench.store import Manifest, RunStore
from npukernelbench.testing.samples import judged_sample


def a_run(path: Path, model: str, solved: int) -> Path:
    """Ten tasks, the first ``solved`` of them right."""
    tasks = {f"T{i}": {"level": 1, "category": "Math", "suite": "s", "hash": "h", "cases": ["0"]} for i in range(10)}
    identity = {"model": model, "track": "static", "samples": 1, "tasks": tasks, "executor": {"tier": "twin"}}
    with RunStore.open(path, Manifest(identity)) as store:
        for i, name in enumerate(tasks):
            store.add_sample(judged_sample(Outcome.OK if i < solved else Outcome.WRONG_VALUE, task=name))
    return path


@pytest.fixture
def results(tmp_path: Path) -> Path:
    a_run(tmp_path / "results" / "a", "alpha", 1)
    a_run(tmp_path / "results" / "b", "beta", 9)
    return tmp_path / "results"


def test_compare(npukb, results):
    paths = results / "a", results / "b"
    shown = npukb("compare", *paths)
    assert shown.code == 0
    assert "B is right more often than A (exact test over tasks, p 0.008)." in shown.out
    assert "| correct@1 | 0.100 | 0.900 |" in npukb("compare", *paths, "--format", "markdown").out
    page = npukb("compare", *paths, "--format", "html").out
    assert '<td>correct@1</td><td class="number">0.100</td><td class="number">0.900</td>' in page
    assert "http" not in page.replace("http-equiv", "")
    (pair,) = npukb("compare", *paths, "--json").json["comparisons"]
    assert len(pair["changed"]) == 8
    refused = npukb("compare", results / "a")
    assert refused.code == 2
    assert "nothing to compare with" in refused.err


def test_leaderboard(npukb, results):
    shown = npukb("leaderboard", results)
    assert shown.code == 0
    assert shown.out.index(" beta ") < shown.out.index(" alpha ")
    assert npukb("leaderboard", results, "--format", "csv").out.startswith("board,tier,")
    assert "| 1 | beta |" in npukb("leaderboard", results, "--format", "markdown").out
    assert "<td>1</td><td>beta</td>" in npukb("leaderboard", results, "--format", "html").out
    assert npukb("leaderboard", results, "--json").json[0]["rows"][0]["model"] == "beta"
    refused = npukb("leaderboard", results, "--by", "beauty")
    assert refused.code == 2
    assert "--by" in refused.err
