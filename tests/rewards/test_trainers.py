"""The examples for verl and prime-rl: what they name exists, what a machine without GPUs can run of them runs.

``scripts/test-trainers`` makes an environment with the released packages; elsewhere what needs them is skipped.
"""

from __future__ import annotations

import ast
import asyncio
import importlib
import importlib.util
import json
import threading
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml

from npukernelbench.rewards import METRIC_NAMES, texts
from tests.rewards.conftest import MakeScorer, answer

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples" / "training"

#: verifiers' own harnesses start a program with `uv` and a package index; this one asks in the same process.
HARNESS = """
import httpx
import verifiers.v1 as vf
from verifiers.v1.runtimes import ProgramResult

__all__ = ["AskingHarness"]


class AskingConfig(vf.HarnessConfig):
    pass


class AskingHarness(vf.Harness[AskingConfig]):
    APPENDS_SYSTEM_PROMPT = True
    EXECUTES_CODE = False
    NEEDS_CONTAINER = False

    async def launch(self, ctx, trace, runtime, endpoint, secret, mcp_urls, data, tool_interception_url=None):
        system, prompt = self.resolve_prompt(data)
        messages = [{"role": "system", "content": system}] if system else []
        body = {"model": ctx.model, "messages": [*messages, {"role": "user", "content": prompt}]}
        async with httpx.AsyncClient(timeout=60) as client:
            said = await client.post(
                f"{endpoint}/chat/completions", headers={"Authorization": f"Bearer {secret}"}, json=body
            )
        return ProgramResult(0 if said.status_code == 200 else 1, "", said.text)
"""


@pytest.fixture
def verl() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((EXAMPLES / "verl.yaml").read_text(encoding="utf-8"))
    return loaded


@pytest.fixture
def prime() -> dict[str, Any]:
    tomllib = pytest.importorskip("tomllib", reason="Python 3.10 reads no TOML")
    loaded: dict[str, Any] = tomllib.loads((EXAMPLES / "prime-rl.toml").read_text(encoding="utf-8"))
    return loaded


def released_verl() -> Path:
    """verl's folder; it is read, as importing it takes a cluster's worth of packages."""
    package = importlib.util.find_spec("verl")
    if package is None or package.origin is None:
        pytest.skip("verl is not installed (scripts/test-trainers)")
    return Path(package.origin).parent


