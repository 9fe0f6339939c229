from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from npukernelbench.errors import UsageError
from npukernelbench.nouns import Task
from npukernelbench.tasks.load import load_task
from npukernelbench.tasks.select import fold, select
from tests.suite import suite


@pytest.fixture
def tasks(write_task: Callable[..., Path]) -> list[Task]:
    wanted = [("AddCustom", 1, "Math"), ("AbsMath", 1, "Math"), ("SwiGlu", 2, "Activation")]
    return [load_task(write_task(name=name, level=level, category=category)).task for name, level, category in wanted]


def chosen(tasks: list[Task], *expressions: str) -> dict[str, list[str]]:
    return {item.task.name: [case.id for case in item.cases] for item in select(tasks, expressions)}


@pytest.mark.parametrize("name", ["AddCustom", "add_custom", "add-custom", "ADDCUSTOM", " AddCustom ", "AddCustom,"])
def test_spellings_of_a_name_are_alike(tasks: list[Task], name: str) -> None:
    assert chosen(tasks, name) == {"AddCustom": ["0"]}


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("level1", {"AddCustom": ["0"], "AbsMath": ["0"]}),
        ("level-2", {"SwiGlu": ["0"]}),
        ("math", {"AddCustom": ["0"], "AbsMath": ["0"]}),
        ("elementwise", {"AddCustom": ["0"], "AbsMath": ["0"], "SwiGlu": ["0"]}),
        ("trial", {"AddCustom": ["0"], "AbsMath": ["0"], "SwiGlu": ["0"]}),
        ("all", {"AddCustom": ["0"], "AbsMath": ["0"], "SwiGlu": ["0"]}),
        ("a*", {"AddCustom": ["0"], "AbsMath": ["0"]}),
        ("?wi_glu", {"SwiGlu": ["0"]}),
        ("smoke", {"AddCustom": ["smoke"], "AbsMath": ["smoke"], "SwiGlu": ["smoke"]}),
        ("level2:smoke", {"SwiGlu": ["smoke"]}),
        ("abs_math:all", {"AbsMath": ["0", "smoke"]}),
        ("abs_math:0", {"AbsMath": ["0"]}),
        ("abs_math:s*", {"AbsMath": ["smoke"]}),
        ("abs_math:smoke,AbsMath", {"AbsMath": ["0", "smoke"]}),
        ("swiglu , level1:smoke", {"AddCustom": ["smoke"], "AbsMath": ["smoke"], "SwiGlu": ["0"]}),
    ],
)
def test_expressions(tasks: list[Task], expression: str, expected: dict[str, list[str]]) -> None:
    assert chosen(tasks, expression) == expected
    assert list(chosen(tasks, expression)) == [name for name in ("AddCustom", "AbsMath", "SwiGlu") if name in expected]


def test_several_expressions_add_up_in_any_order(tasks: list[Task]) -> None:
    assert chosen(tasks, "SwiGlu", "AbsMath") == chosen(tasks, "AbsMath,SwiGlu", "swiglu")


@pytest.mark.parametrize(
    ("expression", "remedy"),
    [
        ("AddCustm", "did you mean AddCustom?"),
        ("ele", "did you mean elementwise?"),
        ("activatoin", "did you mean Activation?"),
        ("smok", "did you mean smoke?"),
        ("level9", "did you mean level"),
        ("zzzzzz", "npukb ls tasks"),
        ("zz*", "npukb ls tasks"),
        ("AbsMath:smoek", "did you mean smoke?"),
        ("AbsMath:99", "there are 0, smoke"),
        ("", "try --tasks smoke"),
        (" , ", "try --tasks smoke"),
    ],
)
def test_unknown_names_get_a_suggestion(tasks: list[Task], expression: str, remedy: str) -> None:
    with pytest.raises(UsageError) as caught:
        select(tasks, [expression])
    assert caught.value.remedy is not None
    assert remedy in caught.value.remedy
    assert caught.value.exit_code == 2


def test_a_task_without_full_cases_gives_all_it_has(write_task: Callable[..., Path]) -> None:
    path = write_task(("dtype: float16}}}", "dtype: float16}}, profiles: [mine]}"))
    task = load_task(path).task
    assert chosen([task], "twice") == {"Twice": ["0", "smoke"]}
    assert chosen([task], "mine") == {"Twice": ["0"]}


def test_folding_forgets_case_and_separators() -> None:
    assert fold("Foreach-Add_Scalar") == "foreachaddscalar"


def test_a_level_is_the_benchmarks_whatever_else_is_installed() -> None:
    tasks = list(suite().values())
    counts = {name: len(select(tasks, [name])) for name in ("level1", "level2", "level3", "ascendcraft/level2")}
    assert counts == {"level1": 37, "level2": 102, "level3": 18, "ascendcraft/level2": 52}
    assert {selected.task.suite for selected in select(tasks, ["level2"])} == {"npukernelbench"}
    strangers = [replace(task, suite="mine") for task in tasks[:3]]
    assert select(strangers, [f"level{tasks[0].level}"])
