"""The server goes away in the middle of a run: nothing is lost, the harness's surroundings are blamed, and the same
command goes on. And while judges are busy, no more answers are taken than there is room for.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from npukernelbench.hookspecs import hookimpl
from npukernelbench.nouns import CompileRequest, CompileResult, Outcome, Owner, Sample
from npukernelbench.plugins import Plugins, Register
from npukernelbench.run.plan import RunPlan
from npukernelbench.run.runner import run
from npukernelbench.run.schedule import _LEAST_ROOM
from npukernelbench.store import read_run
from npukernelbench.testing import FakeExecutor, FakePlugin, RecordingObserver, fake_plugins, make_plan

if TYPE_CHECKING:
    from tests.backends.conftest import ChatServer, Reply

WRONG = "```cpp\n// fake: double\n```"


class OpenAIPlugin:
    """The backend under its own name, beside the fakes."""

    @hookimpl
    def register_backends(self, register: Register) -> None:
        register("openai", "npukb_openai.backend:OpenAIBackend")


def plugins_with(fakes: FakePlugin | None = None) -> Plugins:
    plugins = fake_plugins(fakes)
    plugins.register(OpenAIPlugin(), "openai-of-the-test")
    return plugins


def plan_for(server: ChatServer, folder: Path, **changes: Any) -> RunPlan:
    args = {
        "model": "m",
        "base_url": server.base_url,
        "concurrency": 4,
        "max_retries": 1,
        "backoff_s": 0.001,
        "timeout_s": 5.0,
        **changes.pop("args", {}),
    }
    return make_plan(folder, model="openai", model_args=args, **changes)


def test_nothing_is_lost_when_the_server_is_unplugged(server: ChatServer, tmp_path: Path) -> None:
    plugged = [True]

    def script(body: Mapping[str, Any], number: int) -> Reply:
        if plugged[0] and number >= 9:
            plugged[0] = False
        return server.completion(WRONG) if plugged[0] else server.reply(body={}, cut_at=0)

    server.script = script
    plan = plan_for(server, tmp_path / "run", samples=6)
    first = run(plan, plugins_with(), RecordingObserver())
    stored = read_run(plan.directory)
    answered = dict(stored.completions)
    assert 0 < len(answered) < 24
    assert first.by_outcome == {Outcome.WRONG_VALUE: len(answered), Outcome.INFRA_ERROR: 24 - len(answered)}
    assert first.valid == len(answered)
    blamed = [
        sample for sample in stored.samples.values() if sample.verdict and sample.verdict.outcome is Outcome.INFRA_ERROR
    ]
    assert {sample.verdict.owner for sample in blamed if sample.verdict} == {Owner.INFRA}
    assert all("connection" in sample.verdict.diagnostics[0].message for sample in blamed if sample.verdict)

    asked_before = len(server.requests)
    server.script = lambda body, number: server.completion(WRONG)
    second = run(plan, plugins_with(), RecordingObserver())
    assert second.by_outcome == {Outcome.WRONG_VALUE: 24}
    assert len(server.requests) - asked_before == 24 - len(answered)
    again = read_run(plan.directory).completions
    assert all(again[key] == value for key, value in answered.items())


def test_answers_wait_while_the_judges_are_busy(server: ChatServer, tmp_path: Path) -> None:
    """The model is asked ahead of the judges, but not without bound: memory holds a fixed number of answers."""
    gate = threading.Event()
    server.script = lambda body, number: server.completion(f"```cpp\n// {number} fake: double\n```")

    class Slow(FakeExecutor):
        def compile(self, request: CompileRequest) -> CompileResult:
            gate.wait(600)
            return super().compile(request)

    fakes = FakePlugin()
    fakes.executor = Slow
    most: list[int] = []

    def watch() -> None:
        seen, since = -1, time.monotonic()
        while seen < 16 or time.monotonic() - since < 0.5:
            stored = _lines(tmp_path / "run" / "events.jsonl")
            if stored != seen:
                seen, since = stored, time.monotonic()
            time.sleep(0.01)
        most.append(seen)
        gate.set()

    plan = plan_for(server, tmp_path / "run", samples=60, jobs=2, args={"concurrency": 16})
    threading.Thread(target=watch).start()
    summary = run(plan, plugins_with(fakes), RecordingObserver())
    assert summary.by_outcome == {Outcome.WRONG_VALUE: 240}
    assert most[0] <= _LEAST_ROOM


def _lines(log: Path) -> int:
    """Answers stored so far."""
    return log.read_bytes().count(b'"type":"completion"') if log.exists() else 0


def test_judging_goes_on_while_the_model_is_asked(server: ChatServer, tmp_path: Path) -> None:
    """The first verdicts are there before the last question is asked."""
    judged: list[Sample] = []
    asked_at_first_verdict: list[int] = []
    server.script = lambda body, number: server.reply(body=server.completion(WRONG).body, delay_s=0.01)

    class Watcher(RecordingObserver):
        def finished(self, sample: Sample) -> None:
            if not judged:
                asked_at_first_verdict.append(len(server.requests))
            judged.append(sample)

    run(plan_for(server, tmp_path / "run", samples=30, args={"concurrency": 2}), plugins_with(), Watcher())
    assert len(judged) == len(server.requests) == 120
    assert asked_at_first_verdict[0] < 100
