"""Examinations of many tasks: the same in one process as in several, counted, and sampled within a budget."""

from __future__ import annotations

from dataclasses import replace

from npukernelbench.nouns import Case, DType, Severity, Task, TensorCase, TensorShape, Track
from npukernelbench.plugins import Plugins
from npukernelbench.report.examinations import Totals, examination_json
from npukernelbench.tasks.examine import Tools, examine_tasks
from npukernelbench.tasks.validate import Examination, Finding, examine_task
from npukernelbench.testing.tasks import tiny_case, tiny_task
from tests.suite import suite


def tools() -> Tools:
    return Tools(Plugins.load(autoload=False).checkers, ())


def test_the_suite_kills_its_mutants_but_for_waived_ones() -> None:
    plugins = Plugins.load(autoload=False)
    totals = Totals()
    for task in suite().values():
        if not any(golden.track is Track.STATIC for golden in task.goldens):
            continue
        examination = examine_task(task, plugins.checkers)
        totals.add(examination)
        survived = sum(examination.tried.values()) - sum(examination.killed.values())
        reported = [f for f in examination.findings if f.case and f.code in examination.tried]
        assert len(reported) == survived
        assert all(finding.severity is Severity.NOTE for finding in examination.findings)
        assert examination.hidden == 12
    counts = totals.as_json()
    assert (counts["errors"], counts["warnings"], counts["no_golden"], counts["no_hidden"]) == (0, 0, 0, 0)
    mutants = counts["mutants"]
    assert isinstance(mutants, dict)
    assert mutants["tried"] > 900
    assert mutants["killed"] / mutants["tried"] > 0.97


def test_several_processes_find_what_one_finds() -> None:
    tasks = [tiny_task(f"Tiny{number}", cases=(tiny_case(shape=(4, 5 + number)),)) for number in range(18)]
    examinations = list(examine_tasks(tasks, tools, jobs=1))
    assert [examination.task for examination in examinations] == [task.name for task in tasks]
    assert list(examine_tasks(tasks, tools, jobs=2)) == examinations


def big(case_id: str, dtype: DType, rows: int) -> Case:
    case = tiny_case(case_id, shape=(rows, 1000), dtype=dtype)
    return replace(case, profiles=frozenset({"full"}))


def test_cases_are_sampled_by_kind_and_size() -> None:
    cases = (
        *(big(f"a{number}", DType.FLOAT16, 500) for number in range(9)),
        big("b", DType.FLOAT32, 450),
        big("small", DType.FLOAT16, 3),
        big("huge", DType.FLOAT32, 9000),
        tiny_case("smoke"),
    )
    ran: list[str] = []

    class Checkers(dict[str, object]):
        def find(self, name: str) -> object:
            return Plugins.load(autoload=False).checkers.find(name)

    task = replace(tiny_task(cases=cases), tolerance=replace(tiny_task().tolerance, limits={}))
    examination = examine_task(with_limits(task), Checkers())  # type: ignore[arg-type]
    ran = sorted({finding.case for finding in examination.findings})
    assert examination.cases == 6  # smoke, small, b, and as many of the nine as the budget holds
    assert "huge" not in ran


def with_limits(task: Task) -> Task:
    from npukernelbench.nouns import ToleranceLimits

    limits = {DType.FLOAT16: ToleranceLimits(1e-4, 1e-3), DType.FLOAT32: ToleranceLimits(1e-6, 1e-5)}
    return replace(task, tolerance=replace(task.tolerance, limits=limits))


def test_hidden_cases_without_a_right_answer_are_findings() -> None:
    plugins = Plugins.load(autoload=False)
    task = with_limits(replace(tiny_task(), tags=frozenset({"elementwise"})))
    assert [item.code for item in examine_task(task, plugins.checkers).findings] == ["no_golden"]
    negative = replace(
        task.cases[0],
        id="negative",
        inputs={"x": TensorCase(TensorShape((4, 5), DType.FLOAT32), task.inputs[0].values)},
    )
    broken = replace(task, reference="norm.rms_norm", cases=(negative,))
    codes = {item.code for item in examine_task(broken, plugins.checkers).findings}
    assert {"reference", "hidden"} <= codes


def test_totals_add_up() -> None:
    totals = Totals()
    finding = Finding(Severity.ERROR, "zeros", "zeros pass", "A")
    note = Finding(Severity.NOTE, "no_golden", "none", "B")
    first = Examination("A", (finding,), 2, 12, {"zeros": 3, "ones": 1}, {"zeros": 1, "ones": 1})
    totals.add(first)
    totals.add(Examination("B", (note,), 1, 0, {"zeros": 2}, {"zeros": 2}))
    assert totals.errors == 1
    assert totals.lines() == [
        "2 tasks, 1 errors, 0 warnings, 1 notes",
        "mutants: 6 tried on 3 cases, 4 killed (66.67 %); 12 hidden cases",
        "tasks without a golden kernel: 1",
    ]
    assert totals.as_json()["mutants"] == {
        "tried": 6,
        "killed": 4,
        "kinds": {"ones": {"tried": 1, "killed": 1}, "zeros": {"tried": 5, "killed": 3}},
    }
    assert examination_json(first)["mutants"] == {
        "tried": 4,
        "killed": 2,
        "kinds": {"ones": {"tried": 1, "killed": 1}, "zeros": {"tried": 3, "killed": 1}},
    }
    assert Totals().lines()[1] == "mutants: 0 tried on 0 cases, 0 killed; 0 hidden cases"
