"""Records of runs whose samples are given as words, without a folder; and folders where reading is the point."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from npukernelbench.nouns import Outcome, Sample
from npukernelbench.report.comparison.records import RunRecord, read_record
from npukernelbench.report.results import summarise
from npukernelbench.store import Manifest, RunStore, StoredRun, read_run
from npukernelbench.testing.samples import judged_sample
from tests.report.whole_run import a_run

#: One letter per sample: right, fast and right, wrong value, compile error, a fault of ours.
OUTCOMES = {
    "o": Outcome.OK,
    "f": Outcome.OK,
    "w": Outcome.WRONG_VALUE,
    "c": Outcome.COMPILE_ERROR,
    "i": Outcome.INFRA_ERROR,
}
RunFolder = Callable[..., Path]


def identity(samples: Mapping[str, str], **changes: Any) -> dict[str, Any]:
    tasks: dict[str, Any] = {}
    for name in samples:
        task, _, case = name.partition("/")
        tasks.setdefault(task, {"level": 1, "category": "Math", "suite": "s", "hash": f"h-{task}", "cases": []})
        tasks[task]["cases"].append(case or "0")
    executor = {"name": "twin", "tier": "twin", "args": {}, "description": {"machine": "m1", "time_model": "t1"}}
    count = max(map(len, samples.values()))
    return {
        "model": "m",
        "track": "static",
        "samples": count,
        "seed": 0,
        "tasks": tasks,
        "executor": executor,
    } | changes


def judged(name: str, index: int, letter: str) -> Sample:
    task, _, case = name.partition("/")
    outcome = OUTCOMES[letter]
    metrics = {"correct": 1.0, "roofline": 0.9 if letter == "f" else 0.1} if outcome is Outcome.OK else {}
    return judged_sample(outcome, task=task, case=case or "0", index=index, metrics=metrics)


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    """``folder("a", {"Sqrt/0": "ow"})`` is a run folder of one problem with a right and a wrong sample."""

    def make(name: str, samples: Mapping[str, str], **changes: Any) -> Path:
        manifest = Manifest(identity(samples, **changes))
        with RunStore.open(tmp_path / name, manifest) as store:
            for problem, letters in samples.items():
                for index, letter in enumerate(letters):
                    store.add_sample(judged(problem, index, letter))
            store.write_results(summarise(manifest, store.samples().values()))
        return tmp_path / name

    return make


@pytest.fixture
def record(folder: RunFolder) -> Callable[..., RunRecord]:
    """The same, read."""
    return lambda name, samples, **changes: read_record(folder(name, samples, **changes))


@pytest.fixture(scope="session")
def stored(tmp_path_factory: pytest.TempPathFactory) -> StoredRun:
    """A run with everything a page shows, read back."""
    return read_run(a_run(tmp_path_factory.mktemp("whole") / "run"))
