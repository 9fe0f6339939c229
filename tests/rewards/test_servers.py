"""Several judges behind one scorer: the least busy is asked, and one that dies, hangs or talks nonsense is replaced."""

from __future__ import annotations

import json
import shutil
import ssl
import subprocess
import threading
import weakref
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from npukernelbench.errors import ExecutorError, UsageError
from npukernelbench.nouns import Outcome, Owner
from npukernelbench.rewards import Answer, Question, RemoteScorer, Reward
from npukernelbench.rewards.servers import PENDING_HEADER, Server
from npukernelbench.rewards.texts import rewards_for
from npukernelbench.rewards.trl import kernel_reward
from npukernelbench.rewards.verl import compute_score

REWARD = {"stage": "done", "outcome": "ok", "fault": "none", "policy": "shaped@2", "metrics": {}, "message": ""}


class FakeJudge(ThreadingHTTPServer):
    """Fares as ``mood`` says: well, dies, hangs, slow, busy, broken, nonsense. The reward is the answer's number."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.mood = "well"
        self.batches: list[int] = []
        self.checks = 0
        self.pending = 0
        self.over = threading.Event()
        self.hold: Callable[[], object] = lambda: None
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.005}, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    server: FakeJudge
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        self.server.checks += 1
        if self.server.mood == "hangs":
            self.server.over.wait(30)
        self._reply(503 if self.server.mood == "busy" else 200, {"status": "ok"})

    def do_POST(self) -> None:
        mood = self.server.mood
        answers = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["answers"]
        self.server.batches.append(len(answers))
        if mood == "dies":
            self.close_connection = True
            return
        if mood == "hangs":
            self.server.over.wait(30)
        elif mood == "slow":
            self.server.over.wait(0.06)
        self.server.hold()
        if mood in ("busy", "broken"):
            self._reply(503 if mood == "busy" else 500, {"error": {"message": mood}})
        else:
            rewards = [{"value": float(answer["text"]), **REWARD} for answer in answers]
            self._reply(200, {"rewards": [] if mood == "nonsense" else rewards})

    def _reply(self, status: int, content: object) -> None:
        body = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.send_header(PENDING_HEADER, str(self.server.pending))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A judge is asked how it is after hundredths of a second."""
    monkeypatch.setattr("npukernelbench.rewards.servers._SILENCE_S", 0.02)
    monkeypatch.setattr("npukernelbench.rewards.servers._HEALTH_S", 0.1)


@pytest.fixture
def judges(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., list[FakeJudge]]]:
    """``judges("well", "dies")`` starts two. Pauses last thousandths of a second."""
    monkeypatch.setattr("npukernelbench.rewards.client._FIRST_PAUSE_S", 0.001)
    made: list[FakeJudge] = []

    def start(*moods: str) -> list[FakeJudge]:
        for mood in moods:
            made.append(FakeJudge())
            made[-1].mood = mood
        return made[-len(moods) :]

    yield start
    for judge in made:
        judge.over.set()
        judge.shutdown()
        judge.server_close()


def answers(count: int) -> list[Answer]:
    return [Answer(Question("TinyOne"), str(number)) for number in range(count)]


def scorer(*judges: FakeJudge, **options: Any) -> RemoteScorer:
    return RemoteScorer(",".join(judge.url for judge in judges), **options)


def numbers(remote: RemoteScorer, count: int = 6) -> bool:
    """Whether every answer gets its own reward."""
    rewards = remote.score(answers(count))
    assert {reward.outcome for reward in rewards} == {Outcome.OK}
    return [reward.value for reward in rewards] == [float(number) for number in range(count)]


def test_answers_are_spread_and_come_back_in_order(judges: Any) -> None:
    pool = judges("well", "well", "well")
    together = threading.Barrier(3, timeout=20)
    for judge in pool:
        judge.hold = together.wait  # nobody answers before all three are asked
    assert numbers(scorer(*pool), 200 - 8)
    assert [judge.batches for judge in pool] == [[64]] * 3


def test_a_judge_that_fails_is_replaced_and_none_of_its_answers_is_lost(judges: Any, impatient: None) -> None:
    for mood in ("dies", "hangs", "busy", "broken", "nonsense"):
        bad, good = judges(mood, "well")
        remote = scorer(bad, good)
        for _ in range(4):
            assert numbers(remote), mood
        assert sum(good.batches) >= 24, mood
        assert bad.batches, mood


def test_a_judge_that_is_gone_is_left_out_and_comes_back_when_it_is_well(judges: Any) -> None:
    first, second = judges("broken", "well")
    remote = scorer(first, second)
    while not first.batches:
        assert numbers(remote)
    assert all(numbers(remote) for _ in range(5))
    assert len(first.batches) == 1  # set aside for ten seconds
    first.mood = "well"
    checks = first.checks
    for server in remote._servers:
        server._aside_until = 0.0  # the ten seconds are over
    together = threading.Barrier(2, timeout=20)
    first.hold = second.hold = together.wait
    assert numbers(remote)
    assert first.checks == checks + 1  # it was asked how it is before it was trusted
    assert len(first.batches) == 2


