"""A judge that stays: an HTTP server on this machine that scores answers for any number of trainers.

``GET /health`` says how busy it is, ``GET /metrics`` what Prometheus wants to know, ``GET /v1/about`` what it is,
``POST /v1/score`` scores. Callers take turns, and what waits of each is bounded: beyond that a request is answered with
503 and ``Retry-After``. See docs/rewards.md for the messages.
"""

from __future__ import annotations

import json
import re
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock
from typing import Any, NamedTuple

from npukernelbench import __version__
from npukernelbench.errors import NpukbError, UsageError
from npukernelbench.generate import Hints
from npukernelbench.nouns import FinishReason
from npukernelbench.nouns.codec import JSON, to_json
from npukernelbench.rewards.callers import CALLER_HEADER, Admission, Caller, Callers
from npukernelbench.rewards.policy import policies
from npukernelbench.rewards.question import Question
from npukernelbench.rewards.scorer import Scorer
from npukernelbench.rewards.scoring import Answer, Scored, Terms
from npukernelbench.rewards.servers import PENDING_HEADER
from npukernelbench.rewards.telemetry import Telemetry

__all__ = ["JudgeServer", "JudgeService", "Reply", "is_loopback", "require_guard"]

#: The largest request: a batch of very long answers.
_MOST_BYTES = 256 << 20
#: More digits say too much in any case, and Python reads no number of thousands of them.
_LENGTH = re.compile(r"[0-9]{1,18}")
#: How many answers of a caller may wait per job before more are turned away.
_WAITING_PER_JOB = 64
_RETRY_AFTER_S = 1
#: What ``npukb ls`` calls the lists of what a request may name.
_LISTS = {"strategy": "strategies", "parser": "parsers"}
#: Connections that the system holds until a thread takes them: a batch of a trainer comes all at once. The kernel
#: lowers it to its own limit (net.core.somaxconn).
_BACKLOG = 4096
#: A connection that says nothing for so long is closed, so that trainers that went away hold no thread.
_IDLE_S = 120.0
#: Version of requests and answers; it grows when a field changes its meaning or goes.
SCHEMA = 1


class Reply(NamedTuple):
    """What a request is answered with, and the headers that are not of HTTP itself."""

    status: HTTPStatus
    data: bytes
    headers: Mapping[str, str]
    kind: str = "application/json"


