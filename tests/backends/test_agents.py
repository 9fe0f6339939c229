"""Command-line agents end to end: a stub agent behind walls, with a stub model and the judge as its only doors."""

from __future__ import annotations

import json
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from socket import create_server
from time import sleep
from types import SimpleNamespace
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

import npukb_agent
from kernelgen_lm.corpus.agents import trajectories
from npukb_agent.backend import AgentBackend
from npukb_agent.doors import answered
from npukb_agent.judging import Record, judge_door
from npukb_agent.presets import Protocol, presets, reported_tokens
from npukb_agent.protocols import Asked, Usage, usage_of
from npukb_agent.walled import Places, start
from npukb_mcp.results import Budget
from npukernelbench.errors import BackendError, UsageError
from npukernelbench.generate.ask import make_backend
from npukernelbench.nouns import CallStatus, Outcome
from npukernelbench.run.runner import run
from npukernelbench.store import read_run
from npukernelbench.tasks import Selected
from npukernelbench.testing import RecordingObserver, tiny_case, tiny_task
from tests.backends.agents import write_agent

WRITE = "printf '// fake: {}\\n' > kernel.cpp"


@pytest.fixture
def walls(tmp_path):
    """Skips where this machine has no walls to offer: an agent is refused there."""
    folder = tmp_path / "walls"
    folder.mkdir()
    try:
        start(Places.below(folder), 1, (), sys.stderr.fileno()).end()
    except BackendError as error:
        pytest.skip(str(error))


@pytest.fixture
def plugins(plugins, walls):
    plugins.register(npukb_agent, "npukb_agent")
    return plugins


@pytest.fixture
def plan(plan, server, tmp_path):
    """The task is for the stub agent with the stub model."""
    agent = write_agent(tmp_path / "agent.py")
    return replace(
        plan,
        model="agent:command",
        model_args={
            "command": f"{agent} {{url}} '{{task}}'",
            "model": "m",
            "base_url": server.base_url,
            "seconds": 60,
            "calls": 3,
        },
    )


