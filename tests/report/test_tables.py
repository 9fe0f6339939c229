"""Tables: aligned text, markdown, rich; and the tables of a run."""

from __future__ import annotations

import io
from dataclasses import replace

from npukernelbench.console import Console
from npukernelbench.nouns import Outcome, Owner, Stage, Tier, Track
from npukernelbench.nouns.results import Aggregate, Aggregates, Results, SampleRow, Share, Shares, Timing, Totals
from npukernelbench.report.comparison.records import record_of, record_of_results
from npukernelbench.report.reporter import draw
from npukernelbench.report.results import summarise
from npukernelbench.report.run_tables import failures, headline, problem_table, run_tables, speed_tables
from npukernelbench.report.screen import screen
from npukernelbench.report.table import Column, Table, as_columns, as_markdown, as_rich, draw_tables
from npukernelbench.store import read_run

SHARE = Share(value=0.5, low=0.1, high=0.9, n=2)
BOTH, ONLY_ALL = Shares(SHARE, SHARE), Shares(None, SHARE)
ROW = Aggregate(2, 2, 2, 0, compile_at_1=BOTH, correct_at_1=ONLY_ALL, pass_at_k={"1": BOTH})


def sample(
    task: str, correct: bool = True, time: float | None = 3.14159, index: int = 0, tier: str = "twin", **metrics: float
) -> SampleRow:
    """One row of the results."""
    outcome = Outcome.OK if correct else Outcome.CRASH
    return SampleRow(
        task=task,
        case="0",
        track=Track.STATIC,
        index=index,
        turn=0,
        tier=Tier(tier),
        stage=Stage.DONE if correct else Stage.RUN,
        outcome=outcome,
        owner=outcome.owner,
        compiled=True,
        correct=correct,
        message="" if correct else "signal 11",
        predicted_time_us=time if tier == "twin" else None,
        measured_time_us=time if tier == "npu" else None,
        metrics=metrics,
    )


def results(*samples: SampleRow, everything: Aggregate = ROW, **identity: object) -> Results:
    """A run of these samples and one that fell to the infrastructure."""
    right, count = sum(row.correct for row in samples), len(samples)
    owners = {Owner.INFRA: 1, Owner.NONE: right, Owner.MODEL: count - right}
    return Results(
        schema=1,
        run_id="r",
        identity=identity,
        provenance={},
        totals=Totals(count + 1, count, count, count, right, {}, owners),
        aggregates=Aggregates(everything, {"1": ROW}, {"Math": ROW}, {"Sqrt": ROW}),
        samples=samples,
        timing=Timing({}),
    )


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


def test_numbers_never_fold_in_a_narrow_terminal(monkeypatch):
    share = "0.842 [0.78, 0.90]"
    names = ("compile@1 valid", "correct@1 valid", "correct@1 all", "pass@5 valid")
    columns = (Column("level"), *(Column(name, numeric=True) for name in names), Column("what it ended in"))
    rows = tuple((f"level {i}", *[share] * 4, "wrong_value, compile_error ×2, rule_violation") for i in range(3))
    table = Table("Levels", columns, rows, "A sentence that is longer than the terminal is wide. " * 3)
    terminal = io.StringIO()
    terminal.isatty = lambda: True  # type: ignore[method-assign]
    monkeypatch.setenv("COLUMNS", "80")
    draw_tables(Console(stdout=terminal, environ={"NO_COLOR": "1"}), [table])
    text = terminal.getvalue()
    assert max(map(len, text.splitlines())) <= 80
    assert text.count(share) == 12
    assert [line.count(share) for line in text.splitlines() if "level 1" in line] == [3, 1]
    assert text.count("Levels") == 1
    assert "…" not in text


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


