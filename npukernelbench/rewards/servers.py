"""The servers that a remote scorer may ask: which one is asked next, and whether one that is silent still lives.

A server that fails is set aside, and is asked how it is before it is trusted with answers again. A server that says
nothing for a while is asked the same on another connection: slow kernels take minutes, a server that hangs does not
answer even that.
"""

from __future__ import annotations

import os
import socket
import time
import weakref
from collections.abc import Callable, Sequence
from functools import partial
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from typing import Any, NamedTuple, cast
from urllib.parse import urlsplit

from npukernelbench.errors import UsageError
from npukernelbench.rewards.callers import CALLER_HEADER

__all__ = ["CALLER_VARIABLE", "PENDING_HEADER", "TOKEN_VARIABLE", "Reply", "Server", "open_servers"]

#: Where the secret of a guarded server is read from.
TOKEN_VARIABLE = "NPUKB_JUDGE_TOKEN"
#: In whose name a trainer asks: its processes share a queue. Without it they go by the machine's name.
CALLER_VARIABLE = "NPUKB_JUDGE_CALLER"
#: Where a server says how many answers wait or are judged there, of all callers.
PENDING_HEADER = "Npukb-Pending"
#: How long that is worth something.
_TOLD_S = 2.0

#: How long connecting may take, and each piece of a request or a reply.
_TRANSFER_S = 60.0
#: After so much silence a server is asked whether it lives; how long it has to say so.
_SILENCE_S = 30.0
_HEALTH_S = 10.0
#: However alive it is, a server that takes longer for a batch has lost it.
_LONGEST_S = 3600.0


class Reply(NamedTuple):
    """What a server answered. ``retry_after_s`` is how long it wishes to be left alone."""

    status: int
    retry_after_s: float
    body: bytes
    pending: int = 0


class Server:
    """One address, with as many connections as there are requests at the same time, kept for the next ones.

    ``load`` counts the answers that it is judging for us; whoever sends them keeps the count. What others have there it
    says itself.
    """

    def __init__(self, url: str) -> None:
        self.url = url.rstrip("/")
        try:
            parts = urlsplit(self.url)
            host, port = parts.hostname or "", parts.port
        except ValueError:
            # A port out of range, or brackets that do not close.
            host, port = "", None
        if not host or not url.startswith(("http://", "https://")):
            raise UsageError(f"{url!r} is no address", field="judge", remedy="write http://127.0.0.1:8970")
        self._secure, self._place, self._path = parts.scheme == "https", (host, port), parts.path
        self._token = os.environ.get(TOKEN_VARIABLE, "")
        self._caller = os.environ.get(CALLER_VARIABLE, "") or socket.gethostname()
        self._told, self._told_until = 0, 0.0
        self._idle: list[HTTPConnection] = []
        self._owner = os.getpid()
        # Of the list and not of the server, which would stay alive through it.
        self._finalizer = weakref.finalize(self, _close_all, self._idle)
        self._failed = False
        self._aside_until = 0.0
        self.load = 0

    @property
    def burden(self) -> int:
        """How many answers are there, as far as is known here."""
        return self.load + (self._told if time.monotonic() < self._told_until else 0)

    @property
    def is_aside(self) -> bool:
        """Whether it failed a short while ago."""
        return time.monotonic() < self._aside_until

    def set_aside(self, pause_s: float) -> None:
        """Prefer other servers for so long, and make sure of this one before it is used again."""
        self._failed, self._aside_until = True, time.monotonic() + pause_s

    def post(self, path: str, body: bytes) -> Reply:
        """Send a request. OSError or HTTPException when the connection fails or the server hangs.

        A kept connection may have been closed by the server meanwhile: that is no failure, a new one takes its place.
        """
        if self._owner != os.getpid():  # a forked trainer: the connections are its parent's
            self._idle, self._owner = [], os.getpid()
        if self._failed:
            self._check()
        try:
            # The one that was used last: a server closes those that are idle for longest.
            reply = self._post(self._idle.pop(), path, body)
        # IndexError: none is kept. A request that arrived twice does no harm, as the server remembers verdicts.
        except (IndexError, ConnectionError, HTTPException):
            reply = self._post(self._open(_TRANSFER_S), path, body)
        self._failed, self._aside_until = False, 0.0
        self._told, self._told_until = reply.pending, time.monotonic() + _TOLD_S
        return reply

    def close(self) -> None:
        """Close the connections that are kept."""
        _close_all(self._idle)

    def _open(self, timeout_s: float) -> HTTPConnection:
        host, port = self._place
        # This timeout is one of single reads and writes; `_Awaited` waits longer, for the first read.
        made: HTTPConnection = (HTTPSConnection if self._secure else HTTPConnection)(host, port, timeout=timeout_s)
        return made

    def _headers(self) -> dict[str, str]:
        guarded = {"Authorization": f"Bearer {self._token}"} if self._token else {}
        return {CALLER_HEADER: self._caller, **guarded}

    def _check(self) -> None:
        """OSError or HTTPException unless the server answers, whatever it says: a gateway may not know our paths."""
        connection = self._open(_HEALTH_S)
        try:
            connection.request("GET", f"{self._path}/health", headers=self._headers())
            connection.getresponse()
        finally:
            connection.close()

    def _post(self, connection: HTTPConnection, path: str, body: bytes) -> Reply:
        try:
            connection.request("POST", self._path + path, body, {"Content-Type": "application/json", **self._headers()})
            connection.response_class = cast("type[HTTPResponse]", partial(_Awaited, self._check))
            response = connection.getresponse()
            told = response.headers.get(PENDING_HEADER, "")
            wish_s, pending = _seconds(response.headers.get("Retry-After")), int(told) if told.isdecimal() else 0
            reply = Reply(response.status, wish_s, response.read(), pending)
        except BaseException:
            # Not kept: the rest of this reply would be read as the next one.
            connection.close()
            raise
        # It leads back to this server, which the list of kept connections must not keep alive.
        del connection.response_class
        if response.will_close:
            connection.close()
        else:
            self._idle.append(connection)
        return reply