def test_the_verl_example_names_a_function_that_gives_rewards(
    verl: dict[str, Any], make_scorer: MakeScorer, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[dict[str, object]] = []

    def opening(*, policy: str, judge: str, **settings: object) -> object:
        opened.append({"policy": policy, "judge": judge, **settings})
        return make_scorer(policy)

    monkeypatch.setattr(texts, "open_scorer", opening)
    monkeypatch.setattr(texts, "_OPEN", {})
    named = verl["reward"]["custom_reward_function"]
    function = getattr(importlib.import_module(named["path"].removeprefix("pkg://")), named["name"])
    told = [
        asyncio.run(function("npukernelbench", answer(word), "TinyOne/a", extra_info={}, **named["reward_kwargs"]))
        for word in ("ok", "raise")
    ]
    assert [score["score"] for score in told] == [0.7, 0.0]
    assert [score["infra"] for score in told] == [0.0, 1.0]
    expected = {name: named["reward_kwargs"][name] for name in ("policy", "judge", "strategy")}
    assert opened
    assert all(settings == expected for settings in opened)


def test_the_verl_example_uses_only_keys_of_the_release(verl: dict[str, Any]) -> None:
    text = (released_verl() / "trainer/config/_generated_ppo_trainer.yaml").read_text(encoding="utf-8")
    own = {name: verl[name] for name in verl if name not in ("hydra", "defaults")}
    ours = "reward.custom_reward_function.reward_kwargs."
    assert [key for key in unknown(own, yaml.safe_load(text)) if not key.startswith(ours)] == []
    assert unknown({"data": {"batch": 1}}, {"data": {"batch_size": 2}}) == ["data.batch"]


def test_hydra_puts_the_verl_example_over_the_defaults_of_the_release(verl: dict[str, Any]) -> None:
    hydra = pytest.importorskip("hydra", reason="hydra is not installed (scripts/test-trainers)")
    place = f"file://{released_verl() / 'trainer' / 'config'}"
    with hydra.initialize_config_dir(str(EXAMPLES), version_base=None):
        composed = hydra.compose("verl", overrides=[f"hydra.searchpath=[{place}]"])
    assert composed.reward.custom_reward_function.reward_kwargs.policy == "shaped"
    assert composed.actor_rollout_ref.rollout.n == verl["actor_rollout_ref"]["rollout"]["n"]
    assert composed.critic is not None  # of the defaults


def test_the_prime_rl_example_sets_what_our_taskset_has(prime: dict[str, Any]) -> None:
    """Without verifiers: its fields are read from the source."""
    source = ast.parse((ROOT / "npukernelbench/rewards/verifiers.py").read_text(encoding="utf-8"))
    fields = {
        node.name: {part.target.id for part in node.body if isinstance(part, ast.AnnAssign) and named(part.target)}
        for node in source.body
        if isinstance(node, ast.ClassDef)
    }
    [drawn] = prime["orchestrator"]["train"]["source"]
    taskset = drawn["env"]["taskset"]
    assert taskset["id"] == "npukb-verifiers"
    assert set(taskset) - {"id"} <= fields["KernelConfig"]
    assert set(taskset["task"]) <= fields["KernelTaskConfig"]


def test_verifiers_takes_the_environment_of_the_prime_rl_example(prime: dict[str, Any]) -> None:
    vf = pytest.importorskip("verifiers.v1", reason="verifiers is not installed (scripts/test-trainers)")
    [drawn] = prime["orchestrator"]["train"]["source"]
    config = vf.SingleAgentEnvConfig.model_validate(drawn["env"])
    assert config.taskset.task.judge == "http://127.0.0.1:8970"
    assert config.taskset.task.strategy == "tile"
    with pytest.raises(ValueError, match="polcy"):
        vf.SingleAgentEnvConfig.model_validate({"taskset": {"id": "npukb-verifiers", "task": {"polcy": "shaped"}}})


@pytest.mark.parametrize("right", [True, False])
def test_a_rollout_of_verifiers_is_rewarded(
    right: bool, server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its environment, its client, its scoring; the model is a server of ours that knows the answer."""
    vf = pytest.importorskip("verifiers.v1", reason="verifiers is not installed (scripts/test-trainers)")
    (tmp_path / "asking_harness.py").write_text(HARNESS, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    agent = {"harness": {"id": "asking-harness"}, "runtime": {"type": "subprocess"}}
    environment = vf.SingleAgentEnv(
        vf.SingleAgentEnvConfig.model_validate(
            {"taskset": {"id": "npukb-verifiers", "tasks": "Sqrt:smoke"}, "agent": agent}
        )
    )
    [task] = environment.taskset
    server.answer = task.data.golden if right else "I cannot write one."
    client = vf.EvalClientConfig(base_url=server.address, api_key_var="NPUKB_NO_KEY")
    monkeypatch.setenv("NPUKB_NO_KEY", "none")

    async def rollout() -> Any:
        async with environment.serving():
            return await environment.run_episode(task, vf.ModelContext(model="stub", client=client))

    episode = asyncio.run(rollout())
    assert episode.ok, episode.errors
    [trace] = episode.traces
    assert server.asked[0]["messages"][-1]["content"] == task.data.prompt
    assert {f"npukb/{name}" for name in METRIC_NAMES} == set(trace.metrics)
    assert trace.metrics["npukb/correct"] == float(right)
    assert trace.reward > 0.7 if right else trace.reward == 0.0


def unknown(config: Mapping[str, Any], released: Mapping[str, Any], path: str = "") -> list[str]:
    """The keys of a configuration that the released one lacks."""
    found = []
    for name, value in config.items():
        if isinstance(value, Mapping):
            found += unknown(value, released.get(name) or {}, f"{path}{name}.")
        elif name not in released:
            found.append(f"{path}{name}")
    return found


def named(target: ast.expr) -> bool:
    return isinstance(target, ast.Name)


class Server(ThreadingHTTPServer):
    """Answers every conversation with the same words, and keeps what it was asked."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answering)
        self.answer = ""
        self.asked: list[dict[str, Any]] = []
        self.address = f"http://127.0.0.1:{self.server_address[1]}/v1"


class Answering(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        self.server.asked.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": self.server.answer}}
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        told = {"id": "1", "object": "chat.completion", "created": 0, "model": "stub", "choices": [choice]}
        body = json.dumps(told | {"usage": usage}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Says nothing."""


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as serving:
        thread = threading.Thread(target=serving.serve_forever)
        thread.start()
        yield serving
        serving.shutdown()
        thread.join()
