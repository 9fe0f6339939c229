"""A judge that stays: an HTTP server on this machine that scores answers for any number of trainers.

``GET /health`` says how busy it is, ``GET /v1/about`` what it is, ``POST /v1/score`` scores. What waits is bounded:
beyond that a request is answered with 503 and ``Retry-After``. See docs/rewards.md for the messages.
"""

from __future__ import annotations

import hmac
import json
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock
from typing import Any

from npukernelbench import __version__
from npukernelbench.errors import NpukbError, UsageError
from npukernelbench.generate import Hints
from npukernelbench.nouns import FinishReason
from npukernelbench.nouns.codec import JSON, to_json
from npukernelbench.rewards.policy import policies
from npukernelbench.rewards.question import Question
from npukernelbench.rewards.scorer import Scorer
from npukernelbench.rewards.scoring import Answer, Scored, Terms

__all__ = ["JudgeServer", "is_loopback"]

#: The largest request: a batch of very long answers.
_MOST_BYTES = 256 << 20
#: How many answers may wait per job before more are turned away.
_WAITING_PER_JOB = 64
_RETRY_AFTER_S = 1
#: What ``npukb ls`` calls the lists of what a request may name.
_LISTS = {"strategy": "strategies", "parser": "parsers"}
#: Connections that the system holds until a thread takes them: a batch of a trainer comes all at once. The kernel
#: lowers it to its own limit (net.core.somaxconn).
_BACKLOG = 4096
#: A connection that says nothing for so long is closed, so that trainers that went away hold no thread.
_IDLE_S = 120.0


