"""Questions and the scorer: what is judged, how often, and what becomes of faults."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npukernelbench.errors import UsageError
from npukernelbench.generate import Hints
from npukernelbench.nouns import FinishReason, Outcome, Owner, Stage, Track
from npukernelbench.nouns.execution import Observation, RunRequest
from npukernelbench.rewards import Answer, Question
from npukernelbench.rewards.scoring import Terms
from npukernelbench.testing import FakeExecutor
from tests.rewards.conftest import MakeScorer, answer


@given(
    st.from_regex(r"[A-Za-z][A-Za-z0-9_]{0,20}", fullmatch=True),
    st.from_regex(r"[a-z0-9-]{0,9}", fullmatch=True),
    st.sampled_from(Track),
)
def test_questions_are_read_as_they_are_written(task: str, case: str, track: Track) -> None:
    question = Question(task, case if track is Track.STATIC else "", track)
    assert Question.parse(str(question)) == question


@pytest.mark.parametrize(
    ("text", "remedy"),
    [
        ("", "write TASK"),
        ("/0", "write TASK"),
        ("fast:Sqrt", "write static:Sqrt, dynamic:Sqrt or launch:Sqrt"),
        ("dynamic:Sqrt/0", "dynamic:Sqrt"),
        ("launch:Sqrt/0", "launch:Sqrt"),
    ],
)
def test_a_wrong_question_is_refused(text: str, remedy: str) -> None:
    with pytest.raises(UsageError) as caught:
        Question.parse(text)
    assert (caught.value.remedy or "").startswith(remedy)


@pytest.mark.parametrize(("text", "remedy"), [("TinyOn", "did you mean 'TinyOne'"), ("TinyOne/z", "begin with a, b")])
def test_an_unknown_question_is_refused_before_anything_is_judged(
    make_scorer: MakeScorer, executor: FakeExecutor, text: str, remedy: str
) -> None:
    with pytest.raises(UsageError) as caught:
        make_scorer().score([Answer(Question("TinyOne"), answer()), Answer(Question.parse(text), answer())])
    assert remedy in (caught.value.remedy or "")
    assert not executor.calls


@pytest.mark.parametrize(
    ("text", "outcome", "stage"),
    [
        (answer("ok"), Outcome.OK, Stage.DONE),
        (answer("zeros"), Outcome.WRONG_VALUE, Stage.CHECK),
        (answer("compile_error"), Outcome.COMPILE_ERROR, Stage.COMPILE),
        (answer("crash"), Outcome.CRASH, Stage.RUN),
        ("I cannot.", Outcome.NO_CODE, Stage.EXTRACT),
        (f"<think>{answer()}</think> done", Outcome.NO_CODE, Stage.EXTRACT),
    ],
)
def test_rewards_follow_verdicts(make_scorer: MakeScorer, text: str, outcome: Outcome, stage: Stage) -> None:
    scorer = make_scorer()
    [reward] = scorer.score([Answer(Question("TinyOne", "a"), text)])
    assert (reward.outcome, reward.stage) == (outcome, stage)
    assert reward.value == scorer.policy.outcomes[outcome]
    assert bool(reward.message) == (outcome is not Outcome.OK)


def test_an_answer_that_was_cut_off(make_scorer: MakeScorer) -> None:
    [reward] = make_scorer().score([Answer(Question("TinyOne"), "```cpp\nint a", FinishReason.LENGTH)])
    assert reward.outcome is Outcome.TRUNCATED


def test_equal_code_is_judged_once_per_question(make_scorer: MakeScorer, executor: FakeExecutor) -> None:
    scorer = make_scorer(jobs=4, delay_s=0.02)
    answers = [Answer(Question(task), answer()) for task in ("TinyOne", "TinyTwo") for _ in range(8)]
    scored = scorer.score_fully(answers)
    assert {one.reward.value for one in scored} == {0.7}
    assert sum(not one.repeated for one in scored) == 2
    assert sum(call.startswith("compile") for call in executor.calls) == 2
    scorer.score(answers)
    assert sum(call.startswith("compile") for call in executor.calls) == 2


@pytest.mark.parametrize("word", ["raise", "bug"])
def test_a_fault_of_ours_is_no_reward_and_is_not_remembered(
    make_scorer: MakeScorer, executor: FakeExecutor, word: str
) -> None:
    scorer = make_scorer()
    for _ in range(2):
        [reward] = scorer.score([Answer(Question("TinyOne"), answer(word))])
        assert (reward.value, reward.fault, reward.metrics["infra"]) == (None, Owner.INFRA, 1.0)
    assert sum(call.startswith("compile") for call in executor.calls) == 2


def test_a_fault_that_passes_is_forgotten(make_scorer: MakeScorer) -> None:
    scorer = make_scorer()
    values = [scorer.score([Answer(Question("TinyOne"), answer("flaky"))])[0].value for _ in range(2)]
    assert values == [None, 0.7]


def test_rewards_come_in_the_order_of_answers(make_scorer: MakeScorer) -> None:
    words = ["ok", "zeros", "crash", "ok", "compile_error"] * 6
    answers = [Answer(Question("TinyOne"), answer(word) + f"<!-- {n} -->") for n, word in enumerate(words)]
    scorer = make_scorer(jobs=3, delay_s=0.001)
    expected = [{"ok": 0.7, "zeros": 0.2, "crash": 0.1, "compile_error": 0.05}[word] for word in words]
    assert [reward.value for reward in scorer.score(answers)] == expected
    assert [reward.value for reward in asyncio.run(scorer.score_async(answers))] == expected


def test_an_answer_that_is_read_otherwise_is_judged_anew(make_scorer: MakeScorer, executor: FakeExecutor) -> None:
    """The policy's parser goes before the scorer's, the caller's before both; verdicts are remembered by reading."""
    scorer = make_scorer()
    asked = [Answer(Question("TinyOne"), f"<think>{answer()}</think>Nothing.")]
    drafting = replace(scorer.policy, parser="auto-reasoning")
    assert scorer.score(asked)[0].outcome is Outcome.NO_CODE
    scorer.policy = drafting
    assert scorer.score(asked)[0].outcome is Outcome.OK
    assert scorer.score_fully(asked, Terms(parser="auto"))[0].reward.outcome is Outcome.NO_CODE
    plain = [Answer(Question("TinyOne"), answer())]
    assert [scored.repeated for scored in scorer.score_fully(plain)] == [True]
    assert [scored.repeated for scored in scorer.score_fully(plain, Terms(parser="auto"))] == [False]
    assert "from_reasoning" not in scorer.score_fully(plain)[0].verdict.metrics


