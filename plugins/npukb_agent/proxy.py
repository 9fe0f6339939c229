"""The proxy between an agent and its model: it has the key, counts tokens and money, and closes when they are spent."""

from __future__ import annotations

import urllib.error
import urllib.request
from dataclasses import dataclass, field
from email.message import Message
from http.client import HTTPException
from threading import Lock
from time import monotonic
from typing import ClassVar

from npukb_agent.doors import Handler
from npukb_agent.presets import Protocol
from npukb_agent.protocols import RULES, Asked, Usage, usage_of
from npukernelbench.run.prices import Price

__all__ = ["Meter", "Upstream", "proxy"]

_TIMEOUT_S = 600.0
_CHUNK = 1 << 16
_MOST_KEPT = 32 << 20
#: An agent that goes on asking when nothing is left is ended.
_MOST_REFUSED = 20
# No authorization and no cookie of the agent: the proxy sends the run's own key.
_PASSED_ON = ("content-type", "accept", "anthropic-version", "anthropic-beta", "user-agent")
_BACK = ("content-type", "retry-after", "x-request-id", "request-id")


@dataclass(frozen=True, slots=True)
class Upstream:
    """The model: where it answers, under which name, with which key."""

    protocol: Protocol
    base_url: str
    model: str
    key: str

    def url(self, path: str) -> str:
        """The address for a path as agents write it, which begins with ``/v1``; base URLs may end with it."""
        base = self.base_url.rstrip("/")
        return base + (path.removeprefix("/v1") if base.endswith("/v1") else path)


@dataclass
class Meter:
    """What an agent has spent, and what it may. ``money`` needs a price."""

    tokens: int
    money: float | None = None
    price: Price | None = None
    started: float = field(default_factory=monotonic)
    prompt: int = 0
    completion: int = 0
    answers: int = 0
    estimated: int = 0
    refused: int = 0
    fault: str = ""
    lock: Lock = field(default_factory=Lock)

    @property
    def spent(self) -> int:
        """Tokens of all questions and answers."""
        return self.prompt + self.completion

    @property
    def cost(self) -> float | None:
        """Money, where a price is known."""
        if self.price is None:
            return None
        return (self.prompt * self.price.input + self.completion * self.price.output) / 1e6

    @property
    def seconds(self) -> float:
        """Since the agent was started."""
        return round(monotonic() - self.started, 3)

    @property
    def used_up(self) -> str:
        """What is used up: tokens, money, or nothing."""
        if self.spent >= self.tokens:
            return "tokens"
        cost = self.cost
        return "money" if self.money is not None and cost is not None and cost >= self.money else ""

    @property
    def stubborn(self) -> bool:
        """Whether the agent goes on asking although nothing is left."""
        return self.refused >= _MOST_REFUSED

    def take(self, usage: Usage) -> None:
        """Add one answer."""
        with self.lock:
            self.prompt += usage.prompt
            self.completion += usage.completion
            self.answers += 1
            self.estimated += not usage.counted

    def refuse(self) -> None:
        """Count a question that was not passed on."""
        with self.lock:
            self.refused += 1

    def failed(self, fault: str) -> None:
        """Keep why the model did not answer."""
        with self.lock:
            self.fault = fault


def proxy(upstream: Upstream, meter: Meter) -> type[Handler]:
    """The handler of one agent's door to its model."""
    return type("Proxy", (_Proxy,), {"upstream": upstream, "meter": meter})


class _Proxy(Handler):
    upstream: ClassVar[Upstream]
    meter: ClassVar[Meter]

    def do_GET(self) -> None:  # noqa: N802 - of the base class
        self._pass_on()

    def do_POST(self) -> None:  # noqa: N802 - of the base class
        self._pass_on()

    def _pass_on(self) -> None:
        try:
            asked = Asked.of(self.upstream.protocol, self.path, self.body(), self.upstream.model)
        except (ValueError, RecursionError) as error:
            self.tell(400, _error(f"no question of the protocol: {error}"))
            return
        if asked is None:
            self.tell(404, _error("this address is closed: only the model answers"))
        elif asked.counts and self.meter.used_up:
            self.meter.refuse()
            # 400 and not 429: agents try again after the latter.
            self.tell(400, _error(f"the budget of {self.meter.used_up} is used up; end here"))
        else:
            self._ask(asked)

    def _ask(self, asked: Asked) -> None:
        headers = {name: value for name in _PASSED_ON if (value := self.headers.get(name))}
        headers |= RULES[self.upstream.protocol].headers(self.upstream.key)
        request = urllib.request.Request(
            self.upstream.url(asked.path), asked.body or None, headers, method="POST" if asked.body else "GET"
        )
        try:
            with urllib.request.urlopen(request, timeout=_TIMEOUT_S) as reply:
                content = self._relay(reply.status, reply.headers, reply)
        except urllib.error.HTTPError as error:
            self.meter.failed(f"the model's server answered {error.code}")
            self._whole(error.code, error.headers, error.read(_MOST_KEPT))
        except (OSError, HTTPException) as error:
            self.meter.failed(f"the model's server does not answer: {error}")
            self.tell(502, _error("the model does not answer"))
        else:
            if asked.counts:
                self.meter.take(usage_of(self.upstream.protocol, asked.body, content))

    def _relay(self, status: int, headers: Message, reply: object) -> bytes:
        """Pass the answer on as it comes, and return it."""
        # read1 returns what has come; read would hold a stream back until a piece is full.
        read = getattr(reply, "read1")  # noqa: B009 - of every response of http.client
        if headers.get("content-length"):
            content: bytes = getattr(reply, "read")()  # noqa: B009
            self._whole(status, headers, content)
            return content
        self._head(status, headers)
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        kept = bytearray()
        gone = False
        while piece := read(_CHUNK):
            kept += piece[: max(0, _MOST_KEPT - len(kept))]
            # An agent that hangs up has still asked: the rest is read, so that its usage is counted.
            gone = gone or not self._written(b"%x\r\n%s\r\n" % (len(piece), piece))
        if not gone:
            self._written(b"0\r\n\r\n")
        return bytes(kept)

    def _written(self, piece: bytes) -> bool:
        try:
            self.wfile.write(piece)
        except OSError:
            return False
        return True

    def _whole(self, status: int, headers: Message, content: bytes) -> None:
        self._head(status, headers)
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self._written(content)

    def _head(self, status: int, headers: Message) -> None:
        self.send_response(status)
        for name in _BACK:
            if value := headers.get(name):
                self.send_header(name, value)


def _error(message: str) -> dict[str, object]:
    """In the shape that all of the protocols' clients can show."""
    return {"type": "error", "error": {"type": "invalid_request_error", "message": message, "code": "budget"}}
