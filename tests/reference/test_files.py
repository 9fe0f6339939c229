"""A reference may be a file beside its task: it is part of the task's hash, and what is wrong with it has a place."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from npukernelbench.errors import TaskError
from npukernelbench.nouns import Task
from npukernelbench.reference import expected_outputs
from npukernelbench.tasks.cache import TaskCache
from npukernelbench.tasks.inputs import generate_inputs
from npukernelbench.tasks.load import load_task

TWICE = "def twice(x, scale):\n    return scale * x\n"


@pytest.fixture
def task_file(tmp_path: Path) -> Callable[[str], Path]:
    from tests.tasks.conftest import TEMPLATE

    def write(reference: str) -> Path:
        text = TEMPLATE.format(name="Twice", level=1, category="Math", kernel="twice")
        path = tmp_path / "task.yaml"
        path.write_text(text.replace("reference: activation.swish", f"reference: {reference}"))
        return path

    return write


def outputs(task: Task) -> tuple[np.ndarray, np.ndarray]:
    inputs = generate_inputs(task, task.cases[0], 1)
    return inputs["x"].astype(np.float64), expected_outputs(task, task.cases[0], inputs)["y"]


def test_a_file_beside_the_task_is_its_reference(task_file: Callable[[str], Path], tmp_path: Path) -> None:
    (tmp_path / "ours.py").write_text(TWICE)
    task, files = load_task(task_file("ours.py:twice"))
    x, y = outputs(task)
    np.testing.assert_array_equal(y, 2 * x)
    assert tmp_path / "ours.py" in files

    (tmp_path / "ours.py").write_text(TWICE.replace("scale * x", "3 * x"))
    again, _ = load_task(task.path)
    assert again.content_hash != task.content_hash
    np.testing.assert_array_equal(outputs(again)[1], 3 * x)


def test_a_changed_file_makes_the_cached_task_stale(task_file: Callable[[str], Path], tmp_path: Path) -> None:
    ours = tmp_path / "ours.py"
    ours.write_text(TWICE)
    path = task_file("ours.py:twice")
    import os

    for file in (ours, path):
        os.utime(file, (1, 1))
    cache = TaskCache(tmp_path / "cache", tmp_path)
    cache.put(path, *load_task(path))
    cache.save()
    assert TaskCache(tmp_path / "cache", tmp_path).get(path) is not None
    ours.write_text(TWICE + "\n")
    assert TaskCache(tmp_path / "cache", tmp_path).get(path) is None


def test_what_is_wrong_with_the_file_has_a_place(task_file: Callable[[str], Path], tmp_path: Path) -> None:
    with pytest.raises(TaskError, match=r"there is no file missing.py") as missing:
        load_task(task_file("missing.py:twice"))
    assert missing.value.field == "reference"
    assert missing.value.location is not None
    assert missing.value.location.line
    ours = tmp_path / "ours.py"
    for text, words in (
        ("def other(x, scale):\n    return x\n", "twice"),
        ("import numpy\n\nnumpy.nothing\n", r"ours\.py:3: AttributeError"),
        ("x = (\n", r"ours\.py:1: SyntaxError"),
    ):
        ours.write_text(text)
        task, _ = load_task(task_file("ours.py:twice"))
        with pytest.raises(TaskError, match=words) as raised:
            outputs(task)
        assert "file.py:function" in str(raised.value.remedy)