def says(server, *answers):
    """The model's words by turn of a conversation, then END."""
    server.script = lambda body, number: server.completion([*answers, "END"][len(body["messages"]) // 2])


def only(plan):
    [sample] = read_run(plan.directory).samples.values()
    return sample


def test_an_agent_repairs_its_kernel_with_the_judge(server, plan, plugins):
    says(
        server,
        f"{WRITE.format('double')}; ./check; ./judge",
        "./explain wrong_value",
        f"{WRITE.format('ok')}; ./judge --json",
    )
    summary = run(plan, plugins, RecordingObserver())
    sample = only(plan)
    assert summary.by_outcome == {Outcome.OK: 1}, sample
    assert sample.candidate.files == {"kernel.cpp": "// fake: ok\n"}
    told = [(call.name, call.outcome, call.paid) for call in sample.calls]
    assert told == [("check", Outcome.OK, True), ("judge", Outcome.WRONG_VALUE, True), ("judge", Outcome.OK, True)]
    assert [json.loads(call.arguments)["files"]["kernel.cpp"] for call in sample.completion.calls][1:] == [
        "// fake: double\n",
        "// fake: ok\n",
    ]
    # The clock and the meter run on from call to call; a right kernel has its time.
    assert [call.tokens for call in sample.calls] == [18, 18, 54]
    assert sample.calls[0].seconds < sample.calls[2].seconds < 60
    assert [call.time_us for call in sample.calls] == [0, 0, 10.0]
    # What the model saw is what the harness kept; its name, key and address are the proxy's.
    assert sample.completion.usage[:2] == (44, 28)
    assert sample.completion.sent["ended"] == "exit 0"
    assert {asked["model"] for asked in server.requests} == {"m"}
    assert set(server.keys) == {"Bearer sk-secret-of-the-test"}
    assert "sk-secret" not in (plan.directory / "events.jsonl").read_text()
    assert "wrong_value at" in sample.completion.transcript
    assert "Budget:" in server.requests[1]["messages"][-1]["content"]
    assert summary.results.calls.judged == 2
    effort = summary.results.effort
    assert [(row.calls, row.solved, row.tokens) for row in effort.after] == [(1, 0.0, 18), (2, 1.0, 54)]
    # As a training conversation: the calls with their files, what they were told, and the answer.
    [row], counts = trajectories(plan.directory)
    assert counts == {"written": 1}
    roles = [message["role"] for message in row["messages"] if message["role"] != "system"]
    assert roles == ["user", *["assistant", "tool"] * 3, "assistant"]
    judged = row["messages"][-3]["tool_calls"][0]["function"]
    assert judged == {"name": "judge", "arguments": {"files": {"kernel.cpp": "// fake: ok\n"}}}
    assert [tool["function"]["name"] for tool in row["tools"]] == ["check", "judge"]


def test_an_agent_finds_nothing_but_its_workspace(server, plan, plugins, tmp_path, monkeypatch):
    """It looks for the judge's files, another agent's workspace, processes, the network and ways to write."""
    import npukernelbench

    secret = tmp_path / "other" / "kernel.cpp"
    secret.parent.mkdir()
    secret.write_text("of another session")
    monkeypatch.setenv("HIDDEN_SEED", "sesame-1")
    package = Path(npukernelbench.__file__).parent
    python, port = Path(sys.executable).resolve(), server.base_url.rsplit(":")[-1].split("/")[0]
    probes = {
        "reads": f"cat {secret} {package}/__init__.py {plan.directory}/manifest.json /etc/shadow /root/.bashrc",
        "lists": f"ls -d {package} {secret.parent} {package.parent}/tasks {plan.directory} /home/*/.cache /root/.ssh",
        "parents": f"find /agent /tmp /home /var -name '{secret.parent.name}*'; ls .. /",
        "processes": "for p in /proc/[0-9]*; do tr '\\0' ' ' < $p/environ; done | grep -c sesame",
        "memory": "cat /proc/1/environ /proc/1/root/etc/hostname; kill -9 1",
        "network": f"{python} -c \"import socket; socket.create_connection(('127.0.0.1', {port}), 2)\"; "
        "curl -sS -m 2 http://1.1.1.1/",
        "terminals": f"{python} -c 'import os; print(os.ttyname(os.openpty()[1]))'; ls /dev/pts",
        "writes": "touch /usr/mine /etc/mine /mine; echo '#' >> /etc/passwd; mount -t tmpfs none /mnt",
        "links": "rm kernel.cpp; ln -s /etc/passwd kernel.cpp; ./judge; ln -sf /etc/passwd ~/stdout; rm kernel.cpp",
    }
    says(server, *probes.values())
    run(plan, plugins, RecordingObserver())
    seen = dict(zip(probes, (asked["messages"][-1]["content"] for asked in server.requests[1:]), strict=True))
    assert all("No such file" in line or "cannot" in line for line in seen["reads"].splitlines()), seen["reads"]
    assert all("No such file" in line or "cannot" in line for line in seen["lists"].splitlines()), seen["lists"]
    assert str(secret.parent.parent) not in seen["parents"]
    assert {"agent", "home", "work"} <= set(seen["parents"].split())
    assert seen["processes"].split()[0] == "0"
    # Terminals of its own, for agents that run every command in one.
    assert seen["terminals"].split() == ["/dev/pts/0", "ptmx"]
    assert "hostname" in seen["memory"]
    assert "Permission denied" in seen["memory"] or "Operation not permitted" in seen["memory"]
    assert "efused" in seen["network"] or "nreachable" in seen["network"]
    assert len(server.requests) == len(probes) + 1
    assert seen["writes"].count("denied") + seen["writes"].count("annot") >= 4, seen["writes"]
    assert "is no plain file of the workspace" in seen["links"]
    sample = only(plan)
    assert sample.verdict.outcome is Outcome.NO_CODE
    assert sample.calls[0].status is CallStatus.MALFORMED
    assert "root:" not in sample.completion.transcript


def budgeted(plan, **args):
    return replace(plan, model_args={**plan.model_args, **args})


def test_budgets_end_an_agent(server, plan, plugins, tmp_path):
    """Calls are refused, tokens close the door to the model, seconds end everything; the last kernel is the answer."""
    says(server, f"{WRITE.format('double')}; ./judge; ./judge", f"{WRITE.format('ok')}; ./judge; echo $?")
    run(budgeted(plan, calls=2), plugins, RecordingObserver())
    sample = only(plan)
    assert [call.status for call in sample.calls] == [CallStatus.ANSWERED, CallStatus.ANSWERED, CallStatus.REFUSED]
    assert sample.verdict.outcome is Outcome.OK
    assert "no calls left" in server.requests[-1]["messages"][-1]["content"]
    asked = len(server.requests)

    says(server, *[WRITE.format("ok")] * 5)
    limited = replace(budgeted(plan, tokens=36), directory=tmp_path / "tokens")
    run(limited, plugins, RecordingObserver())
    sample = only(limited)
    assert len(server.requests) - asked == 2
    assert (sample.completion.sent["ended"], sample.verdict.outcome) == ("tokens", Outcome.OK)
    assert "budget of tokens is used up" in sample.completion.transcript

    priced = replace(budgeted(plan, money=2e-5, input_price=1, output_price=1), directory=tmp_path / "money")
    run(priced, plugins, RecordingObserver())
    assert only(priced).completion.sent["ended"] == "money"

    says(server, f"{WRITE.format('ok')}; (setsid sleep 300 &) ; sleep 300")
    timed = replace(budgeted(plan, seconds=1.5), directory=tmp_path / "seconds")
    run(timed, plugins, RecordingObserver())
    assert (only(timed).completion.sent["ended"], only(timed).verdict.outcome) == ("seconds", Outcome.OK)


def test_a_run_that_was_killed_pays_for_no_finished_task_twice(server, plan, plugins):
    """The second of two tasks dies with the run; then only that one is asked again."""
    case = tiny_case("a")
    plan = replace(plan, tasks=tuple(Selected(tiny_task(name, cases=(case,)), (case,)) for name in ("One", "Two")))

    class Interrupted(RecordingObserver):
        def finished(self, sample):
            super().finished(sample)
            raise KeyboardInterrupt

    says(server, f"{WRITE.format('ok')}; ./judge")
    with pytest.raises(KeyboardInterrupt):
        run(plan, plugins, Interrupted())
    [first] = [sample.key.task for sample in read_run(plan.directory).samples.values()]
    asked = len(server.requests)
    says(server, WRITE.format("ok"))
    summary = run(plan, plugins, RecordingObserver())
    assert summary.by_outcome == {Outcome.OK: 2}
    again = [body["messages"][0]["content"] for body in server.requests[asked:]]
    assert len(again) == 2
    samples = {sample.key.task: sample for sample in read_run(plan.directory).samples.values()}
    assert set(samples) == {"One", "Two"}
    # The finished one keeps its answer, with the calls that only its own agent made.
    assert [len(samples[name].calls) for name in (first, *({"One", "Two"} - {first}))] == [1, 0]


def test_faults_of_ours_are_no_zero_of_the_model(server, plan, plugins, tmp_path):
    """A model that never answers, an agent that asks nothing, a program that cannot be started."""
    server.replies(server.error(500))
    run(plan, plugins, RecordingObserver())
    [note] = only(plan).verdict.diagnostics
    assert only(plan).verdict.outcome is Outcome.INFRA_ERROR
    assert "answered 500" in note.message
    silent = replace(budgeted(plan, command="true"), directory=tmp_path / "silent")
    run(silent, plugins, RecordingObserver())
    assert "it asked nothing" in only(silent).verdict.diagnostics[0].message
    with pytest.raises(BackendError, match="there is no program"):
        run(replace(budgeted(plan, command="no-such-agent"), directory=tmp_path / "none"), plugins, RecordingObserver())
    failing = replace(plan, model_args={"command": "cat nothing", "protocol": "none"}, directory=tmp_path / "failing")
    run(failing, plugins, RecordingObserver())
    assert only(failing).verdict.outcome is Outcome.INFRA_ERROR
    assert "exit 1 and had written no kernel" in only(failing).verdict.diagnostics[0].message
    with pytest.raises(BackendError, match="no price"):
        run(replace(budgeted(plan, money=1.0), directory=tmp_path / "free"), plugins, RecordingObserver())


def test_a_script_without_a_model_and_without_walls(plan, plugins, tmp_path):
    """``protocol=none``: the judge is the only door. Without walls, the verdict says so."""
    agent = tmp_path / "script"
    agent.write_text(f"#!/bin/sh\n{WRITE.format('ok')}\n./judge\npwd\n")
    agent.chmod(0o755)
    bare = {"command": str(agent), "protocol": "none"}
    run(replace(plan, model_args=bare), plugins, RecordingObserver())
    sample = only(plan)
    assert (sample.verdict.outcome, sample.completion.sent["sandbox"]) == (Outcome.OK, "walls")
    assert sample.completion.transcript.endswith("/agent/work\n")
    assert sample.completion.usage == (0, 0, 0)
    unwalled = replace(plan, model_args={**bare, "sandbox": "off"}, directory=tmp_path / "off")
    run(unwalled, plugins, RecordingObserver())
    assert (only(unwalled).verdict.outcome, only(unwalled).completion.sent["sandbox"]) == (Outcome.OK, "off")


def test_calls_of_the_judge_are_answered_one_after_the_other():
    """The record numbers them, and says what each one has spent."""

    class Slow:
        budget = Budget(calls_left=1, seconds_left=1.0)

        def take(self, files):
            sleep(0.1)
            raise UsageError("there is no kernel")

    def ask(word):
        with pytest.raises(HTTPError) as refused:
            urlopen(f"http://127.0.0.1:{door.getsockname()[1]}/{word}", timeout=30)
        refused.value.close()
        assert refused.value.code == 400

    record = Record()
    with create_server(("127.0.0.1", 0)) as door, ThreadPoolExecutor() as pool:
        handler = judge_door(Slow(), None, SimpleNamespace(spent=0, seconds=0.0), record)
        with answered(door, handler):
            list(pool.map(ask, ["check", "judge", "judge"]))
    assert [call.id for call in record.calls] == [result.id for result in record.results] == ["c0", "c1", "c2"]


def test_the_proxy_passes_questions_of_the_model_only():
    body = {"model": "another", "tools": [{"type": "web_search"}, {"type": "function"}], "stream": True, "plugins": [1]}
    asked = Asked.of(Protocol.CHAT, "/v1/chat/completions", json.dumps(body).encode(), "m")
    assert json.loads(asked.body) == {
        "model": "m",
        "tools": [{"type": "function"}],
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    claude = {
        "tools": [{"type": "web_search_20250305"}, {"name": "Bash"}, {"type": "bash_20250124"}],
        "mcp_servers": [],
    }
    asked = Asked.of(Protocol.ANTHROPIC, "/v1/messages?beta=true", json.dumps(claude).encode(), "m")
    assert json.loads(asked.body)["tools"] == [{"name": "Bash"}, {"type": "bash_20250124"}]
    gemini = {"tools": [{"googleSearch": {}}, {"functionDeclarations": [1], "urlContext": {}}]}
    asked = Asked.of(Protocol.GEMINI, "/v1beta/models/x:generateContent", json.dumps(gemini).encode(), "m")
    assert (asked.path, asked.counts) == ("/v1beta/models/m:generateContent", True)
    assert json.loads(asked.body) == {"tools": [{"functionDeclarations": [1]}]}
    for protocol, path in (
        (Protocol.CHAT, "/v1/files"),
        (Protocol.CHAT, "/v1/responses"),
        (Protocol.GEMINI, "/v1beta/files"),
        (Protocol.ANTHROPIC, "/v1/messages/../files"),
    ):
        assert Asked.of(protocol, path, b"{}", "m") is None, path


def test_usage_is_read_from_every_protocol():
    counted = b'{"choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": 2}}'
    stream = b'data: {"choices": []}\n\ndata: ' + counted + b"\n\ndata: [DONE]"
    assert usage_of(Protocol.CHAT, b"", stream) == Usage(5, 2)
    # What ends a line of text for Python ends none of JSON.
    assert usage_of(Protocol.CHAT, b"", stream.replace(b'"choices"', '"\u2028"'.encode())) == Usage(5, 2)
    done = {"type": "response.completed", "response": {"usage": {"input_tokens": 7, "output_tokens": 3}}}
    assert usage_of(Protocol.RESPONSES, b"", b"data: " + json.dumps(done).encode()) == Usage(7, 3)
    start = {
        "type": "message_start",
        "message": {"usage": {"input_tokens": 4, "cache_read_input_tokens": 6, "output_tokens": 1}},
    }
    delta = {"type": "message_delta", "usage": {"output_tokens": 9}}
    events = b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in (start, delta))
    assert usage_of(Protocol.ANTHROPIC, b"", events) == Usage(10, 9)
    many = [
        {"usageMetadata": {"promptTokenCount": 3, "candidatesTokenCount": n, "thoughtsTokenCount": 2}} for n in (1, 4)
    ]
    assert usage_of(Protocol.GEMINI, b"", json.dumps(many).encode()) == Usage(3, 6)
    assert usage_of(Protocol.CHAT, b"x" * 40, b"y" * 8) == Usage(10, 2, counted=False)


def test_presets_are_whole(plugins):
    """Every preset has a backend and can be filled; files of settings are what their readers expect."""
    import tomllib

    assert set(presets()) == set(npukb_agent.PRESETS)
    names = ("task", "model", "url", "token", "home", "work")
    for name, preset in presets().items():
        filled = preset.filled(dict.fromkeys(names, "X"))
        assert "X" in " ".join(filled.words), name
        assert "{" not in " ".join((*filled.words, *filled.environment.values())), name
        assert plugins.backends.find(f"agent:{name}").load().name == name
        for path, text in filled.home.items():
            (json.loads if path.endswith("json") else tomllib.loads)(text)
    backend = make_backend(plugins.backends.find("agent:codex"), {"program": "/no/codex"})
    assert isinstance(backend, AgentBackend)
    with pytest.raises((BackendError, UsageError), match="there is no program"):
        backend.describe()
    claude = '{"type": "assistant"}\n{"type": "result", "usage": {"input_tokens": 4, "output_tokens": 2}}\n'
    for said in (claude, claude.replace('"usage"', '"\u2028": 1, "usage"')):
        assert reported_tokens(presets()["claude"].reported, said) == (4, 2)
    mini = {
        "messages": [{"extra": {"response": {"usage": {"prompt_tokens": n, "completion_tokens": 1}}}} for n in (3, 5)]
    }
    assert reported_tokens(presets()["mini-swe-agent"].reported, json.dumps(mini)) == (8, 2)
    assert reported_tokens(presets()["gemini"].reported, "no JSON") is None
    gemini = json.dumps({"stats": {"models": {"m": {"tokens": {"prompt": 9, "candidates": 4}}}}}, indent=2)
    # Its warnings come by the same way.
    assert reported_tokens(presets()["gemini"].reported, f"[STARTUP] no mark\nWarning\n{gemini}\n") == (9, 4)