def test_a_fault_of_ours_is_never_marked_as_the_models():
    ours = replace(sample("Abs", correct=False), compiled=False, outcome=Outcome.INFRA_ERROR, owner=Owner.INFRA)
    run = results(ours, sample("Sqrt", correct=False), replace(ours, task="Sqrt", index=1))
    assert [row[2:4] for row in problem_table(run).rows] == [("○", "○"), ("✓", "✗")]
    assert failures(run) == [
        "✗ Sqrt/0/0  crash: signal 11",
        "○ Abs/0/0  infra_error: signal 11",
        "○ Sqrt/0/1  infra_error: signal 11",
    ]


def test_the_headline_counts_what_is_not_the_models_fault():
    line = headline(results(sample("Sqrt"), sample("Gelu", correct=False)))
    assert line == "1 of 2 valid samples correct, 2 compiled; 1 of 3 say nothing about the model (infra 1)"


def test_speed_stands_beside_times_and_over_all_samples():
    quick, slow = (sample("Sqrt", index=i, speedup_golden=s) for i, s in enumerate((1.25, 0.5)))
    wrong = sample("Abs", correct=False, speedup_golden=9.0)
    table = problem_table(results(quick, slow, wrong))
    names = [column.name for column in table.columns]
    assert [dict(zip(names, row, strict=True))["best × golden"] for row in table.rows] == ["–", "1.25"]
    assert speed_tables(results(quick, slow, wrong)) == ()
    fast = replace(ROW, fast_p={"golden": {"2.0": ONLY_ALL, "0.5": BOTH}})
    [speed] = speed_tables(results(quick, slow, wrong, everything=fast))
    assert speed.rows == (
        ("golden", "0.5", "0.500 [0.10, 0.90]", "0.500 [0.10, 0.90]"),
        ("golden", "2.0", "–", "0.500 [0.10, 0.90]"),
    )
    assert speed in run_tables(results(quick, slow, wrong, everything=fast))


def test_a_metric_of_a_plugin_has_a_column_of_its_own():
    """Over several samples it is their mean, wrong ones included; the harness's own metrics have none by this rule."""
    two = sample("Abs", warnings=1.0, max_ulp=3.0), sample("Abs", correct=False, index=1, warnings=4.0)
    table = problem_table(results(*two, sample("Sqrt", max_ulp=2.0)))
    assert [column.name for column in table.columns][4:] == ["best predicted µs (twin)", "mean warnings", "outcome"]
    assert [row[5] for row in table.rows] == ["2.5", "–"]


def test_the_headline_says_what_an_executor_says_of_itself():
    """An executor that no hardware has run yet says so in every report of its runs."""
    described = {"name": "npu", "description": {"status": "not yet run on hardware"}}
    line = headline(results(sample("Sqrt"), executor=described))
    assert line.endswith("say nothing about the model (infra 1); executor npu: not yet run on hardware")
    assert "executor" not in headline(results(sample("Sqrt"), executor={"name": "twin", "description": {}}))


def test_a_run_fits_one_screen_and_is_said_in_words(folder, monkeypatch):
    path = folder("run", {f"T{i:02}/0": "ow" if i < 30 else "ii" for i in range(40)})
    run = read_run(path)
    terminal = io.StringIO()
    terminal.isatty = lambda: True  # type: ignore[method-assign]
    monkeypatch.setenv("COLUMNS", "80")
    summed = summarise(run.manifest, run.samples.values())
    draw(screen(summed, path), Console(stdout=terminal, environ={"NO_COLOR": "1"}))
    lines = terminal.getvalue().splitlines()
    assert len(lines) <= 40
    assert max(map(len, lines)) <= 80
    text = " ".join(" ".join(lines).split()).replace("\u00a0", " ")
    assert "30 of 60 counted samples are right: 50 %" in text
    assert "20 of 80 samples are not counted (infra_error 20): they say nothing about the model." in text
    assert "✗ T00/0/1 wrong_value" in text
    assert "… and 45 more" in text
    assert record_of(run) == record_of_results(summed, path)