def test_a_slow_judge_is_not_a_dead_one(judges: Any, impatient: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("npukernelbench.rewards.servers._HEALTH_S", 20.0)
    (slow,) = judges("slow")
    assert numbers(scorer(slow))
    assert slow.batches == [6]
    assert slow.checks >= 1


@pytest.mark.skipif(not shutil.which("openssl"), reason="nothing here makes certificates")
def test_nor_is_one_that_sends_tickets_first(
    judges: Any, impatient: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Over TLS a connection is readable before there is any answer."""
    monkeypatch.setattr("npukernelbench.rewards.servers._HEALTH_S", 20.0)
    (slow,) = judges("well")
    slow.hold = lambda: slow.over.wait(0.5)
    key, certificate = tmp_path / "key", tmp_path / "certificate"
    words = "openssl req -x509 -newkey rsa:2048 -nodes -subj /CN=127.0.0.1 -addext subjectAltName=IP:127.0.0.1"
    subprocess.run([*words.split(), "-keyout", key, "-out", certificate], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    slow.socket = context.wrap_socket(slow.socket, server_side=True, do_handshake_on_connect=False)
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    made = RemoteScorer(slow.url.replace("http:", "https:"))
    monkeypatch.setattr("npukernelbench.rewards.servers._TRANSFER_S", 0.2)
    assert numbers(made)
    assert slow.batches == [6]
    assert slow.checks >= 1


def test_connections_close_with_the_server_that_nobody_holds(judges: Any) -> None:
    """At once: a trainer makes many servers, and garbage is looked for seldom."""
    (judge,) = judges("well")
    server = Server(judge.url)
    server.post("/score", json.dumps({"answers": []}).encode())
    open_one, gone = server._idle[0].sock, weakref.ref(server)
    assert open_one.fileno() > 0
    del server
    assert gone() is None
    assert open_one.fileno() == -1


def test_the_least_busy_judge_is_asked(judges: Any) -> None:
    first, second = judges("well", "well")
    remote = scorer(first, second)
    holding, held = threading.Event(), threading.Event()
    first.hold = second.hold = lambda: (holding.set(), held.wait(20))
    waiting = threading.Thread(target=remote.score, args=(answers(1),))
    waiting.start()
    assert holding.wait(20)
    (busy, idle) = (first, second) if first.batches else (second, first)
    idle.hold = lambda: None
    for _ in range(4):
        assert remote.score(answers(1))[0].value == 0.0
    assert (busy.batches, idle.batches) == ([1], [1] * 4)
    held.set()
    waiting.join()
    assert [server.load for server in remote._servers] == [0, 0]


def test_a_straggler_is_overtaken_and_its_answer_is_not_waited_for(
    judges: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("npukernelbench.rewards.race._SHORTEST_S", 0.02)
    first, second = judges("well", "well")
    remote = scorer(first, second)
    for _ in range(20):
        remote._hedge.note(1, 0.0)
    stuck, arrived = threading.Event(), threading.Event()
    first.hold = lambda: (arrived.set(), stuck.wait(20))
    for _ in range(8):
        assert remote.score(answers(1))[0].value == 0.0
    # What was sent to the one that is stuck may arrive there after all others are answered.
    assert arrived.wait(20)
    # Once one of them was sent there, it counts as busy: nothing more is.
    assert (len(first.batches), len(second.batches)) == (1, 8)
    stuck.set()


def test_what_others_have_there_counts_as_well(judges: Any) -> None:
    first, second = judges("well", "well")
    first.pending, second.pending = 500, 3
    remote = scorer(first, second)
    assert numbers(remote)  # a part to each: now both have said what they have to do
    before = len(first.batches)
    assert all(remote.score(answers(1))[0].value == 0.0 for _ in range(6))
    assert len(first.batches) == before


def test_without_any_judge_left_the_fault_is_ours(judges: Any, impatient: None) -> None:
    for moods, words in (
        (("dies", "dies"), "cannot be asked"),
        (("hangs",), "cannot be asked"),
        (("broken", "nonsense"), "answered 500|did not answer with"),
    ):
        pool = judges(*moods)
        with pytest.raises(ExecutorError, match=words):
            scorer(*pool).score(answers(1))
        assert all(len(judge.batches) <= 16 for judge in pool)
    (busy,) = judges("busy")
    with pytest.raises(ExecutorError, match="answered 503: busy"):
        scorer(busy, patience_s=0.01).score(answers(1))
    pool = judges("broken", "broken")
    judge = ",".join(one.url for one in pool)
    rewards = rewards_for(answers(3), policy="shaped", judge=judge, settings={})
    assert [(reward.value, reward.outcome) for reward in rewards] == [(None, Outcome.INFRA_ERROR)] * 3


def test_addresses_are_addresses() -> None:
    here = "http://127.0.0.1:8970"
    for url, words in {
        f"{here},": "'' is no address",
        f"{here}, {here}/": "is there twice",
        "here": "no address",
        "http://127.0.0.1:99999": "no address",
        "http://[::1": "no address",
    }.items():
        with pytest.raises(UsageError, match=words):
            RemoteScorer(url)
    with pytest.raises(UsageError, match="no address is given"):
        RemoteScorer([])
    RemoteScorer([here, "https://judge.example/pool"]).close()


def test_a_fault_in_the_harness_itself_is_no_exception_either(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    class Buggy:
        def score(self, answers: object) -> list[Reward]:
            raise KeyError("a bug")

    monkeypatch.setattr("npukernelbench.rewards.texts.shared_scorer", lambda *given: Buggy())
    rewards = rewards_for(answers(2), policy="shaped", judge="", settings={})
    assert [(reward.value, reward.fault) for reward in rewards] == [(None, Owner.INFRA)] * 2
    assert "KeyError: 'a bug'" in caplog.text
    assert compute_score("", "x", "Sqrt/0")["score"] is None
    assert kernel_reward(completions=["x"], npukb_task=["Sqrt/0"]) == [None]
