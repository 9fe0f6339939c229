"""Golden kernels in front of the judge, with the twin as executor."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from npukernelbench.generate.extract import candidate_of
from npukernelbench.nouns import Case, Task, Track, Verdict
from npukernelbench.prompts import GoldenKernels
from npukernelbench.tasks import load_task
from tests.judging import twin_judge
from tests.suite import suite
from tests.tables import read_yaml

#: (task, case, edit of the golden kernel's text) -> verdict
JudgeGolden = Callable[[Task, Case, Callable[[str], str]], Verdict]


HERE = Path(__file__).parent


def _ragged(*files: Path) -> Mapping[str, list[dict[str, Any]]]:
    cases: dict[str, list[dict[str, Any]]] = {}
    for file in files:
        cases |= read_yaml(file)
    return cases


#: Cases by task. Kernels of the static track are judged on the first alone, operators of the dynamic track on both.
RAGGED, RAGGED_DYNAMIC = _ragged(HERE / "ragged.yaml"), _ragged(*sorted(HERE.glob("ragged_dynamic/*.yaml")))


@pytest.fixture(scope="session")
def judge_golden() -> Iterator[JudgeGolden]:
    """Judges a task's golden kernel, edited by a function, on one case."""
    with twin_judge() as judge, GoldenKernels() as goldens:

        def verdict(task: Task, case: Case, edit: Callable[[str], str]) -> Verdict:
            [text] = goldens.kernel(task, case, Track.STATIC).values()
            return judge.judge(task, [case], Track.STATIC, candidate_of({"kernel.cpp": edit(text)}))

        yield verdict


@pytest.fixture(scope="session")
def ragged_tasks(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Task]:
    """Every task with the ragged cases instead of its own, loaded the way any task is."""
    tasks = {}
    tasks_of_ours = suite()
    for name in {**RAGGED, **RAGGED_DYNAMIC}:
        cases = [*RAGGED.get(name, ()), *RAGGED_DYNAMIC.get(name, ())]
        path = tasks_of_ours[name].path
        folder = path.parent if path.is_file() else path
        root = tmp_path_factory.mktemp(name)
        shutil.copy(folder.parents[2] / "suite.yaml", root)
        copy = root / Path(*folder.parts[-3:])
        shutil.copytree(folder, copy)
        for shared in {path for golden in tasks_of_ours[name].goldens for path in golden.shared}:
            shutil.copytree(shared, (copy / os.path.relpath(shared, folder)).resolve())
        document = copy / "task.yaml"
        head, separator, _ = document.read_text(encoding="utf-8").partition("\ncases:\n")
        assert separator, f"{document} has no list of cases"
        ragged = {"cases": [{**case, "profiles": ["extra"]} for case in cases]}
        document.write_text(f"{head}\n{yaml.safe_dump(ragged, sort_keys=False)}", encoding="utf-8")
        tasks[name] = load_task(document).task
    return tasks
