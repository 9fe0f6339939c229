"""Doors: listening sockets inside an agent's walls, answered from outside by small HTTP servers."""

from __future__ import annotations

import json
import logging
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

__all__ = ["MOST_BYTES", "Handler", "answered"]

_log = logging.getLogger(__name__)
#: The longest request: agents send whole conversations.
MOST_BYTES = 64 << 20


class Handler(BaseHTTPRequestHandler):
    """What both doors have in common."""

    protocol_version = "HTTP/1.1"

    def body(self) -> bytes:
        """The request's body; ValueError when it is too long or its length is not said."""
        length = int(self.headers.get("content-length") or 0)
        if not 0 <= length <= MOST_BYTES or "chunked" in (self.headers.get("transfer-encoding") or ""):
            # The body stays unread, and would be taken for the next request of this connection.
            self.close_connection = True
            raise ValueError(f"a request has a content-length of at most {MOST_BYTES} bytes")
        return self.rfile.read(length)

    def tell(self, status: int, value: object) -> None:
        """Answer with JSON."""
        # Texts of agents may hold lone surrogates, which UTF-8 does not have.
        content = json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:
        """To the log, not to the terminal."""
        _log.debug(format, *args)


class _Door(ThreadingHTTPServer):
    # Closing the server would otherwise wait for every connection that an agent left open.
    daemon_threads = True

    def __init__(self, door: socket.socket, handler: type[Handler]) -> None:
        # The base class makes a socket of its own; the door listens already, inside the walls.
        super().__init__(("127.0.0.1", 0), handler, bind_and_activate=False)
        self.socket.close()
        self.socket = door

    def handle_error(self, request: object, client_address: object) -> None:  # noqa: ARG002 - of the base class
        """An agent may hang up at any time: that is no fault of ours."""
        _log.debug("a connection of an agent ended early", exc_info=True)


@contextmanager
def answered(door: socket.socket, handler: type[Handler]) -> Iterator[None]:
    """Answer ``door`` while the block runs."""
    server = _Door(door, handler)
    # shutdown() waits for one poll: the default, half a second, would be paid at the end of every agent.
    thread = Thread(target=server.serve_forever, args=(0.05,), name="door", daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
