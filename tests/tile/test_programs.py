"""Programs beside tasks: golden kernels are exactly what they lower to, and they mean what the task says."""

from __future__ import annotations

from pathlib import Path

import pytest

from npukb_tile.checking import check_budgets, check_interface, check_values
from npukb_tile.lowering import lower_dynamic
from npukb_tile.parse import parse_file
from npukernelbench.nouns import Case, Task, TensorCase
from npukernelbench.tasks.hidden import hidden_cases
from tests.suite import suite

SUITE = suite()
PROGRAMS = {
    task.name: (task, task.path.parent / "golden" / "tile.py")
    for task in SUITE.values()
    if (task.path.parent / "golden" / "tile.py").is_file()
}
SMALL = 6_000


def elements(case: Case) -> int:
    return sum(item.tensor.size for item in case.inputs.values() if isinstance(item, TensorCase))


def test_every_operator_of_ascendcraft_has_a_program() -> None:
    assert {task.name for task in SUITE.values() if task.suite == "ascendcraft"} <= set(PROGRAMS)


@pytest.mark.parametrize(("task", "path"), PROGRAMS.values(), ids=PROGRAMS)
def test_the_golden_kernel_is_the_lowered_program(task: Task, path: Path) -> None:
    files = lower_dynamic(parse_file(path)).files
    folder = path.parent / "dynamic"
    there = {file.relative_to(folder).as_posix() for file in folder.rglob("*") if file.is_file()}
    assert there == set(files)
    for name, text in files.items():
        assert (folder / name).read_text(encoding="utf-8") == text, f"npukb tile lower {path} --into {folder}"


@pytest.mark.parametrize(("task", "path"), PROGRAMS.values(), ids=PROGRAMS)
def test_interface_memory_and_values(task: Task, path: Path) -> None:
    program = parse_file(path)
    check_interface(program, task)
    hidden = hidden_cases(task, "tile", 12)
    assert 0 < check_budgets(program, (*task.cases, *hidden)) <= 192 * 1024
    small = [case for case in (*task.cases, *hidden) if elements(case) <= SMALL][:2]
    assert small
    for case in small:
        assert check_values(program, task, case).wrong == ""
