"""Several runs by speed: what curves and cells hold, and which pages have them."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest

from npukernelbench.console import Console
from npukernelbench.report.comparison.present import compare_paths
from npukernelbench.report.comparison.rates import fast_measure, fast_steps, rate_of
from npukernelbench.report.comparison.speeds import Entry, Speeds
from npukernelbench.report.html.tables import tables_page
from npukernelbench.report.leaderboard import board_parts, leaderboards
from npukernelbench.report.presenting import present_tables
from npukernelbench.report.table import Table

FIRST = {"T0/0": "fo", "T1/0": "ow", "T2/0": "cc", "T3/0": "ii"}
SECOND = {"T0/0": "oo", "T1/0": "wf", "T2/0": "oc", "T3/0": "fw"}


def speeds_in(parts):
    return [part for part in parts if isinstance(part, Speeds)]


def test_curves_are_the_rates_of_every_step(record):
    one, two = record("a", FIRST, model="a"), record("b", SECOND, model="b")
    data = json.loads(json.dumps(Speeds("title", (Entry("a", one), Entry("b", two))).as_json()))
    assert (data["names"], data["counted"], list(data["curves"])) == (["a", "b"], [6, 8], ["roofline"])
    curve = data["curves"]["roofline"]
    assert curve["ps"] == fast_steps(["roofline"], one.attempts)
    for run, rates in zip((one, two), curve["rates"], strict=True):
        for p, rate in zip(curve["ps"], rates, strict=True):
            assert rate == list(rate_of(fast_measure("roofline", p), run.problems))


def test_cells_say_what_each_reached_on_a_problem(record):
    (speeds,) = speeds_in(board_parts(leaderboards([record("a", FIRST, model="a"), record("b", SECOND, model="b")])))
    rows = {row["name"]: row["cells"] for row in speeds.as_json()["problems"]}
    of_a = [entry.name for entry in speeds.entries].index("a")
    assert [
        (name, cells[of_a]["right"], cells[of_a]["counted"], cells[of_a]["best"]) for name, cells in rows.items()
    ] == [
        ("T0/0", 2, 2, {"roofline": 0.9}),
        ("T1/0", 1, 2, {"roofline": 0.1}),
        ("T2/0", 0, 2, {}),
        ("T3/0", 0, 0, {}),
    ]


def test_a_cell_leads_to_its_fastest_sample_in_a_page_that_is_written(folder, record):
    one = record("a", FIRST, model="a")
    (one.folder / "report.html").write_text("")
    first, second = record("b", SECOND, model="b", seed=1), record("c", SECOND, model="b", seed=2)
    for run in (first, second):
        (run.folder / "report.html").write_text("")
    (speeds,) = speeds_in(board_parts(leaderboards([one, first, second])))
    links = {entry.name: [] for entry in speeds.entries}
    for row in speeds.as_json()["problems"]:
        for name, cell in zip(links, row["cells"], strict=True):
            links[name].append(cell["link"])
    assert [link.rpartition("#")[2] for link in links["a"]] == [
        "/sample/T0/0/static/0",
        "/sample/T1/0/static/0",
        "/sample/T2/0/static/0",
        "",
    ]
    assert set(links["b"]) == {""}  # samples of two runs in one row have the same numbers


def test_steps_reach_as_far_as_the_fastest_right_attempt(record):
    (attempt, *_) = record("a", FIRST).attempts
    for speed, last, count in ((0.2, 1.0, 21), (1.0, 1.5, 31), (1.9, 2.0, 41), (3.5, 4.0, 41), (50.0, 10.0, 41)):
        steps = fast_steps(["golden"], [replace(attempt, speedups={"golden": speed})])
        assert (steps[0], steps[-1], len(steps)) == (0.0, last, count)
        assert {0.5, 1.0} <= set(steps)  # where boards have their columns
    wrong = replace(attempt, correct=False, speedups={"golden": 9.0})
    assert fast_steps(["golden"], [wrong])[-1] == 1.0


def test_a_page_has_a_program_only_with_speeds(record):
    timed = board_parts(leaderboards([record("a", FIRST)]))
    page = tables_page("Boards", timed)
    assert page.count("<script>") == 5
    assert "script-src 'unsafe-inline'; img-src" in page
    assert page == tables_page("Boards", timed)
    without = tables_page("Boards", board_parts(leaderboards([record("b", {"T0/0": "wc"})])))
    assert "<script" not in without
    assert "script-src" not in without
    assert "Speeds" not in without
    assert not re.findall(r'<(?:script|link|img)[^>]+(?:src|href)="(?!data:)', page)


def test_a_terminal_shows_the_tables_alone(record, capsys):
    parts = board_parts(leaderboards([record("a", FIRST)]))
    present_tables(Console(), parts, "markdown", title="Leaderboard")
    assert capsys.readouterr().out.count("### tier twin") == 1


@pytest.mark.parametrize("timed_alike", [True, False])
def test_comparisons_have_speeds_where_times_can_be_compared(folder, timed_alike):
    first = folder("a", FIRST, model="a")
    executor = {"name": "twin", "tier": "twin", "args": {}, "description": {"machine": "m1", "time_model": "t2"}}
    second = folder("b", SECOND, model="b", **({} if timed_alike else {"executor": executor}))
    parts = compare_paths([first, second]).parts
    assert all(isinstance(part, Table | Speeds) for part in parts)
    names = [[entry.name for entry in speeds.entries] for speeds in speeds_in(parts)]
    assert names == ([["A: a", "B: b"]] if timed_alike else [])