class _Awaited(HTTPResponse):
    """An answer that is waited for as long as the server lives, which ``check`` finds out."""

    def __init__(self, check: Callable[[], None], sock: socket.socket, *args: Any, **kwargs: Any) -> None:
        super().__init__(sock, *args, **kwargs)
        self._check, self._from = check, sock

    def begin(self) -> None:
        """Read the head, once its first byte is there."""
        until = time.monotonic() + _LONGEST_S
        self._from.settimeout(_SILENCE_S)
        # Read and not polled: over TLS a socket is readable before any answer, as it brings tickets for later sessions.
        while self._silent():
            if time.monotonic() > until:
                raise TimeoutError(f"no answer in {_LONGEST_S:g} s")
            self._check()
            # After a timeout a reader reads no more.
            self.fp.close()
            self.fp = self._from.makefile("rb")
        self._from.settimeout(_TRANSFER_S)
        # The connection holds its last answer, and the server its connections: what leads back would make a circle,
        # and sockets of a server that nobody holds would stay open until it is looked for.
        del self._check, self._from
        super().begin()

    def _silent(self) -> bool:
        try:
            self.fp.peek(1)
        except TimeoutError:
            return True
        return False


def open_servers(addresses: str | Sequence[str]) -> tuple[Server, ...]:
    """The servers at ``addresses``, which as text have commas between them. UsageError for what is no address, and for
    the same one twice."""
    listed = addresses.split(",") if isinstance(addresses, str) else addresses
    servers = tuple(Server(address.strip()) for address in listed)
    if not servers:
        raise UsageError("no address is given", field="judge", remedy="write http://127.0.0.1:8970")
    urls = [server.url for server in servers]
    twice = next((url for url in urls if urls.count(url) > 1), None)
    if twice is not None:
        raise UsageError(f"{twice} is there twice", field="judge", remedy="name every server once")
    return servers


def _close_all(connections: list[HTTPConnection]) -> None:
    while connections:
        connections.pop().close()


def _seconds(text: str | None) -> float:
    """A Retry-After in seconds; a date, or nothing, is no wish."""
    return float(text) if text is not None and text.isdecimal() else 0.0
