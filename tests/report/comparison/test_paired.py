"""Runs paired by problem: what differs, what changed sides, what is refused."""

from __future__ import annotations

import json

import pytest

from npukernelbench.errors import UsageError
from npukernelbench.report.comparison.paired import compare_runs, on_shared_tasks
from npukernelbench.report.comparison.present import compare_paths
from npukernelbench.report.comparison.rates import fast_curve, fast_measure, rate_of
from npukernelbench.report.comparison.records import read_record
from npukernelbench.report.finding import only_run
from npukernelbench.report.table import as_markdown

FIRST = {f"T{i}/0": letters for i, letters in enumerate(("oo", "ow", "ww", "cc", "wc", "ii", "oo", "ow"))}
SECOND = {f"T{i}/0": letters for i, letters in enumerate(("oo", "ww", "fo", "ow", "ow", "oo", "oi", "ow"))}


def test_rates_are_means_over_the_problems_that_both_runs_can_say_something_about(record):
    (pair,) = compare_runs([record("a", FIRST), record("b", SECOND, model="n")])
    by_name = {difference.measure: difference for difference in pair.differences}
    correct = by_name["correct@1"]
    # T5 has no valid sample in the first run; the valid one of T6 in the second is right.
    assert [str(problem) for problem in pair.left_out] == ["T5/0"]
    assert (correct.problems, correct.tasks) == (7, 7)
    assert correct.first == pytest.approx((1 + 0.5 + 0 + 0 + 0 + 1 + 0.5) / 7)
    assert correct.second == pytest.approx((1 + 0 + 1 + 0.5 + 0.5 + 1 + 0.5) / 7)
    assert correct.value == pytest.approx(correct.second - correct.first)
    assert correct.low <= correct.value <= correct.high
    assert correct.exact
    assert correct.p == pytest.approx(0.5)  # differences -1/2, 1, 1/2, 1/2: 8 of 16 sums are as far from 0
    assert by_name["compile@1"].first == pytest.approx((1 + 1 + 1 + 0 + 0.5 + 1 + 1) / 7)
    assert by_name["fast_0.8 roofline"].second == pytest.approx(0.5 / 7)
    assert "pass@5" not in by_name


def test_what_changed_sides_is_listed_lost_ones_first(record):
    (pair,) = compare_runs([record("a", FIRST), record("b", SECOND, model="n")])
    assert [
        (str(changed.problem), changed.first, changed.second, changed.gained, changed.outcomes)
        for changed in pair.changed
    ] == [
        ("T1/0", (1, 2), (0, 2), False, "wrong_value ×2"),
        ("T2/0", (0, 2), (2, 2), True, "wrong_value ×2"),
        ("T3/0", (0, 2), (1, 2), True, "compile_error ×2"),
        ("T4/0", (0, 2), (1, 2), True, "wrong_value, compile_error"),
    ]


def test_cases_of_a_task_are_one_draw_of_chance(record):
    """Ten problems of two tasks are two facts: the exact test must not count them as ten."""
    lost = {f"T{i % 2}/{i}": "w" for i in range(10)}
    (pair,) = compare_runs([record("a", lost), record("b", dict.fromkeys(lost, "o"), model="n")])
    correct = next(difference for difference in pair.differences if difference.measure == "correct@1")
    assert (correct.problems, correct.tasks, correct.p) == (10, 2, 0.5)


def test_several_runs_raise_the_bar(record):
    names = [f"T{i}/0" for i in range(12)]
    better = {name: "o" if i < 8 else "w" for i, name in enumerate(names)}
    runs = [record("base", dict.fromkeys(names, "w"))]
    runs += [record(model, better, model=model) for model in ("n", "k", "l")]
    first, *_ = compare_runs(runs)
    correct = next(difference for difference in first.differences if difference.measure == "correct@1")
    assert correct.p == pytest.approx(2 / 2**8)
    assert correct.holm_p == pytest.approx(3 * 2 / 2**8)


def test_other_rules_tiers_and_tasks_are_refused_by_name(record):
    first = record("a", FIRST)
    executor = dict(first.identity["executor"])
    cases = (
        ("tier", {"executor": {**executor, "tier": "npu"}}, "tier twin and .* tier npu"),
        ("machine", {"executor": {**executor, "description": {"machine": "m2"}}}, "description.machine: m1 against m2"),
        ("limit", {"run_timeout_s": 5.0}, "run_timeout_s: unset against 5.0"),
        ("hidden", {"hidden": "c0ffee"}, "hidden: unset against c0ffee"),
        ("rules", {"rules": {"name": "bench", "weights": {}}}, r"rules: ours against bench \(not comparable\)"),
        ("tasks", {"tasks": {**first.tasks, "T1": {"hash": "other"}}}, "differ in 1 tasks, .*: T1"),
    )
    for name, change, message in cases:
        with pytest.raises(UsageError, match=message):
            compare_runs([first, record(name, FIRST, **change)])


