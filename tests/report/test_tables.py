"""Tables: aligned text, markdown, rich; and the tables of a run."""

from __future__ import annotations

import io

from npukernelbench.console import Console
from npukernelbench.report.run_tables import failures, headline, problem_table, run_tables, speed_tables
from npukernelbench.report.table import Column, Table, as_columns, as_markdown, as_rich

SHARE = {"value": 0.5, "low": 0.1, "high": 0.9, "n": 2}
ROW = {
    "samples": 2,
    "problems": 2,
    "valid": 2,
    "infra": 0,
    "compile@1": {"valid": SHARE, "all": SHARE},
    "correct@1": {"valid": None, "all": SHARE},
    "pass@k": {"1": {"valid": SHARE, "all": SHARE}},
}


def sample(task: str, correct: bool = True, time: float | None = 3.14159, index: int = 0, tier: str = "twin") -> dict:
    """One row of ``results["samples"]``."""
    return {
        "task": task,
        "case": "0",
        "index": index,
        "tier": tier,
        "compiled": True,
        "correct": correct,
        "outcome": "ok" if correct else "crash",
        "message": "" if correct else "signal 11",
        "predicted_time_us": time if tier == "twin" else None,
        "measured_time_us": time if tier == "npu" else None,
    }


def results(*samples: dict) -> dict:
    """What ``summarise`` returns, as far as tables read it."""
    correct = sum(one["correct"] for one in samples)
    return {
        "samples": list(samples),
        "totals": {
            "samples": len(samples) + 1,
            "valid": len(samples),
            "correct": correct,
            "compiled": len(samples),
            "owners": {"infra": 1, "none": correct, "model": len(samples) - correct},
        },
        "aggregates": {"all": ROW, "levels": {"1": ROW}, "categories": {"Math": ROW}, "tasks": {"Sqrt": ROW}},
    }


def test_columns_are_aligned():
    assert as_columns([("a", "bb", "c"), ("aaa", "b", "")]) == ["a    bb  c", "aaa  b"]
    assert as_columns([]) == []


def test_markdown_escapes_pipes_and_line_breaks():
    text = as_markdown(Table("T", (Column("a|b"), Column("n", numeric=True)), (("x|y", "1\n2"),), "below"))
    assert text == "### T\n\n| a\\|b | n |\n| --- | ---: |\n| x\\|y | 1 2 |\n\nbelow\n"


def test_a_table_without_a_terminal_is_plain_and_uncut():
    out = io.StringIO()
    long = "x" * 150
    Console(stdout=out, environ={}).draw(as_rich(Table("T", (Column("name"),), ((long,), ("[red]no markup[/red]",)))))
    assert long in out.getvalue()
    assert "[red]no markup[/red]" in out.getvalue()
    assert "\x1b" not in out.getvalue()
    assert all(line == line.rstrip() for line in out.getvalue().splitlines())


def test_one_sample_per_problem_shows_marks():
    table = problem_table(results(sample("Sqrt"), sample("Gelu", correct=False)))
    assert [column.name for column in table.columns] == [
        "task",
        "case",
        "compile",
        "correct",
        "predicted µs (twin)",
        "outcome",
    ]
    assert table.rows == (("Gelu", "0", "✓", "✗", "–", "crash"), ("Sqrt", "0", "✓", "✓", "3.14", "ok"))


def test_several_samples_per_problem_show_counts_and_the_best_time():
    table = problem_table(results(sample("Sqrt", time=9.0), sample("Sqrt", time=2.0, index=1), sample("Sqrt", False)))
    assert table.columns[4].name == "best predicted µs (twin)"
    assert table.rows == (("Sqrt", "0", "3/3", "2/3", "2.00", "ok ×2, crash ×1"),)


def test_tiers_and_kinds_of_time_never_share_a_column():
    table = problem_table(results(sample("Sqrt", time=9.0), sample("Gelu", time=2.0, tier="npu")))
    assert [column.name for column in table.columns][4:6] == ["measured µs (npu)", "predicted µs (twin)"]
    assert table.rows[0][4:6] == ("2.00", "–")
    assert table.rows[1][4:6] == ("–", "9.00")


def test_aggregates_show_shares_with_intervals_and_gaps():
    titles = {table.title: table for table in run_tables(results(sample("Sqrt")))}
    assert list(titles) == ["Problems", "Tasks", "Categories", "Levels"]
    assert titles["Levels"].rows[0] == ("level 1", "2", "0", "0.500 [0.10, 0.90]", "–", "0.500 [0.10, 0.90]")
    assert titles["Levels"].rows[-1][0] == "all"


def test_failures_are_told_with_their_first_error_and_counted():
    shown = failures(results(sample("Gelu"), *(sample("Sqrt", correct=False, index=i) for i in range(5))), most=2)
    assert shown == ["✗ Sqrt/0/0  crash: signal 11", "✗ Sqrt/0/1  crash: signal 11", "… and 3 more"]
    assert failures(results(sample("Gelu"))) == []


def test_the_headline_counts_what_is_not_the_models_fault():
    line = headline(results(sample("Sqrt"), sample("Gelu", correct=False)))
    assert line == "1 of 2 valid samples correct, 2 compiled; 1 of 3 say nothing about the model (infra 1)"


def test_speed_stands_beside_times_and_over_all_samples():
    quick, slow = ({**sample("Sqrt", index=i), "metrics": {"speedup_golden": s}} for i, s in enumerate((1.25, 0.5)))
    wrong = {**sample("Abs", correct=False), "metrics": {"speedup_golden": 9.0}}
    found = results(quick, slow, wrong)
    table = problem_table(found)
    names = [column.name for column in table.columns]
    assert [dict(zip(names, row, strict=True))["best × golden"] for row in table.rows] == ["–", "1.25"]
    assert speed_tables(found) == ()
    shares = {"golden": {"2.0": {"valid": None, "all": SHARE}, "0.5": {"valid": SHARE, "all": SHARE}}}
    found["aggregates"]["all"] = {**ROW, "fast_p": shares}
    [speed] = speed_tables(found)
    assert speed.rows == (
        ("golden", "0.5", "0.500 [0.10, 0.90]", "0.500 [0.10, 0.90]"),
        ("golden", "2.0", "–", "0.500 [0.10, 0.90]"),
    )
    assert speed in run_tables(found)


def test_the_headline_says_what_an_executor_says_of_itself():
    """An executor that no hardware has run yet says so in every report of its runs."""
    described = {"name": "npu", "description": {"status": "not yet run on hardware"}}
    line = headline({**results(sample("Sqrt")), "identity": {"executor": described}})
    assert line.endswith("say nothing about the model (infra 1); executor npu: not yet run on hardware")
    line = headline({**results(sample("Sqrt")), "identity": {"executor": {"name": "twin", "description": {}}}})
    assert "executor" not in line
