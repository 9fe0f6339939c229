"""Searches end to end: a chat server proposes kernels, the strategy chooses by public cases."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

import npukb_search
from npukb_search.openevolve import evaluator, score, told
from npukernelbench.errors import ExecutorError
from npukernelbench.generate.telling import public_verdict
from npukernelbench.nouns import CaseResult, Outcome, Owner, Stage, Tier, Track, Verdict
from npukernelbench.prompts import golden_kernel
from npukernelbench.report.run_tables import run_tables
from npukernelbench.run.runner import run
from npukernelbench.run.turns import settled, spoken_for
from npukernelbench.store import read_run
from npukernelbench.testing import RecordingObserver
from tests.suite import suite

WORDS = {"wrong": "double", "crash": "crash", "broken": "compile_error", "right": "ok"}


@pytest.fixture
def plugins(plugins):
    plugins.register(npukb_search, "npukb_search")
    return plugins


def proposes(server, *kernels):
    """One kernel after the other; each has a number, so that no two are the same."""
    server.script = lambda body, number: server.completion(
        f"```cpp\n// tiny {number}\n// fake: {WORDS[kernels[min(number, len(kernels) - 1)]]}\n```"
    )


def conversation(plan):
    [turns] = spoken_for(read_run(plan.directory).samples.values()).values()
    return turns


def test_best_of_asks_again_and_keeps_the_best(server, plan, plugins):
    proposes(server, "broken", "right", "wrong")
    observer = RecordingObserver()
    summary = run(replace(plan, strategy="best-of", strategy_args={"calls": 3}), plugins, observer)
    turns = conversation(plan)
    assert [sample.verdict.outcome for sample in observer.samples] == [Outcome.OK], "not its last kernel"
    assert [turn.verdict.outcome for turn in turns] == [Outcome.COMPILE_ERROR, Outcome.OK, Outcome.WRONG_VALUE]
    assert len({json.dumps(asked["messages"]) for asked in server.requests}) == 1
    assert (settled(turns).key.turn, summary.by_outcome) == (1, {Outcome.OK: 1})
    effort = summary.results.effort
    assert [(row.calls, row.made, row.solved, row.tokens) for row in effort.after] == [
        (1, 1, 0.0, 18),
        (2, 1, 1.0, 36),
        (3, 1, 1.0, 54),
    ]
    assert effort.area == pytest.approx(2 / 3)
    first, second, third = (row.seconds for row in effort.after)
    assert 0 < first < second < third
    table = next(table for table in run_tables(summary.results) if table.title == "Effort")
    assert "area under the curve of right on public: 0.667" in table.note


def test_optimise_goes_on_from_the_best_kernel(server, plan, plugins):
    """A wrong kernel beats a broken one as a parent; a right one is told where its time goes; a killed run resumes."""
    proposes(server, "wrong", "broken", "right", "wrong", "right")
    searching = replace(plan, strategy="optimise", strategy_args={"calls": 5})

    class Interrupted(RecordingObserver):
        def stage(self, key, stage):
            super().stage(key, stage)
            if len(server.requests) == 3:
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(searching, plugins, Interrupted())
    run(searching, plugins, RecordingObserver())
    assert len(server.requests) == 5
    parents = [asked["messages"][-2]["content"].split()[3] for asked in server.requests[1:]]
    assert parents == ["0", "0", "2", "2"]
    last = [asked["messages"][-1]["content"] for asked in server.requests[1:]]
    assert "The answer is not right." in last[1]
    assert "The kernel is right. Make it faster" in last[2]
    assert len(conversation(plan)) == 5


def test_evolve_keeps_islands_apart_and_kinds_alive(server, plan, plugins):
    proposes(server, "wrong", "crash", "wrong", "crash", "right", "wrong")
    args = {"calls": 9, "islands": 2, "migration": 5}
    run(replace(plan, strategy="evolve", strategy_args=args), plugins, RecordingObserver())
    turns = conversation(plan)
    assert len(turns) == 9
    from npukb_search.strategies import Evolve, EvolveArgs

    search = Evolve(EvolveArgs(**args))
    assert {kernel.sample.key.turn % 2 for kernel in search.archive(turns, 0)} == {0}
    assert [kernel.verdict.outcome for kernel in search.archive(turns, 0)] == [Outcome.OK, Outcome.WRONG_VALUE]
    assert {kernel.verdict.outcome for kernel in search.archive(turns, 1)} == {Outcome.CRASH, Outcome.WRONG_VALUE}
    # Equal turns, equal words; the first kernels of both islands are asked for without a parent.
    assert [search.proposal(turns[:n]).hash for n in (3, 7)] == [turns[n].prompt.hash for n in (3, 7)]
    assert [len(turn.prompt.messages) - len(turns[0].prompt.messages) for turn in turns[:4]] == [0, 0, 2, 2]
    assert "Here is another kernel" in "".join(turn.prompt.messages[-1].content for turn in turns)


def test_budgets_of_tokens_end_a_search(server, plan, plugins):
    proposes(server, "wrong")
    run(replace(plan, strategy="best-of", strategy_args={"calls": 9, "tokens": 36}), plugins, RecordingObserver())
    assert len(server.requests) == 2


def test_hidden_cases_choose_nothing():
    """Of a verdict that a hidden case decided, a search sees public cases only."""
    cases = (
        CaseResult("a", Stage.DONE, Outcome.OK),
        CaseResult("hidden-1", Stage.CHECK, Outcome.WRONG_VALUE),
    )
    metrics = {"cases_passed": 1.0, "cases_total": 2.0, "roofline": 0.5}
    verdict = Verdict(Track.DYNAMIC, Tier.TWIN, Stage.CHECK, Outcome.WRONG_VALUE, Owner.MODEL, cases, (), metrics)
    public = public_verdict(verdict)
    assert (public.outcome, public.owner, [case.case for case in public.cases]) == (Outcome.OK, Owner.NONE, ["a"])
    assert public.metrics == {"cases_passed": 1.0, "cases_total": 1.0}
    only_hidden = public_verdict(replace(verdict, cases=cases[1:]))
    assert (only_hidden.outcome, only_hidden.metrics) == (Outcome.WRONG_VALUE, {})


def test_openevolve_evaluates_programs_with_the_judge(tmp_path):
    """Its interface: path in, evaluation out. A program that is no kernel has a score; an unknown task has none."""
    task = suite()["Sqrt"]
    [golden] = golden_kernel(task, task.case("smoke"), Track.STATIC).values()
    (tmp_path / "right.cpp").write_text(golden)
    (tmp_path / "broken.cpp").write_text("no kernel")
    evaluate = evaluator("Sqrt", case="smoke")
    (right, said), (broken, why) = (parts(evaluate(str(tmp_path / f"{name}.cpp"))) for name in ("right", "broken"))
    assert (right["correct"], right["cases"]) == (1.0, 1.0)
    assert right["combined_score"] == 1.0 + right["roofline"] > 1.0
    assert right["predicted_time_us"] > 0
    assert said.startswith("outcome: ok")
    assert broken["combined_score"] == 0.0
    assert "kernel.cpp:1: unknown type name 'no' [compile]" in why
    assert "\n:0:" not in why
    with pytest.raises(ExecutorError, match="no verdict on right"):
        evaluator("NoSuchTask")(str(tmp_path / "right.cpp"))


def parts(evaluation):
    """Metrics, and what the next prompt is told; OpenEvolve's own type where that is installed."""
    if isinstance(evaluation, dict):
        metrics = dict(evaluation)
        return metrics, metrics.pop("artifacts")["judge"]
    return evaluation.metrics, evaluation.artifacts["judge"]


def test_scores_for_openevolve():
    """Below 1 until right; then faster is better. Expected values are not passed on."""
    wrong = {
        "outcome": "wrong_value",
        "stage": "check",
        "metrics": {"compiled": 1.0, "cases_passed": 1.0, "cases_total": 4.0},
        "diagnostics": [
            {"rule": "wrong_value", "message": "y[0] = 1, expected 2", "file": "", "line": 0, "remedy": ""}
        ],
        "cases": [],
    }
    broken = {**wrong, "outcome": "compile_error", "metrics": {"compiled": 0.0}}
    right = {**wrong, "outcome": "ok", "metrics": {"compiled": 1.0, "roofline": 0.25, "predicted_time_us": 4.0}}
    scores = [score(one)["combined_score"] for one in (broken, wrong, right)]
    assert scores == [0.0, 0.2, 1.25]
    assert "expected" not in told(wrong)
    assert "y[0] = 1" in told(wrong)