class JudgeServer(ThreadingHTTPServer):
    """Serves one scorer, by ``serve_forever``. ``server_close`` leaves the scorer open."""

    daemon_threads = True
    request_queue_size = _BACKLOG

    def __init__(self, scorer: Scorer, host: str = "127.0.0.1", port: int = 0, *, token: str = "") -> None:
        """UsageError when the address is not this machine's alone and no token guards it."""
        if not token and not is_loopback(host):
            raise UsageError(
                f"{host} can be reached by others",
                field="--host",
                remedy="keep 127.0.0.1, or set NPUKB_JUDGE_TOKEN to a secret that callers send",
            )
        super().__init__((host, port), _Handler)
        self.scorer = scorer
        self._host = host
        self.token = token
        self._room = scorer.jobs * _WAITING_PER_JOB
        self._pending = 0
        self._counts = {"answers": 0, "repeated": 0, "turned_away": 0}
        self._lock = Lock()

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://{self._host}:{self.server_port}"

    def about(self) -> dict[str, JSON]:
        """What callers may want to write beside their results."""
        reading = self.scorer.reading(Terms())
        return {
            "version": __version__,
            "policy": self.scorer.policy.label,
            "policies": sorted(policies()),
            "reading": reading.name,
        }

    def health(self) -> dict[str, JSON]:
        """How busy it is."""
        with self._lock:
            return {"status": "ok", "jobs": self.scorer.jobs, "pending": self._pending, **self._counts}

    def score(self, answers: Sequence[Answer], terms: Terms) -> list[Scored] | None:
        """Rewards, or None when too many answers wait already. A batch is taken whole when nothing else waits."""
        with self._lock:
            if self._pending and self._pending + len(answers) > self._room:
                self._counts["turned_away"] += len(answers)
                return None
            self._pending += len(answers)
        try:
            scored = self.scorer.score_fully(answers, terms)
        finally:
            with self._lock:
                self._pending -= len(answers)
        with self._lock:
            self._counts["answers"] += len(answers)
            self._counts["repeated"] += sum(reward.repeated for reward in scored)
        return scored


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches the address."""
    import ipaddress

    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


class _Handler(BaseHTTPRequestHandler):
    server: JudgeServer
    protocol_version = "HTTP/1.1"
    server_version = f"npukb/{__version__}"
    timeout = _IDLE_S
    disable_nagle_algorithm = True  # head and body are two writes: the second would wait for the first to be confirmed

    def do_GET(self) -> None:  # http.server calls it so
        if not self._allowed():
            return
        answers = {"/health": self.server.health, "/v1/about": self.server.about}
        if self.path in answers:
            self._reply(HTTPStatus.OK, answers[self.path]())
        else:
            self._refuse(
                HTTPStatus.NOT_FOUND, f"nothing is at {self.path}", "GET /health, GET /v1/about, POST /v1/score"
            )

    def do_POST(self) -> None:  # http.server calls it so
        """Boundary: whatever goes wrong here is answered, and the server goes on."""
        if not self._allowed():
            return
        if self.path != "/v1/score":
            self.close_connection = True  # the body is not read
            self._refuse(HTTPStatus.NOT_FOUND, f"nothing is at {self.path}", "POST /v1/score")
            return
        try:
            answers, terms = self._read()
            scored = self.server.score(answers, terms)
        except UsageError as error:
            self._refuse(HTTPStatus.BAD_REQUEST, error.message, error.remedy or "", error.field or "")
        except NpukbError as error:
            self._refuse(HTTPStatus.INTERNAL_SERVER_ERROR, error.message, error.remedy or "", error.field or "")
        except Exception as error:  # noqa: BLE001
            self._refuse(HTTPStatus.INTERNAL_SERVER_ERROR, f"{type(error).__name__}: {error}", "report this")
        else:
            if scored is None:
                self._refuse(HTTPStatus.SERVICE_UNAVAILABLE, "too many answers are waiting", "ask again later")
            else:
                self._reply(HTTPStatus.OK, {"rewards": [_plain(reward, terms.hints is not None) for reward in scored]})

    def log_message(self, format: str, *args: object) -> None:
        """Nothing: requests are counted, not printed."""

    def _allowed(self) -> bool:
        given = self.headers.get("Authorization", "")
        if self.server.token and not hmac.compare_digest(given.encode(), f"Bearer {self.server.token}".encode()):
            self.close_connection = True
            self._refuse(HTTPStatus.UNAUTHORIZED, "no token, or a wrong one", "send Authorization: Bearer TOKEN")
            return False
        return True

    def _read(self) -> tuple[list[Answer], Terms]:
        length = self.headers.get("Content-Length", "")
        if not length.isdigit() or int(length) > _MOST_BYTES:
            self.close_connection = True
            raise UsageError(
                f"Content-Length is {length or 'missing'}", field="request", remedy=f"send at most {_MOST_BYTES} bytes"
            )
        try:
            message = json.loads(self.rfile.read(int(length)))
        except ValueError as error:
            raise UsageError(f"no valid JSON: {error}", field="request", remedy="send a JSON object") from None
        return read_request(message)

    def _refuse(self, status: HTTPStatus, message: str, remedy: str, field: str = "") -> None:
        self._reply(status, {"error": {"message": message, "remedy": remedy, "field": field}})

    def _reply(self, status: HTTPStatus, body: Mapping[str, JSON]) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        if status is HTTPStatus.SERVICE_UNAVAILABLE:
            self.send_header("Retry-After", str(_RETRY_AFTER_S))
        if self.close_connection:
            self.send_header("Connection", "close")
        try:
            self.end_headers()
            self.wfile.write(data)
        except ConnectionError:  # whoever asked is gone; the verdict is remembered for the next time
            self.close_connection = True


def _plain(scored: Scored, with_feedback: bool) -> dict[str, JSON]:
    plain = to_json(scored.reward)
    told: dict[str, JSON] = {"feedback": scored.feedback} if with_feedback else {}
    reward = dict(plain) if isinstance(plain, Mapping) else {}
    return {"candidate": scored.candidate, "repeated": scored.repeated, **told, **reward}


def read_request(message: Any) -> tuple[list[Answer], Terms]:
    """``{"answers": [{"question", "text", "finish_reason"?, "reasoning"?}], "policy"?, "strategy"?, "parser"?,
    "hints"?}``. UsageError naming the wrong field.
    """
    if not isinstance(message, Mapping) or not isinstance(message.get("answers"), list):
        raise UsageError("expected an object with a list", field="answers", remedy='{"answers": [{"question": …}]}')
    policy = message.get("policy", "")
    if not isinstance(policy, str) or "/" in policy or ".y" in policy:
        raise UsageError("expected the name of a policy", field="policy", remedy="GET /v1/about lists them")
    for name in ("strategy", "parser"):
        if not isinstance(message.get(name, ""), str):
            raise UsageError("expected a name", field=name, remedy=f"see npukb ls {_LISTS[name]} where the server runs")
    hints = message.get("hints")
    if hints is not None and hints not in (hint.value for hint in Hints):
        raise UsageError("unknown hint level", field="hints", remedy=", ".join(hint.value for hint in Hints))
    answers = [_answer(index, answer) for index, answer in enumerate(message["answers"])]
    strategy, parser = str(message.get("strategy", "")), str(message.get("parser", ""))
    return answers, Terms(policy, strategy, parser, None if hints is None else Hints(hints))


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