def test_names_that_do_not_fit_are_refused_before_anything_is_judged(
    make_scorer: MakeScorer, executor: FakeExecutor
) -> None:
    scorer = make_scorer()
    for terms, told in (
        (Terms(parser="nosuch"), "nosuch"),
        (Terms(strategy="nosuch"), "nosuch"),
        (Terms("nice"), "nice"),
    ):
        with pytest.raises(UsageError, match=told):
            scorer.score_fully([Answer(Question("TinyOne"), answer())], terms)
    assert not executor.calls


def test_every_batch_has_inputs_of_its_own_and_shares_them(executor: FakeExecutor, make_scorer: MakeScorer) -> None:
    seen: list[bytes] = []
    run = executor.run

    def watching(request: RunRequest) -> Observation:
        if not request.repeat and not request.thorough and not request.case.salt:
            seen.append(request.inputs["x"].tobytes())  # type: ignore[union-attr]
        return run(request)

    executor.run = watching  # type: ignore[method-assign]
    scorer, question = make_scorer(), Question("TinyOne", "a")
    first = scorer.score([Answer(question, answer(word)) for word in ("ok", "never", "dtype")])
    [secret] = {reward.seed for reward in first}
    assert len(seen) == 3
    assert len(set(seen)) == 1
    again = scorer.score([Answer(question, answer("zeros"))] * 2)
    assert {reward.seed for reward in again} - {secret, None}
    assert seen[-1] != seen[0]
    known = scorer.score([Answer(question, answer("zeros")), Answer(question, answer("nan"))])
    assert known[0].seed is None  # judged before, on other inputs
    singles = [scorer.score([Answer(question, answer(word))])[0].seed for word in ("tail", "block", "shift")]
    assert len(set(singles)) == 1
    shared = scorer.score_fully([Answer(question, answer("one"))], Terms(seed=5))
    assert shared[0].reward.seed == 5
    fixed = make_scorer(seed=9)
    assert fixed.score([Answer(question, answer())] * 2)[0].seed == 9
    assert fixed.score_fully([Answer(question, answer("double"))], Terms(seed=5))[0].reward.seed == 9


def test_rewards_and_feedback_say_no_expected_value(make_scorer: MakeScorer) -> None:
    scorer, question = make_scorer(), Question("TinyOne", "a")
    for word in ("zeros", "double", "one", "nan"):
        [turn] = scorer.repair([Answer(question, answer(word))], Hints.FULL)
        [scored] = scorer.score_fully([Answer(question, answer(word))])
        notes = [note for case in scored.verdict.cases for note in case.diagnostics]
        elements = [element for note in notes for element in note.details.get("first", ())]
        values = {element["expected"] for element in elements}
        assert values
        for text in (turn.reward.message, turn.feedback, scored.reward.message):
            assert "y[" in text
            assert "expected " not in text
            written = {element["got"] for element in elements}
            assert not [value for value in values - written if len(value) > 4 and value in text]
