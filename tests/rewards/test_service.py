"""The judge's server and its client."""

from __future__ import annotations

import json
import socket
import threading
import urllib.error
import urllib.request
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from http.client import HTTPConnection
from typing import Any

import pytest

from npukernelbench.errors import ExecutorError, UsageError
from npukernelbench.generate import Hints
from npukernelbench.nouns import Outcome
from npukernelbench.rewards import Answer, JudgeServer, Question, RemoteScorer, servers
from npukernelbench.rewards.client import TOKEN_VARIABLE
from npukernelbench.rewards.reward import Reward
from tests.rewards.conftest import MakeScorer, answer


@pytest.fixture
def serve(make_scorer: MakeScorer) -> Iterator[Any]:
    """Starts servers; stops them."""
    servers: list[JudgeServer] = []

    def start(**options: Any) -> JudgeServer:
        token = options.pop("token", "")
        server = JudgeServer(make_scorer(**options), token=token)
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        servers.append(server)
        return server

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


def post(server: JudgeServer, body: bytes, path: str = "/v1/score") -> tuple[int, Any]:
    try:
        with urllib.request.urlopen(urllib.request.Request(server.url + path, body), timeout=30) as reply:
            return reply.status, json.load(reply)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.load(error)


def get(server: JudgeServer, path: str) -> Any:
    with urllib.request.urlopen(server.url + path, timeout=30) as reply:
        return json.load(reply)


def unseeded(rewards: Iterable[Reward]) -> list[Reward]:
    """Rewards but for what their batch was drawn from."""
    return [replace(reward, seed=None) for reward in rewards]


def test_a_server_gives_the_same_rewards_as_the_scorer_itself(serve: Any) -> None:
    server = serve()
    words = ["ok", "zeros", "compile_error", "raise", "ok"]
    answers = [Answer(Question("TinyOne", "b"), answer(word)) for word in words] * 20
    remote = RemoteScorer(server.url)
    assert unseeded(remote.score(answers)) == unseeded(server.scorer.score(answers))
    health = get(server, "/health")
    assert (health["status"], health["pending"], health["answers"]) == ("ok", 0, 100)
    assert health["repeated"] >= 90 - 20  # equal code is judged once; faults of ours are tried again
    assert get(server, "/v1/about")["policy"] == "shaped@2"


def test_the_client_chooses_the_policy(serve: Any) -> None:
    server = serve()
    [reward] = RemoteScorer(server.url, policy="binary").score([Answer(Question("TinyOne"), answer())])
    assert (reward.value, reward.policy) == (1.0, "binary@1")


def test_repair_says_here_and_there_what_the_next_turn_says(serve: Any) -> None:
    server = serve()
    answers = [
        Answer(Question("TinyOne"), text) for text in (answer(), answer("compile_error"), "no code", answer("raise"))
    ]
    here, there = (one.repair(answers, Hints.DIAGNOSTICS) for one in (server.scorer, RemoteScorer(server.url)))
    assert unseeded(turn.reward for turn in here) == unseeded(turn.reward for turn in there)
    assert [turn.feedback for turn in here] == [turn.feedback for turn in there]
    right, wrong, empty, fault = here
    assert (right.feedback, fault.feedback) == ("", "")
    assert wrong.feedback.startswith("The answer is not right.\n\nResult: compile_error")
    assert "no_code" in empty.feedback
    assert [turn.reward.value for turn in here] == [one.value for one in server.scorer.score(answers)]
    assert "Result:" not in server.scorer.repair(answers[1:2], Hints.NONE)[0].feedback
    assert "feedback" not in post(server, b'{"answers": [{"question": "TinyOne", "text": ""}]}')[1]["rewards"][0]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        (b'{"answers": [], "hints": "all"}', "hints"),
        (b"{", "request"),
        (b"[]", "answers"),
        (b'{"answers": [1]}', "answers[0]"),
        (b'{"answers": [{"question": "TinyOne"}]}', "answers[0].text"),
        (b'{"answers": [{"question": "TinyOne", "text": "", "finish_reason": "tired"}]}', "answers[0].finish_reason"),
        (b'{"answers": [{"question": "Huge", "text": ""}]}', "question"),
        (b'{"answers": [], "policy": "../../etc/passwd"}', "policy"),
        (b'{"answers": [], "policy": "nice"}', "policy"),
        (b'{"answers": [], "strategy": 3}', "strategy"),
        (b'{"answers": [], "parser": []}', "parser"),
        (b'{"answers": [{"question": "TinyOne", "text": "", "reasoning": 1}]}', "answers[0].reasoning"),
    ],
)
def test_a_wrong_request_is_told_its_field(serve: Any, body: bytes, field: str) -> None:
    status, reply = post(serve(), body)
    assert (status, reply["error"]["field"]) == (400, field)
    assert reply["error"]["message"]


@pytest.mark.parametrize("length", ["", "-1", "\u00b2", "9" * 5000, "1" * 12])
def test_a_length_that_is_none_is_refused(serve: Any, length: str) -> None:
    server = serve()
    with closing(HTTPConnection(*server.server_address[:2], timeout=30)) as connection:
        connection.putrequest("POST", "/v1/score")
        connection.putheader("Content-Length", length.encode("latin-1"))
        connection.endheaders()
        reply = connection.getresponse()
        assert (reply.status, json.load(reply)["error"]["field"]) == (400, "request")
        assert reply.will_close


