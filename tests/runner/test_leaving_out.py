"""Tasks that an executor or backend cannot take are left out before the run, and the user is told."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from npukernelbench.errors import UsageError
from npukernelbench.nouns import Core, Task, Track
from npukernelbench.run.runner import run
from npukernelbench.run.selective import leave_out, require_task
from npukernelbench.tasks import Selected
from npukernelbench.testing import FakeBackend, FakePlugin, RecordingObserver, fake_plugins, make_plan, tiny_task


class Picky:
    """Takes vector kernels only."""

    def refuses(self, task: Task, track: Track) -> str | None:
        return None if task.core is Core.VECTOR else "no cube here"


def selected(*tasks: Task) -> tuple[Selected, ...]:
    return tuple(Selected(task, task.cases) for task in tasks)


VECTOR = tiny_task()
CUBE = replace(VECTOR, name="TinyCube", core=Core.CUBE)


def test_what_one_party_refuses_is_left_out_with_its_reason() -> None:
    kept, left = leave_out(selected(VECTOR, CUBE), Track.STATIC, (object(), Picky()))
    assert [one.task.name for one in kept] == [VECTOR.name]
    assert left == {"no cube here": ["TinyCube"]}


def test_nothing_left_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="no cube here"):
        leave_out(selected(CUBE), Track.STATIC, (Picky(),))
    with pytest.raises(UsageError, match="TinyCube"):
        require_task(Picky(), CUBE, Track.STATIC)
    require_task(Picky(), VECTOR, Track.STATIC)
    require_task(object(), CUBE, Track.STATIC)


def test_a_run_says_what_it_left_out_and_keeps_it_with_the_results(tmp_path: Path) -> None:
    class PickyBackend(FakeBackend):
        def refuses(self, task: Task, track: Track) -> str | None:
            return "not my kind" if task.name == "TinyCube" else None

    fakes = FakePlugin()
    fakes.backend = PickyBackend
    observer = RecordingObserver()
    plan = make_plan(tmp_path / "run", tasks=selected(VECTOR, CUBE))
    summary = run(plan, fake_plugins(fakes), observer)
    assert summary.total == summary.ok
    assert any("left out, not my kind: TinyCube" in text for text in observer.messages)
    manifest = json.loads((plan.directory / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["provenance"]["left_out"] == {"not my kind": ["TinyCube"]}
