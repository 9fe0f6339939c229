"""Verdicts that judges share: what one has, all have, and nothing passes from one secret to another."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from npukernelbench.config import resolve
from npukernelbench.errors import StoreError
from npukernelbench.judge.pipeline import Judge, JudgeSettings
from npukernelbench.nouns import Outcome
from npukernelbench.plugins import Plugins
from npukernelbench.rewards import Answer, JudgeServer, Question, Scorer
from npukernelbench.rewards.golden import golden_answer
from npukernelbench.rewards.scorer import local_scorer
from npukernelbench.rewards.scoring import Scored, Terms
from npukernelbench.rewards.shared import SharedVerdicts, judging_facts
from npukernelbench.store.contents import Contents, open_contents
from npukernelbench.testing import FakeExecutor, FakeExecutorArgs, tiny_case, tiny_task
from tests.rewards.conftest import answer

MakeJudge = Callable[..., "Replica"]


class Replica:
    """A judge of a pool with an executor of its own."""

    def __init__(self, contents: Contents | None, facts: dict[str, Any] | None = None, **settings: Any) -> None:
        self.executor = FakeExecutor(FakeExecutorArgs())
        self.settings = JudgeSettings(infra_retries=0, **settings)
        plugins = Plugins.load(autoload=False, environ={})
        judge = Judge(self.executor, checkers=plugins.checkers, guards=plugins.guards, settings=self.settings)
        made = judging_facts(self.executor, plugins, self.settings) | (facts or {})
        self.shared = SharedVerdicts(contents, lambda: made) if contents is not None else None
        tasks = {"TinyOne": tiny_task("TinyOne", cases=(tiny_case("a"), tiny_case("b", shape=(3, 7))))}
        self.scorer = Scorer(judge, tasks, plugins, jobs=1, shared=self.shared)

    def score(self, word: str, seed: int = 5, case: str = "a") -> Scored:
        asked = Answer(Question("TinyOne", case), answer(word))
        [scored] = self.scorer.score_fully([asked], Terms(seed=seed))
        return scored

    def judged(self, word: str, **asked: Any) -> bool:
        """Whether it judges such an answer itself."""
        before = len(self.executor.calls)
        self.score(word, **asked)
        return len(self.executor.calls) > before


@pytest.fixture(params=["folder", "memory"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "folder":
        return str(tmp_path / "verdicts")
    pytest.importorskip("fsspec", reason="fsspec is not installed")
    return f"memory://{tmp_path.name}/verdicts"


@pytest.mark.parametrize("word", ["ok", "zeros", "compile_error", "crash"])
def test_what_one_replica_has_judged_all_have(place: str, word: str) -> None:
    first, second = Replica(open_contents(place)), Replica(open_contents(place))
    mine, theirs = first.score(word), second.score(word)
    assert first.executor.calls
    assert not second.executor.calls
    assert (mine.repeated, theirs.repeated) == (False, True)
    assert replace(theirs.verdict, timings={}) == replace(
        mine.verdict, timings={}, cases=tuple(replace(case, profile=None) for case in mine.verdict.cases)
    )
    assert theirs.reward.value == mine.reward.value
    assert second.shared is not None
    assert second.shared.found == 1


def test_the_health_of_a_server_says_how_many_verdicts_of_others_it_used(tmp_path: Path) -> None:
    Replica(open_contents(str(tmp_path))).score("ok")
    second = Replica(open_contents(str(tmp_path)))
    second.score("ok")
    servers = [JudgeServer(second.scorer), JudgeServer(Replica(None).scorer)]
    assert [server.health().get("shared") for server in servers] == [1, None]
    for server in servers:
        server.server_close()


def test_verdicts_of_the_twin_come_back_as_they_were(tmp_path: Path) -> None:
    """With a real executor a verdict has diagnostics, metrics and a profile; the facts are the twin's own."""
    scored = []
    for _ in range(2):
        with local_scorer(resolve(options={"jobs": "1"}), cache=str(tmp_path)) as scorer:
            asked = scorer.resolve(Question("AddCustom", "smoke"))
            text = golden_answer(asked.task, asked.case, asked.question.track)
            assert text is not None
            scored += scorer.score_fully([Answer(asked.question, text)], Terms(seed=5))
            assert scorer.shared_found == len(scored) - 1
    first, second = scored
    assert first.verdict.outcome is Outcome.OK
    assert second.reward.value == first.reward.value
    plain = tuple(replace(case, profile=None) for case in first.verdict.cases)
    assert second.verdict == replace(first.verdict, timings={}, cases=plain)


