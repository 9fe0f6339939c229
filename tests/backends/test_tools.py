"""``--strategy tools`` end to end: a chat server on this machine calls the tools of the judge."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

import npukb_mcp
from npukernelbench.errors import BackendError, UsageError
from npukernelbench.nouns import CallStatus, Outcome, Track
from npukernelbench.report.run_tables import run_tables
from npukernelbench.run.runner import run
from npukernelbench.store import read_run
from npukernelbench.tasks import Selected
from npukernelbench.testing import (
    FakeExecutor,
    RecordingObserver,
    tiny_case,
    tiny_task,
)

RIGHT, WRONG = {"kernel.cpp": "// fake: ok\n"}, {"kernel.cpp": "// fake: double\n"}


@pytest.fixture
def plugins(plugins):
    plugins.register(npukb_mcp, "npukb_mcp")
    return plugins


@pytest.fixture
def plan(plan):
    return replace(plan, strategy="tools")


def calls(server, *listed, text=None, **more):
    """An answer that calls tools: (name, arguments), arguments as an object or as text."""
    made = [
        {
            "id": f"c{number}",
            "type": "function",
            "function": {"name": name, "arguments": told if isinstance(told, str) else json.dumps(told)},
        }
        for number, (name, told) in enumerate(listed)
    ]
    return server.completion(text, finish_reason="tool_calls", tool_calls=made, **more)


def turns(plan):
    return [sample for _, sample in sorted(read_run(plan.directory).samples.items())]


def told(sample):
    return [json.loads(result.content) for result in sample.calls]


def test_a_model_repairs_its_kernel_with_parallel_calls(server, plan, plugins):
    server.replies(
        calls(server, ("check", {"files": WRONG}), ("judge", {}), ("explain", {"name": "wrong_value"}), text="Let me."),
        calls(server, ("judge", {"files": RIGHT})),
        server.completion("Done: `fake: ok` it is."),
    )
    summary = run(plan, plugins, RecordingObserver())
    assert summary.by_outcome == {Outcome.OK: 1}
    first, second, last = turns(plan)
    compiled, wrong, meaning = told(first)
    assert (compiled["outcome"], compiled["stage"]) == ("ok", "compile")
    assert (wrong["outcome"], wrong["cases"]) == ("wrong_value", {"a": "wrong_value"})
    assert meaning["known"]
    assert [one["budget"]["calls_left"] for one in (compiled, wrong, meaning)] == [19, 18, 18]
    assert [result.outcome for result in (*first.calls, *second.calls)] == [
        Outcome.OK,
        Outcome.WRONG_VALUE,
        None,
        Outcome.OK,
    ]
    assert [one.verdict.outcome for one in (first, second, last)] == [Outcome.WRONG_VALUE, Outcome.OK, Outcome.OK]
    assert last.candidate.files == RIGHT
    reached = [(row.calls, row.made, row.correct.all.value) for row in summary.results.calls.after]
    assert reached == [(0, 1, 0.0), (1, 1, 0.0), (2, 1, 0.0), (3, 1, 1.0)]
    # Of calls of judge, with what the answers before them took.
    assert [(row.calls, row.solved, row.tokens) for row in summary.results.effort.after] == [(1, 0.0, 18), (2, 1.0, 36)]
    clock = [row.seconds for row in summary.results.effort.after]
    assert 0 < clock[0] < clock[1]
    [*_, table] = run_tables(read_run(plan.directory).results)
    assert table.title == "Calls"
    assert "Calls of check and judge: 3, of judge 2" in table.note
    # What was sent: the tools with every question, every call with its answer.
    assert {tuple(tool["function"]["name"] for tool in asked["tools"]) for asked in server.requests} == {
        ("check", "judge", "explain", "api")
    }
    asked = server.requests[-1]["messages"]
    assert [message["role"] for message in asked[2:]] == ["assistant", "tool", "tool", "tool", "assistant", "tool"]
    assert asked[2]["content"] == "Let me."
    assert [call["id"] for call in asked[2]["tool_calls"]] == [one["tool_call_id"] for one in asked[3:6]]
    tokens = first.prompt.messages[-1].content.rpartition('"tokens_left": ')[2]
    assert int(tokens.rstrip("}\n")) - meaning["budget"]["tokens_left"] == 18


def test_malformed_calls_are_answered_by_errors_that_help(server, plan, plugins):
    server.replies(
        calls(
            server,
            ("judge", '{"files": {"kernel.cpp": "// fa'),
            ("jugde", {"files": RIGHT}),
            ("judge", {"files": "// fake: ok"}),
            ("judge", {"files": {"../kernel.cpp": "// fake: ok"}}),
            ("judge", {}),
            ("api", [1]),
        ),
        server.completion("I give up."),
        server.completion("```cpp\n// fake: ok\n```"),
    )
    assert run(plan, plugins, RecordingObserver()).ok == 1
    first, second, last = turns(plan)
    assert {result.status for result in first.calls} == {CallStatus.MALFORMED}
    errors = [one["error"] for one in told(first)]
    for error, words in zip(
        errors,
        (
            "no JSON",
            "tools: check, judge, explain, api",
            "arguments.files",
            "give kernel.cpp",
            "give its whole source",
            'give {"name": "…"}',
        ),
        strict=True,
    ):
        assert words in error, error
        assert "Remedy:" in error
    assert told(first)[-1]["budget"]["calls_left"] == 20
    assert second.verdict.outcome is Outcome.NO_CODE
    assert "No kernel was given" in last.prompt.messages[-1].content


@pytest.mark.parametrize(
    ("budget", "questions", "calls_paid"),
    [({"calls": 2}, 3, 2), ({"questions": 4}, 4, 4), ({"tokens": 40}, 3, 3)],
    ids=["calls", "questions", "tokens"],
)
def test_a_budget_ends_the_conversation_and_the_last_kernel_counts(
    server, plan, plugins, budget, questions, calls_paid
):
    server.script = lambda body, number: calls(server, ("judge", {"files": WRONG if number else RIGHT}))
    plan = replace(plan, strategy_args=budget)
    assert run(plan, plugins, RecordingObserver()).by_outcome == {Outcome.WRONG_VALUE: 1}
    assert len(server.requests) == questions
    judged = turns(plan)
    assert sum(result.paid for turn in judged for result in turn.calls) == calls_paid
    refused = [result.status is CallStatus.REFUSED for result in judged[-1].calls]
    assert refused == ["calls" in budget]
    # A run that is over stays over.
    run(plan, plugins, RecordingObserver())
    assert len(server.requests) == questions


def test_a_broken_run_goes_on_and_pays_for_no_turn_twice(server, plan, plugins, tmp_path):
    script = [
        calls(server, ("judge", {"files": WRONG})),
        calls(server, ("api", {"name": "Add"}), ("judge", {"files": RIGHT})),
        server.completion("Done."),
    ]
    server.replies(*script)
    run(replace(plan, directory=tmp_path / "whole"), plugins, RecordingObserver())
    whole, asked = turns(replace(plan, directory=tmp_path / "whole")), list(server.requests)
    server.requests.clear()
    for number in range(len(script)):
        # The server answers one question more than the last time, then refuses.
        server.script = lambda body, at, number=number: script[number] if at == number else server.error(401)
        with pytest.raises(BackendError) if number < 2 else pytest.MonkeyPatch.context():
            run(plan, plugins, RecordingObserver())
        if number < 2:
            server.requests.pop()
    assert server.requests == asked
    assert [replace(turn, verdict=None) for turn in turns(plan)] == [replace(one, verdict=None) for one in whole]


def test_hidden_cases_and_expected_values_are_not_told(server, plan, plugins, fakes):
    fakes.executor = lambda args: FakeExecutor(args.model_copy(update={"tracks": (Track.DYNAMIC,)}))
    files = {"op_host/tiny.cpp": "// host\n", "op_kernel/tiny.cpp": "// fake: double\n"}
    cases = (tiny_case("a"), tiny_case("hidden-000", shape=(5, 13)))
    plan = replace(plan, track=Track.DYNAMIC, tasks=(Selected(tiny_task("Tiny", cases=cases[:1]), cases),))
    server.replies(calls(server, ("judge", {"files": files})), server.completion("Done."))
    run(plan, plugins, RecordingObserver())
    first, last = turns(plan)
    assert told(first)[0]["cases"] == {"a": "wrong_value"}
    assert {case.case for case in last.verdict.cases} == {"a", "hidden-000"}
    everything = json.dumps(server.requests)
    assert "hidden" not in everything
    assert "[5, 13]" not in everything
    assert "expected" in last.verdict.cases[0].diagnostics[0].message
    assert "expected" not in json.dumps(told(first)[0]["diagnostics"])


def test_a_hidden_case_of_the_static_track_is_told_by_its_outcome_only(server, plan, plugins):
    case = tiny_case("hidden-000")
    plan = replace(plan, tasks=(Selected(tiny_task("Tiny", cases=(case,)), (case,)),))
    server.replies(calls(server, ("judge", {"files": WRONG})), server.completion("Done."))
    run(plan, plugins, RecordingObserver())
    first, last = turns(plan)
    assert told(first)[0]["outcome"] == "wrong_value"
    assert told(first)[0]["diagnostics"] == []
    assert last.verdict.cases[0].diagnostics


def test_a_backend_without_tools_is_refused(plan, plugins):
    with pytest.raises(UsageError, match="cannot offer tools"):
        run(replace(plan, model="fake", model_args={}), plugins, RecordingObserver())


def test_arguments_of_strategies_are_checked(plan, plugins):
    for changes, words in (
        ({"strategy_args": {"call": 3}}, "no such argument"),
        ({"strategy": "direct", "strategy_args": {"calls": 3}}, "takes no arguments"),
    ):
        with pytest.raises(UsageError, match=words):
            run(replace(plan, **changes), plugins, RecordingObserver())
