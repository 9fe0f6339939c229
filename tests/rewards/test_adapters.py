"""The adapters: called as trainers call them."""

from __future__ import annotations

import ast
import importlib.util
import inspect
import pickle
from pathlib import Path
from typing import Any

import pytest

from npukernelbench.errors import ExecutorError, UsageError
from npukernelbench.rewards import METRIC_NAMES, texts
from npukernelbench.rewards.trl import KernelReward, kernel_reward, make_async_reward, make_reward
from npukernelbench.rewards.verl import compute_score
from tests.alone import read_alone
from tests.rewards.conftest import MakeScorer, answer


@pytest.fixture(autouse=True)
def _fake_scorer(make_scorer: MakeScorer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every adapter's own scorer is the fake one."""
    monkeypatch.setattr(texts, "open_scorer", lambda *, policy, judge, **settings: make_scorer(policy))
    monkeypatch.setattr(texts, "_OPEN", {})


def test_a_forked_process_has_a_scorer_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads do not come along."""
    parents = texts.shared_scorer("shaped", "", {})
    assert texts.shared_scorer("shaped", "", {}) is parents
    monkeypatch.setattr("os.getpid", lambda: -1)
    assert texts.shared_scorer("shaped", "", {}) is not parents


def called(reward: KernelReward, completions: list[Any], **more: Any) -> list[float | None]:
    """The whole set of keywords of TRL 1.16."""
    keywords: dict[str, Any] = {
        "prompts": ["p"] * len(completions),
        "completions": completions,
        "completion_ids": [[1, 2]] * len(completions),
        "npukb_task": ["TinyOne/a"] * len(completions),
        "another_column": [None] * len(completions),
        "trainer_state": object(),
        "log_extra": lambda column, values: None,
        "log_metric": lambda name, value: None,
    }
    return reward(**(keywords | more))


def test_trl_takes_text_and_conversations() -> None:
    chat = [[{"role": "assistant", "content": answer(word)}] for word in ("ok", "zeros", "raise")]
    parts = [[{"role": "assistant", "content": [{"type": "text", "text": answer()}]}]]
    assert called(make_reward(), [answer("ok"), answer("zeros"), answer("raise")]) == [0.7, 0.2, None]
    assert called(make_reward(), chat) == [0.7, 0.2, None]
    assert called(make_reward(), parts) == [0.7]
    assert called(make_reward(), [[{"role": "user", "content": answer()}]]) == [0.0]


def test_trl_logs_the_same_names_every_time() -> None:
    for words in (["ok"], ["raise", "zeros"]):
        metrics: dict[str, float] = {}
        columns: dict[str, list[Any]] = {}
        called(
            make_reward(),
            [answer(word) for word in words],
            log_metric=metrics.__setitem__,
            log_extra=columns.__setitem__,
        )
        assert sorted(metrics) == sorted(f"npukb/{name}" for name in METRIC_NAMES)
        assert len(columns["npukb_outcome"]) == len(words)


def test_trl_components_and_other_policies() -> None:
    answers = [answer("ok"), answer("zeros"), "nothing"]
    assert called(make_reward(component="compiled"), answers) == [1.0, 1.0, 0.0]
    assert called(make_reward(policy="binary"), answers) == [1.0, 0.0, 0.0]


def test_trl_functions_have_names_and_can_be_pickled() -> None:
    made = make_reward(policy="binary", component="correct", name="correct", jobs=3)
    copy = pickle.loads(pickle.dumps(made))
    assert (copy.__name__, copy.__qualname__) == ("correct", "correct")
    assert vars(copy) == vars(made)
    assert kernel_reward.__name__ == "kernel_reward"
    assert not inspect.iscoroutinefunction(kernel_reward.__call__)


def test_trl_without_its_column_says_so() -> None:
    with pytest.raises(UsageError, match="npukb_task"):
        kernel_reward(prompts=["p"], completions=["c"], completion_ids=[[1]])
    with pytest.raises(UsageError, match="no component 'speedy'"):
        make_reward(component="speedy")
    with pytest.raises(UsageError, match="no policy"):
        make_reward(policy="nice")
    with pytest.raises(UsageError, match="a completion is int"):
        called(make_reward(), [3])


def verl(text: str, **more: Any) -> dict[str, float | None]:
    """The whole set of keywords of verl 0.9."""
    keywords: dict[str, Any] = {
        "data_source": "npukernelbench",
        "solution_str": text,
        "ground_truth": "TinyOne/a",
        "extra_info": {"num_turns": 2},
        "reward_router_address": None,
        "reward_model_tokenizer": None,
    }
    return compute_score(**(keywords | more))


def test_verl_gives_the_same_keys_for_every_sample() -> None:
    found = [verl(answer(word)) for word in ("ok", "zeros", "crash")] + [verl("nothing")]
    assert [one["score"] for one in found] == [0.7, 0.2, 0.1, 0.0]
    assert {tuple(one) for one in found} == {("score", *METRIC_NAMES)}
    assert verl(answer(), extra_info=None)["score"] == 0.7


def test_verl_tries_again_then_gives_none_or_what_it_is_told() -> None:
    assert verl(answer("flaky"))["score"] == 0.7
    unknown = verl(answer("raise"))
    assert (unknown["score"], unknown["infra"]) == (None, 1.0)
    with pytest.raises(ExecutorError, match="could not be judged"):
        verl(answer("raise"), on_fault="raise")
    flagged = verl(answer("raise"), on_fault="flag")
    assert (flagged["score"], flagged["infra"]) == (0.0, 1.0)


def test_a_judge_that_is_gone_is_no_exception_but_none(monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(**settings: object) -> None:
        raise ExecutorError("nobody answers")

    monkeypatch.setattr(texts, "open_scorer", gone)
    assert called(make_reward(), [answer(), answer()]) == [None, None]
    assert called(make_reward(component="correct"), [answer()]) == [None]
    unknown = verl(answer())
    assert (unknown["score"], unknown["infra"], unknown["correct"]) == (None, 1.0, 0.0)


def test_adapters_read_reasoning_that_stands_apart(make_scorer: MakeScorer, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    scorer = make_scorer()
    monkeypatch.setattr(scorer, "score", lambda answers: asked.extend(answers) or [])
    monkeypatch.setattr(texts, "open_scorer", lambda **settings: scorer)
    message = {"role": "assistant", "content": "none", "reasoning_content": answer()}
    called(make_reward(), [[message], "text"])
    assert [(one.text, one.reasoning) for one in asked] == [("none", answer()), ("text", "")]


@pytest.mark.parametrize(
    ("more", "field"), [({"on_fault": "shrug"}, "on_fault"), ({"ground_truth": 3}, "ground_truth")]
)
def test_verl_refuses_what_it_cannot_read(more: dict[str, Any], field: str) -> None:
    with pytest.raises(UsageError) as caught:
        verl(answer(), **more)
    assert caught.value.field == field


def test_trl_itself_takes_our_function() -> None:
    """The released package's own view of a reward function."""
    trl = pytest.importorskip("trl.trainer.grpo_trainer", reason="trl is not installed")
    source = inspect.getsource(trl.GRPOTrainer._calculate_rewards)
    for keyword in ("prompts=", "completions=", "completion_ids=", "trainer_state", "log_extra", "log_metric"):
        assert keyword in source
    assert trl.is_async_callable(make_async_reward())
    assert not trl.is_async_callable(make_reward())


def test_verl_itself_finds_and_calls_our_function() -> None:
    """The released package's own loader, and the keywords with which its reward manager calls what it loads.

    Its files are read alone: the package needs a cluster's worth of others to be imported.
    """
    package = importlib.util.find_spec("verl")
    if package is None or package.origin is None:
        pytest.skip("verl is not installed")
    root = Path(package.origin).parent
    loader = read_alone(root / "utils" / "import_utils.py")
    extern_object = loader.load_extern_object(
        module_path="pkg://npukernelbench.rewards.verl", object_name="compute_score"
    )
    assert extern_object is compute_score
    source = (root / "experimental" / "reward_loop" / "reward_manager" / "naive.py").read_text(encoding="utf-8")
    calls = [
        {word.arg for word in node.keywords if word.arg}
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "self.compute_score"
    ]
    assert calls
    for words in calls:
        values = {"data_source": "npukernelbench", "solution_str": answer(), "ground_truth": "TinyOne/a"}
        score = extern_object(**{word: values.get(word) for word in words})
        assert score["score"] == 0.7
        assert not inspect.iscoroutinefunction(extern_object)


def test_verifiers_takes_our_taskset() -> None:
    loaders = pytest.importorskip("verifiers.v1.utils.loaders", reason="verifiers is not installed")
    adapter = pytest.importorskip("npukernelbench.rewards.verifiers")
    assert loaders.taskset_config_type("npukb-verifiers") is adapter.KernelConfig
    taskset = adapter.KernelTaskset(adapter.KernelConfig(tasks="Sqrt:smoke"))
    [task] = list(taskset)
    assert task.data.question == "Sqrt/smoke"
    assert "Sqrt" in task.data.prompt
    assert "__global__" in task.data.golden