def test_other_paths_are_not_there(serve: Any) -> None:
    assert post(serve(), b"{}", "/v1/other")[0] == 404


def test_a_guarded_server_wants_its_token(serve: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    server = serve(token="open sesame")
    asked = [Answer(Question("TinyOne"), answer())]
    assert post(server, b'{"answers": []}')[0] == 401
    with pytest.raises(ExecutorError, match="401"):
        RemoteScorer(server.url).score(asked)
    monkeypatch.setenv(TOKEN_VARIABLE, "open sesame")
    assert RemoteScorer(server.url).score(asked)[0].value == 0.7


def test_an_open_address_without_a_token_is_refused(make_scorer: MakeScorer) -> None:
    with pytest.raises(UsageError, match="can be reached by others"):
        JudgeServer(make_scorer(), "0.0.0.0")


def test_too_much_is_turned_away_and_comes_again(serve: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("npukernelbench.rewards.service._WAITING_PER_JOB", 1)
    monkeypatch.setattr("npukernelbench.rewards.service._RETRY_AFTER_S", 0)
    server = serve(jobs=1, delay_s=0.05)
    found: list[float | None] = []

    def ask(number: int) -> None:
        asked = [Answer(Question("TinyOne"), answer() + "x" * number), Answer(Question("TinyTwo"), answer("zeros"))]
        found.extend(reward.value for reward in RemoteScorer(server.url).score(asked))

    threads = [threading.Thread(target=ask, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(v for v in found if v is not None) == [0.2] * 4 + [0.7] * 4
    assert get(server, "/health")["turned_away"] > 0


def test_a_burst_of_callers_is_answered_each_of_them(serve: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """64 new connections at once, with a client that may not ask twice: nothing is dropped on the way."""
    monkeypatch.setattr("npukernelbench.rewards.client._CONNECTIONS", 1)
    server, together = serve(jobs=4), threading.Barrier(64, timeout=60)

    def ask(number: int) -> list[float | None]:
        remote = RemoteScorer(server.url)
        answers = [Answer(Question("TinyOne"), f"{answer(word)}// {number}") for word in ("ok", "zeros")]
        together.wait()
        twice = [reward.value for _ in range(2) for reward in remote.score(answers)]
        remote.close()
        return twice

    with ThreadPoolExecutor(64) as pool:
        assert list(pool.map(ask, range(64))) == [[0.7, 0.2, 0.7, 0.2]] * 64
    health = get(server, "/health")
    assert (health["answers"], health["pending"]) == (256, 0)


def test_a_connection_is_kept_and_a_lost_one_is_opened_again(serve: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Any] = []
    monkeypatch.setattr(servers, "HTTPConnection", lambda *a, **k: made.append(HTTPConnection(*a, **k)) or made[-1])
    server = serve()
    remote, asked = RemoteScorer(server.url), [Answer(Question("TinyOne"), answer())]
    assert [remote.score(asked)[0].value for _ in range(3)] == [0.7] * 3
    assert len(made) == 1
    made[0].sock.shutdown(socket.SHUT_RDWR)  # as a server does that was started again
    assert remote.score(asked)[0].value == 0.7
    assert len(made) == 2
    remote.close()
    assert all(connection.sock is None for connection in made)


def test_pauses_are_random_and_grow(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []
    monkeypatch.setattr("npukernelbench.rewards.client.time.sleep", pauses.append)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    remotes = [RemoteScorer(f"http://127.0.0.1:{port}") for _ in range(20)]
    for remote in remotes:
        with pytest.raises(ExecutorError, match="cannot be asked"):
            remote.score([Answer(Question("TinyOne"), answer())])
    each = [pauses[first::7] for first in range(7)]
    assert all(len(set(row)) == len(remotes) for row in each)
    assert all(max(row) <= 0.1 * 2 ** (number + 1) for number, row in enumerate(each))
    assert max(each[6]) > max(each[0])


def test_a_request_names_how_answers_are_read(serve: Any) -> None:
    server = serve()
    thought = [
        Answer(Question("TinyOne"), f"<think>{answer()}</think>Nothing."),
        Answer(Question("TinyOne"), "", reasoning=answer()),
    ]
    outcomes = {
        parser: [reward.outcome for reward in RemoteScorer(server.url, parser=parser).score(thought)]
        for parser in ("", "auto-reasoning")
    }
    assert outcomes == {"": [Outcome.NO_CODE] * 2, "auto-reasoning": [Outcome.OK] * 2}
    assert get(server, "/v1/about")["reading"] == "direct/auto"
    for terms, told in (({"parser": "nosuch"}, "nosuch"), ({"strategy": "nosuch"}, "nosuch")):
        with pytest.raises(UsageError, match=told):
            RemoteScorer(server.url, **terms).score(thought)


def test_a_server_that_is_gone_is_a_fault_of_ours(serve: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("npukernelbench.rewards.client._FIRST_PAUSE_S", 0.0)
    server = serve()
    url = server.url
    server.shutdown()
    server.server_close()
    with pytest.raises(ExecutorError, match="cannot be asked"):
        RemoteScorer(url).score([Answer(Question("TinyOne"), answer())])


def test_an_address_is_an_address() -> None:
    with pytest.raises(UsageError, match="no address"):
        RemoteScorer("localhost:80")