def test_runs_that_were_timed_in_other_ways_have_no_fast_p(record):
    first = record("a", FIRST)
    executor = dict(first.identity["executor"])
    other = {**executor, "description": {**executor["description"], "time_model": "t2"}}
    (pair,) = compare_runs([first, record("b", SECOND, executor=other)])
    assert {difference.measure for difference in pair.differences} == {"compile@1", "correct@1"}
    assert "time_model: t1 against t2" in pair.notes[0]


def test_shared_tasks_only(record):
    wider = record("a", FIRST)
    narrow = record("b", {name: letters for name, letters in SECOND.items() if name < "T4"}, model="n")
    with pytest.raises(UsageError, match="differ in 4 tasks"):
        compare_runs([wider, narrow])
    (pair,) = compare_runs(on_shared_tasks([wider, narrow]))
    assert pair.differences[0].tasks == 4
    with pytest.raises(UsageError, match="share no task"):
        on_shared_tasks([wider, record("c", {"Other/0": "o"})])


def test_a_published_folder_without_a_log_reads_the_same(folder):
    path = folder("a", FIRST)
    whole = read_record(path)
    for name in ("events.jsonl", "index.sqlite"):
        (path / name).unlink()
    published = read_record(path)
    assert published.attempts == whole.attempts
    (path / "results.json").unlink()
    with pytest.raises(UsageError, match="nothing in this run was judged yet"):
        read_record(path)


def test_words_and_objects(folder):
    paths = folder("a", FIRST), folder("b", SECOND, model="n")
    comparison = compare_paths(paths)
    text = "\n".join(map(as_markdown, comparison.tables))
    assert "No difference in correct@1 is shown (exact test, p 0.500)." in text
    assert "7 tasks like these would show a true difference of" in text
    assert "1 problem without a valid sample in one of the runs left out." in text
    assert "The runs differ in model: m against n." in text
    assert "3 gained and 1 lost by B" in text
    assert "| T1 | 0 | 1/2 | 0/2 | wrong_value ×2 |" in text
    (paths[0] / "report.html").touch()  # the run in which T2 failed has a page now
    assert f"| [T2]({paths[0].as_uri()}/report.html#/sample/T2/0/static/0) | 0 |" in as_markdown(comparison.tables[-1])
    parsed = json.loads(json.dumps(comparison.as_json()))
    assert parsed["times"] is None
    assert parsed["comparisons"][0]["rates"][1]["measure"] == "correct@1"
    assert parsed["comparisons"][0]["changed"][0]["links"][1].endswith("/b/report.html#/sample/T1/0/static/0")
    assert [run["uncounted"] for run in parsed["runs"]] == [2, 1]


def test_too_few_and_too_different_things(folder, tmp_path):
    path = folder("a", FIRST)
    with pytest.raises(UsageError, match="nothing to compare with"):
        compare_paths([path])
    with pytest.raises(UsageError, match=r"there is no .*nothing"):
        compare_paths([path, tmp_path / "nothing"])
    (tmp_path / "profile.json").touch()
    with pytest.raises(UsageError, match="more than two"):
        compare_paths([path, path, tmp_path / "profile.json"])
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError, match="there is no run"):
        compare_paths([path, tmp_path / "empty"])


def test_a_folder_with_one_run_stands_for_it(folder, tmp_path):
    path = folder("alpha/run", FIRST)
    assert only_run(path) == only_run(path.parent) == path
    folder("alpha/another", FIRST)
    with pytest.raises(UsageError, match=r"2 runs lie below this folder: .*another, .*run"):
        only_run(path.parent)
    with pytest.raises(UsageError, match="there is no run"):
        only_run(tmp_path / "nothing")


def test_alike_runs_say_what_it_would_take(folder):
    paths = folder("a", FIRST), folder("b", FIRST, model="n")
    note = compare_paths(paths).tables[1].note
    assert "at least 6 must change sides" in note


def test_a_curve_has_the_rates_of_its_points(record):
    problems = record("a", {"T0/0": "of", "T1/0": "ow", "T2/0": "cw"}).problems
    ps = (0.0, 0.2, 0.5, 0.8, 1.0)
    curve = fast_curve("roofline", ps, problems)
    assert curve == [rate_of(fast_measure("roofline", p), problems) for p in ps]
    values = [rate.value for rate in curve if rate]
    assert values[0] == 0.5
    assert values[0] > values[3] > values[4] == 0


def test_so_few_tasks_show_nothing(folder):
    names = [f"T{i}/0" for i in range(5)]
    paths = [
        folder("a", dict.fromkeys(names, "ww")),
        folder("b", {**dict.fromkeys(names, "oo"), "T0/0": "ow"}, model="n"),
    ]
    (note,) = (table.note for table in compare_paths(paths).tables if table.title == "B against A")
    assert "No difference in correct@1 is shown" in note
    assert "5 tasks cannot show any: at least 6 must change sides." in note
