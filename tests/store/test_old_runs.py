"""Folders that earlier states really wrote: read, summed up, compared with each other, their kernels judged again."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from npukernelbench.errors import StoreError
from npukernelbench.judge.pipeline import Judge, JudgeSettings
from npukernelbench.nouns import Track
from npukernelbench.report.comparison.paired import compare_runs
from npukernelbench.report.comparison.records import read_record
from npukernelbench.report.results import summarise
from npukernelbench.store import read_run
from npukernelbench.store.migrations import RESULTS_SCHEMA
from npukernelbench.store.results import read_results
from npukernelbench.testing import FakeExecutor, fake_plugins, make_plan

OLD = sorted(path for path in (Path(__file__).parent / "old_runs").iterdir() if path.is_dir())
OUTCOMES = {"ok": 2, "crash": 2, "wrong_value": 4}


@pytest.fixture
def copied(tmp_path):
    """Reading a run makes an index beside it: not in the checkout."""

    def copy(folder):
        return Path(shutil.copytree(folder, tmp_path / folder.name))

    return copy


def test_there_are_some():
    assert len(OLD) >= 3


@pytest.mark.parametrize("folder", OLD, ids=lambda path: path.name)
def test_an_old_folder_is_read_whole(folder, copied):
    stored = read_run(copied(folder))
    results = read_results(folder)
    assert results.schema == RESULTS_SCHEMA
    assert {key.value: count for key, count in results.totals.outcomes.items()} == OUTCOMES
    assert [(row.turn, row.turns) for row in results.samples] == [(0, 1)] * 8
    again = summarise(stored.manifest, stored.samples.values())
    assert again.totals == results.totals
    shares = (again.aggregates.all.correct_at_1.valid, results.aggregates.all.correct_at_1.valid)
    assert {share.value for share in shares} == {0.25}, "intervals may be computed in another way by now"
    assert json.loads((folder / "results.json").read_text(encoding="utf-8"))["schema"] == 1, "the file stays"


def test_old_kernels_are_judged_again(copied, tmp_path):
    plan, plugins = make_plan(tmp_path / "none"), fake_plugins()
    tasks = {selected.task.name: selected.task for selected in plan.tasks}
    judge = Judge.of(FakeExecutor(), plugins, JudgeSettings())
    for folder in OLD:
        for sample in read_run(copied(folder)).samples.values():
            task = tasks[sample.key.task]
            verdict = judge.judge(task, (task.case(sample.key.case),), Track.STATIC, sample.candidate)
            assert verdict.outcome is sample.verdict.outcome, (folder.name, sample.key)


def test_old_runs_are_compared(copied):
    records = [read_record(copied(folder)) for folder in OLD]
    assert len(compare_runs(records)) == len(OLD) - 1
    assert len({(len(record.attempts), sum(attempt.correct for attempt in record.attempts)) for record in records}) == 1


@pytest.mark.parametrize(
    ("schema", "remedy"), [(RESULTS_SCHEMA + 1, "update npukernelbench"), (0, "delete the file"), (None, "delete")]
)
def test_what_cannot_be_read_is_refused_with_a_remedy(copied, schema, remedy):
    folder = copied(OLD[0])
    path = folder / "results.json"
    content = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**content, "schema": schema}), encoding="utf-8")
    with pytest.raises(StoreError, match=f"(?s)results.json: has schema version.*{remedy}"):
        read_results(folder)