class JudgeService:
    """Answers requests for one scorer, however they come in. Safe for several threads; the scorer is its owner's."""

    def __init__(self, scorer: Scorer, callers: Callers) -> None:
        self.scorer, self.callers = scorer, callers
        self.telemetry = Telemetry(scorer.jobs)
        self._admission = Admission(scorer.jobs * _WAITING_PER_JOB)
        self._counts = {"answers": 0, "repeated": 0, "turned_away": 0}
        self._counting = Lock()

    def about(self) -> dict[str, JSON]:
        """What callers may want to write beside their results."""
        reading = self.scorer.reading(Terms())
        return {
            "version": __version__,
            "schema": SCHEMA,
            "policy": self.scorer.policy.label,
            "policies": sorted(policies()),
            "reading": reading.name,
            "inputs": "drawn" if self.scorer.drawing.fixed is None else "fixed",
        }

    @property
    def pending(self) -> int:
        """How many answers wait or are judged."""
        return self._admission.total

    def health(self) -> dict[str, JSON]:
        """How busy it is."""
        with self._counting:
            shared = self.scorer.shared_found
            options: dict[str, JSON] = {} if shared is None else {"shared": shared}
            return {"status": "ok", "jobs": self.scorer.jobs, "pending": self.pending, **self._counts, **options}

    def score(self, answers: Sequence[Answer], terms: Terms, caller: Caller) -> list[Scored] | None:
        """Rewards, or None when too many answers of the caller wait already."""
        if not self._admission.enter(caller, len(answers)):
            with self._counting:
                self._counts["turned_away"] += len(answers)
            return None
        self.telemetry.pending(caller, self._admission.of(caller))
        try:
            scored = self.scorer.score_fully(answers, terms._replace(caller=caller.name))
        finally:
            self._admission.leave(caller, len(answers))
            self.telemetry.pending(caller, self._admission.of(caller))
        with self._counting:
            self._counts["answers"] += len(answers)
            self._counts["repeated"] += sum(reward.repeated for reward in scored)
        return scored

    def look_up(self, path: str) -> Reply:
        """What ``GET`` finds at a path."""
        if path == "/metrics":
            return self._metrics()
        answers = {"/health": self.health, "/v1/about": self.about}
        if path in answers:
            return self.reply(HTTPStatus.OK, answers[path]())
        remedy = "GET /health, GET /metrics, GET /v1/about, POST /v1/score"
        return self.refuse(HTTPStatus.NOT_FOUND, f"nothing is at {path}", remedy)

    def answer(self, read: Callable[[], bytes], caller: Caller) -> Reply:
        """Boundary: score what ``read`` gives; whatever goes wrong is answered, and the service goes on."""
        start = time.perf_counter()
        answers: Sequence[Answer] = ()
        scored: Sequence[Scored] | None = None
        try:
            # Read in here, so that a wrong length is answered like any other mistake.
            answers, terms = read_request(_parsed(read()))
            scored = self.score(answers, terms, caller)
        except UsageError as error:
            status, body = HTTPStatus.BAD_REQUEST, _error(error.message, error.remedy or "", error.field or "")
        except NpukbError as error:
            status = HTTPStatus.INTERNAL_SERVER_ERROR
            body = _error(error.message, error.remedy or "", error.field or "")
        except Exception as error:  # noqa: BLE001
            failed = _error(f"{type(error).__name__}: {error}", "report this")
            status, body = HTTPStatus.INTERNAL_SERVER_ERROR, failed
        else:
            if scored is None:
                status, body = HTTPStatus.SERVICE_UNAVAILABLE, _error("too many answers are waiting", "ask again later")
            else:
                told = [_plain(reward, terms.hints is not None) for reward in scored]
                status, body = HTTPStatus.OK, {"rewards": told}
        # Before the reply: whoever has it finds it counted.
        self.telemetry.request(caller, status, len(answers), time.perf_counter() - start, scored)
        return self.reply(status, body)

    def refuse(self, status: HTTPStatus, message: str, remedy: str) -> Reply:
        """A reply that says what was wrong."""
        return self.reply(status, _error(message, remedy))

    def nobody(self) -> Reply:
        """What somebody hears who has no right to ask."""
        return self.refuse(HTTPStatus.UNAUTHORIZED, "no token, or a wrong one", "send Authorization: Bearer TOKEN")

    def reply(self, status: HTTPStatus, body: Mapping[str, JSON]) -> Reply:
        """A reply in JSON."""
        return self._made(status, json.dumps(body).encode(), "application/json")

    def _metrics(self) -> Reply:
        text = self.telemetry.text
        if text is None:
            remedy = "pip install 'npukernelbench[serve]' where the server runs"
            return self.refuse(HTTPStatus.NOT_IMPLEMENTED, "prometheus-client is not installed", remedy)
        return self._made(HTTPStatus.OK, text, "text/plain; version=0.0.4; charset=utf-8")

    def _made(self, status: HTTPStatus, data: bytes, kind: str) -> Reply:
        # With every reply: callers of several servers ask the least busy one.
        headers = {PENDING_HEADER: str(self.pending)}
        if status is HTTPStatus.SERVICE_UNAVAILABLE:
            headers["Retry-After"] = str(_RETRY_AFTER_S)
        return Reply(status, data, headers, kind)


class JudgeServer(JudgeService, ThreadingHTTPServer):
    """Serves one scorer, by ``serve_forever``. ``server_close`` leaves the scorer open."""

    # Else `server_close` would wait for every connection that a trainer keeps open.
    daemon_threads = True
    request_queue_size = _BACKLOG

    def __init__(
        self, scorer: Scorer, host: str = "127.0.0.1", port: int = 0, *, token: str = "", callers: Callers | None = None
    ) -> None:
        """``callers`` have tokens of their own, else ``token`` is everybody's. UsageError when the address is not this
        machine's alone and no token guards it."""
        who = callers or Callers(token)
        # Before the server's constructor, which listens at once.
        require_guard(who, host)
        # Both by name: http.server's classes do not call `super().__init__()` for a mixin.
        ThreadingHTTPServer.__init__(self, (host, port), _Handler)
        JudgeService.__init__(self, scorer, who)
        self._host = host

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://{self._host}:{self.server_port}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A trainer that went away is no error; anything else is printed as http.server does."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