def test_without_a_cache_each_judges_for_itself() -> None:
    Replica(None).score("ok")
    assert Replica(None).judged("ok")


def test_another_secret_is_another_verdict_unless_the_kernel_never_ran(place: str) -> None:
    first = Replica(open_contents(place))
    for word in ("ok", "zeros", "compile_error"):
        first.score(word, seed=5)
    second = Replica(open_contents(place))
    assert second.judged("ok", seed=6)
    assert second.judged("zeros", seed=6)
    assert not second.judged("compile_error", seed=6)


@pytest.mark.parametrize(
    "other",
    [
        {"facts": {"executor": {"machine_digest": "another"}}},
        {"facts": {"code": "another"}},
        {"facts": {"sandbox": "none"}},
        {"run_timeout_s": 7.0},
        {"variations": 3},
    ],
)
def test_judges_that_differ_share_nothing(tmp_path: Path, other: dict[str, Any]) -> None:
    Replica(open_contents(str(tmp_path))).score("ok")
    assert Replica(open_contents(str(tmp_path)), **other).judged("ok")
    assert not Replica(open_contents(str(tmp_path))).judged("ok")


def test_another_case_or_kernel_is_another_verdict(tmp_path: Path) -> None:
    Replica(open_contents(str(tmp_path))).score("ok")
    assert Replica(open_contents(str(tmp_path))).judged("ok", case="b")
    assert Replica(open_contents(str(tmp_path))).judged("ok and a word more")


@pytest.mark.parametrize("word", ["infra_error", "timeout"])
def test_faults_and_what_a_busy_machine_did_are_not_shared(tmp_path: Path, word: str) -> None:
    first = Replica(open_contents(str(tmp_path)))
    assert first.score(word).verdict.outcome in (Outcome.INFRA_ERROR, Outcome.TIMEOUT)
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_what_is_damaged_counts_as_not_there(tmp_path: Path) -> None:
    Replica(open_contents(str(tmp_path))).score("ok")
    [kept] = (path for path in tmp_path.rglob("*") if path.is_file())
    kept.write_bytes(kept.read_bytes()[:-1])
    assert Replica(open_contents(str(tmp_path))).judged("ok")
    assert not Replica(open_contents(str(tmp_path))).judged("ok")


class Broken:
    """Storage that is gone."""

    def __init__(self) -> None:
        self.asked = 0

    def get(self, name: str) -> bytes | None:
        self.asked += 1
        raise StoreError(f"no {name}", remedy="none")

    def put(self, name: str, content: bytes) -> None:
        raise AssertionError("it is left alone for a while")


def test_storage_that_fails_costs_no_verdict_and_is_left_alone(caplog: pytest.LogCaptureFixture) -> None:
    broken = Broken()
    replica = Replica(broken)
    assert replica.score("ok").verdict.outcome is Outcome.OK
    assert replica.score("zeros").verdict.outcome is Outcome.WRONG_VALUE
    assert broken.asked == 1
    assert "verdicts cannot be read" in caplog.text


def test_facts_that_cannot_be_had_cost_no_verdict_either(
    caplog: pytest.LogCaptureFixture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_facts() -> dict[str, Any]:
        raise StoreError("no facts", remedy="none")

    replica = Replica(open_contents(str(tmp_path)))
    monkeypatch.setattr(replica.shared, "_make_facts", no_facts)
    assert replica.score("ok").verdict.outcome is Outcome.OK
    assert "verdicts cannot be read" in caplog.text


def test_a_place_that_cannot_be_used_is_refused_at_once(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match="cannot be used"):
        open_contents(str(tmp_path / "file"))
