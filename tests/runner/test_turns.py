"""Conversations of several turns: what is asked when, what is stored, what counts, and resuming in the middle."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from npukernelbench.errors import BackendError
from npukernelbench.generate.backend import GenerationFault, GenerationResult
from npukernelbench.nouns import Outcome
from npukernelbench.nouns.knowledge import Hints
from npukernelbench.run.runner import run
from npukernelbench.store import read_run
from npukernelbench.testing import FakeBackend


def kernel(word, number=0):
    return f"```cpp\n// {number} fake: {word}\n```"


def by_turn(*words):
    """Answers the n-th turn with the n-th word, the last one for ever."""
    return lambda request: kernel(words[min(request.key.turn, len(words) - 1)], request.key.turn)


def backend(fakes, answer, **changes):
    made = []

    def make(args):
        made.append(FakeBackend(args.model_copy(update=changes), answer=answer))
        return made[-1]

    fakes.backend = make
    return made


def outcomes(plan):
    return {str(key): sample.verdict.outcome.value for key, sample in read_run(plan.directory).samples.items()}


def test_a_wrong_kernel_is_asked_for_again_until_it_is_right(make_plan, plugins, watcher, fakes):
    made = backend(fakes, by_turn("compile_error", "double", "ok"))
    plan = make_plan(turns=5)
    summary = run(plan, plugins, watcher)
    assert (summary.total, summary.ok, summary.by_outcome) == (4, 4, {Outcome.OK: 4})
    assert len(watcher.samples) == 4
    assert {sample.key.turn for sample in watcher.samples} == {0}
    stored = read_run(plan.directory)
    assert len(stored.samples) == len(stored.completions) == 12
    asked = [request for request in made[0].requests if request.key.case == "a" and request.key.task == "TinyOne"]
    assert [request.key.turn for request in asked] == [0, 1, 2]
    assert len({request.seed for request in asked}) == 3
    assert [len(request.prompt.messages) for request in asked] == [2, 4, 6]
    assert "expected ';'" in asked[1].prompt.messages[-1].content
    assert "wrong_value" in asked[2].prompt.messages[-1].content


def test_results_say_what_was_reached_by_which_turn(make_plan, plugins, watcher, fakes):
    words = {"a": ("compile_error", "ok"), "b": ("double", "double", "double")}
    backend(fakes, lambda request: by_turn(*words[request.key.case])(request))
    summary = run(make_plan(turns=3), plugins, watcher)
    rows = summary.results.turns
    assert [row.turn for row in rows] == [1, 2, 3]
    assert [row.asked for row in rows] == [4, 4, 2]
    assert [row.correct.all.value for row in rows] == [0.0, 0.5, 0.5]
    assert [row.compile.all.value for row in rows] == [0.5, 1.0, 1.0]
    assert summary.results.totals.samples == 4
    samples = {row.problem: row for row in summary.results.samples}
    assert (samples["TinyOne", "a"].turn, samples["TinyOne", "a"].turns) == (1, 2)
    assert (samples["TinyOne", "b"].turn, samples["TinyOne", "b"].turns) == (2, 3)


def test_with_full_hints_the_fastest_right_kernel_counts(make_plan, plugins, watcher, fakes):
    backend(fakes, by_turn("ok", "double", "ok"))
    summary = run(make_plan(turns=3, hints=Hints.FULL), plugins, watcher)
    assert summary.ok == 4
    assert {row.turns for row in summary.results.samples} == {3}
    assert {row.turn for row in summary.results.samples} == {0}


@pytest.mark.parametrize("stop_after", [1, 2, 3])
def test_a_run_goes_on_in_the_middle_of_its_conversations(make_plan, plugins, watcher, fakes, tmp_path, stop_after):
    answer = by_turn("compile_error", "zeros", "double", "ok")
    whole = make_plan(turns=4, directory=tmp_path / "whole")
    backend(fakes, answer)
    run(whole, plugins, watcher)
    plan = make_plan(turns=4)
    made = backend(fakes, answer, stop_after=stop_after)
    for _ in range(30):
        try:
            run(plan, plugins, watcher)
        except BackendError:
            continue
        break
    assert len(made) > 2
    asked = [request.key for backend in made for request in backend.requests]
    assert len(asked) == len(set(asked)) == 16
    assert outcomes(plan) == outcomes(whole)
    one, other = (json.loads((p.directory / "results.json").read_text()) for p in (plan, whole))
    assert {**one, "timing": 0} == {**other, "timing": 0}
    assert one["turns"][-1]["correct"]["all"]["value"] == 1.0


def test_nothing_is_left_to_do_after_the_last_turn(make_plan, plugins, watcher, fakes):
    plan = make_plan(kernel("double"), turns=2)
    run(plan, plugins, watcher)
    made = backend(fakes, lambda request: pytest.fail("nothing is left to ask"))
    run(plan, plugins, watcher)
    assert watcher.totals[-1] == (4, 4)
    assert not made[0].opened


def test_a_conversation_that_cannot_go_on_ends_with_what_it_has(make_plan, plugins, watcher, fakes):
    class Short(FakeBackend):
        """Has no room for a second turn."""

        async def generate_many(self, requests):
            async for result in super().generate_many(requests):
                yield (
                    GenerationResult(result.request, GenerationFault("the prompt is too long", retryable=False))
                    if result.request.key.turn
                    else result
                )

    fakes.backend = Short
    plan = make_plan(kernel("double"), turns=3)
    summary = run(plan, plugins, watcher)
    assert summary.by_outcome == {Outcome.WRONG_VALUE: 4}
    assert [row.asked for row in summary.results.turns] == [4, 0, 0]
    assert sorted(set(outcomes(plan).values())) == ["skipped", "wrong_value"]
    run(plan, plugins, watcher)
    assert watcher.totals[-1] == (4, 4)


def test_a_fault_in_the_middle_is_ours_and_is_tried_again(make_plan, plugins, watcher, fakes):
    sick = [True]
    backend(fakes, lambda r: "fault: 503" if sick[0] and r.key.turn else kernel("ok" if r.key.turn else "double"))
    plan = make_plan(turns=2)
    assert run(plan, plugins, watcher).by_outcome == {Outcome.INFRA_ERROR: 4}
    sick[0] = False
    assert run(plan, plugins, watcher).by_outcome == {Outcome.OK: 4}


def test_predict_only_asks_for_the_first_turn(make_plan, plugins, watcher, fakes):
    made = backend(fakes, by_turn("double", "ok"))
    plan = make_plan(turns=2, predict_only=True)
    assert run(plan, plugins, watcher).generated == 4
    assert {request.key.turn for request in made[0].requests} == {0}
    assert run(replace(plan, predict_only=False), plugins, watcher).ok == 4
