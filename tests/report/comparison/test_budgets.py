"""Searches of two runs side by side: what they had reached when they had spent the same."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from npukernelbench.report.comparison.budgets import at_equal_budgets
from npukernelbench.report.comparison.present import compare_paths
from npukernelbench.store import read_run
from tests.report.whole_run import a_search


def test_runs_are_compared_where_the_one_that_spent_least_ended(tmp_path) -> None:
    """The second search is right later, and faster in the end, with a kernel more than the first has judged."""
    first = a_search(tmp_path / "first", (4.0, 2.0))
    second = a_search(tmp_path / "second", (0.0, 8.0, 1.0), strategy="evolve")
    compared = compare_paths([first, second])
    [table] = [table for table in compared.tables if table.title == "At equal budgets"]
    assert [column.name for column in table.columns][2:] == ["A right", "A speed-up", "B right", "B speed-up"]
    assert [row[0] for row in table.rows] == ["judged kernels", "tokens", "money", "seconds"]
    assert [row[1] for row in table.rows] == ["2", "2000", "0.002", "4.2"]
    assert {row[2:] for row in table.rows} == {("100.0%", "2.00", "100.0%", "1.00")}
    budgets: Any = compared.as_json()["budgets"]
    [tokens] = [budget for budget in budgets if budget["measure"] == "tokens"]
    assert [row["calls"] for row in tokens["reached"]] == [2, 2]


def test_a_budget_that_bought_a_run_nothing_is_shown_as_nothing(tmp_path) -> None:
    effort = read_run(a_search(tmp_path / "one", (4.0,))).results.effort
    dear = read_run(a_search(tmp_path / "two", (4.0, 4.0, 4.0))).results.effort
    late = replace(dear, after=dear.after[2:])
    assert [at_equal_budget.reached[1] for at_equal_budget in at_equal_budgets([effort, late])] == [None] * 4


@pytest.mark.parametrize("missing", [0, 1])
def test_a_run_that_asks_once_has_no_budget(tmp_path, missing: int) -> None:
    efforts = [read_run(a_search(tmp_path / "run")).results.effort] * 2
    efforts[missing] = None
    assert at_equal_budgets(efforts) == ()


def test_money_of_several_currencies_is_not_compared(tmp_path) -> None:
    dollars, yuan = (a_search(tmp_path / name, currency=name) for name in ("USD", "CNY"))
    measures = [level.measure for level in compare_paths([dollars, yuan]).budgets]
    assert measures == ["judged kernels", "tokens", "seconds"]


def test_a_folder_with_one_run_stands_for_it(tmp_path) -> None:
    """For every part of a comparison: times are of the runs themselves."""
    for name in "ab":
        a_search(tmp_path / name / "run")
    titles = [table.title for table in compare_paths([tmp_path / "a", tmp_path / "b"]).tables]
    assert titles == [table.title for table in compare_paths([tmp_path / name / "run" for name in "ab"]).tables]
    assert "Times in µs" in titles