def require_guard(callers: Callers, host: str) -> None:
    """UsageError when others reach the address and no token guards it."""
    if not callers.guarded and not is_loopback(host):
        raise UsageError(
            f"{host} can be reached by others",
            field="--host",
            remedy="keep 127.0.0.1, or set NPUKB_JUDGE_TOKEN to a secret that callers send",
        )


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches the address."""
    import ipaddress

    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        # Any other name may resolve to an address that others reach.
        return host == "localhost"


class _Handler(BaseHTTPRequestHandler):
    server: JudgeServer
    protocol_version = "HTTP/1.1"
    server_version = f"npukb/{__version__}"
    timeout = _IDLE_S
    disable_nagle_algorithm = True  # head and body are two writes: the second would wait for the first to be confirmed

    def do_GET(self) -> None:  # http.server calls it so
        if self._caller() is not None:
            self._send(self.server.look_up(self.path))

    def do_POST(self) -> None:  # http.server calls it so
        caller = self._caller()
        if caller is None:
            return
        if self.path != "/v1/score":
            self.close_connection = True  # the body is not read
            self._send(self.server.refuse(HTTPStatus.NOT_FOUND, f"nothing is at {self.path}", "POST /v1/score"))
            return
        self._send(self.server.answer(self._body, caller))

    def log_message(self, format: str, *args: object) -> None:
        """Nothing: requests are counted, not printed."""

    def _caller(self) -> Caller | None:
        """Who asks; None, and the request is refused, when that is nobody who may."""
        given, named = self.headers.get("Authorization", ""), self.headers.get(CALLER_HEADER, "")
        caller = self.server.callers.find(given, named, str(self.client_address[0]))
        if caller is None:
            # The body is not read, and would be taken for the next request.
            self.close_connection = True
            self._send(self.server.nobody())
        return caller

    def _body(self) -> bytes:
        length = self.headers.get("Content-Length", "")
        if not _LENGTH.fullmatch(length) or int(length) > _MOST_BYTES:
            self.close_connection = True
            raise UsageError(
                f"Content-Length is {length or 'missing'}", field="request", remedy=f"send at most {_MOST_BYTES} bytes"
            )
        return self.rfile.read(int(length))

    def _send(self, reply: Reply) -> None:
        self.send_response(reply.status)
        self.send_header("Content-Type", reply.kind)
        self.send_header("Content-Length", str(len(reply.data)))
        for name, value in reply.headers.items():
            self.send_header(name, value)
        if self.close_connection:
            self.send_header("Connection", "close")
        try:
            self.end_headers()
            self.wfile.write(reply.data)
        except ConnectionError:  # whoever asked is gone; the verdict is remembered for the next time
            self.close_connection = True


def _parsed(body: bytes) -> object:
    try:
        return json.loads(body)
    except ValueError as error:
        raise UsageError(f"no valid JSON: {error}", field="request", remedy="send a JSON object") from None


def _error(message: str, remedy: str, field: str = "") -> dict[str, JSON]:
    return {"error": {"message": message, "remedy": remedy, "field": field}}


def _plain(scored: Scored, with_feedback: bool) -> dict[str, JSON]:
    plain = to_json(scored.reward)
    told: dict[str, JSON] = {"feedback": scored.feedback} if with_feedback else {}
    reward = dict(plain) if isinstance(plain, Mapping) else {}
    return {"candidate": scored.candidate, "repeated": scored.repeated, **told, **reward}


def read_request(message: Any) -> tuple[list[Answer], Terms]:
    """``{"answers": [{"question", "text", "finish_reason"?, "reasoning"?}], "policy"?, "strategy"?, "parser"?,
    "hints"?, "seed"?}``. UsageError naming the wrong field.
    """
    if not isinstance(message, Mapping) or not isinstance(message.get("answers"), list):
        raise UsageError("expected an object with a list", field="answers", remedy='{"answers": [{"question": …}]}')
    policy = message.get("policy", "")
    # `load_policy` takes paths, too: a caller must not have this machine's files read.
    if not isinstance(policy, str) or "/" in policy or ".y" in policy:
        raise UsageError("expected the name of a policy", field="policy", remedy="GET /v1/about lists them")
    for name in ("strategy", "parser"):
        if not isinstance(message.get(name, ""), str):
            raise UsageError("expected a name", field=name, remedy=f"see npukb ls {_LISTS[name]} where the server runs")
    hints = message.get("hints")
    if hints is not None and hints not in (hint.value for hint in Hints):
        raise UsageError("unknown hint level", field="hints", remedy=", ".join(hint.value for hint in Hints))
    seed = message.get("seed")
    # To Python, True is an int.
    if seed is not None and (not isinstance(seed, int) or isinstance(seed, bool)):
        raise UsageError("expected a whole number", field="seed", remedy="leave it out: the server draws one")
    answers = [_answer(index, answer) for index, answer in enumerate(message["answers"])]
    strategy, parser = str(message.get("strategy", "")), str(message.get("parser", ""))
    return answers, Terms(policy, strategy, parser, None if hints is None else Hints(hints), seed)


def _answer(index: int, value: Any) -> Answer:
    place = f"answers[{index}]"
    if not isinstance(value, Mapping):
        raise UsageError("expected an object", field=place, remedy='{"question": "Sqrt/0", "text": "…"}')
    for name in ("question", "text"):
        if not isinstance(value.get(name), str):
            raise UsageError("expected text", field=f"{place}.{name}", remedy='{"question": "Sqrt/0", "text": "…"}')
    if not isinstance(value.get("reasoning", ""), str):
        raise UsageError("expected text", field=f"{place}.reasoning", remedy="leave it out where there is none")
    try:
        reason = FinishReason(value.get("finish_reason", "stop"))
    except ValueError:
        raise UsageError(
            f"unknown value {value['finish_reason']!r}",
            field=f"{place}.finish_reason",
            remedy=", ".join(reason.value for reason in FinishReason),
        ) from None
    return Answer(Question.parse(value["question"]), value["text"], reason, value.get("reasoning", ""))
