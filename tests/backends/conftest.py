"""A chat-completions server on this machine: answers as its script says, remembers what it was asked."""

from __future__ import annotations

import json
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

import npukb_openai
from npukernelbench.nouns import Task
from npukernelbench.plugins import Plugins
from npukernelbench.run.plan import RunPlan
from npukernelbench.tasks import Selected
from npukernelbench.testing import FakePlugin, fake_plugins, make_plan, tiny_case, tiny_task

Body = Mapping[str, Any]


@dataclass(frozen=True)
class Reply:
    """One answer. ``cut_at`` closes the connection after so many bytes of the body; ``delay_s`` waits before it."""

    status: int = 200
    body: object = None
    headers: Mapping[str, str] = field(default_factory=dict)
    delay_s: float = 0.0
    cut_at: int | None = None
    raw: bytes | None = None


def completion(text: str | None = "```cpp\nint a;\n```", *, finish_reason: str = "stop", **message: object) -> Reply:
    """A well-formed chat completion."""
    body = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 0,
        "model": "served-model",
        "choices": [
            {
                "index": 0,
                "finish_reason": finish_reason,
                "message": {"role": "assistant", "content": text, **message},
            }
        ],
        "usage": {
            "prompt_tokens": 11,
            "completion_tokens": 7,
            "total_tokens": 18,
            "completion_tokens_details": {"reasoning_tokens": 3},
        },
    }
    return Reply(body=body)


def error(status: int, message: str = "no", headers: Mapping[str, str] | None = None, **fields: object) -> Reply:
    """An error in the shape that servers use."""
    return Reply(status, {"error": {"message": message, "type": "test", **fields}}, headers or {})


class ChatServer:
    """Serves until it is stopped. ``script`` gives the reply to a request body and its number, counted from 0."""

    reply = Reply
    completion = staticmethod(completion)
    error = staticmethod(error)

    def __init__(self) -> None:
        self.script: Callable[[Body, int], Reply] = lambda body, number: completion()
        self.requests: list[Body] = []
        self.keys: list[str] = []
        self.paths: list[str] = []
        self.under_way = 0
        self.most_under_way = 0
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = False
        self._server.block_on_close = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def replies(self, *replies: Reply) -> None:
        """Give these replies in order; the last one for ever."""
        self.script = lambda body, number: replies[min(number, len(replies) - 1)]

    def stop(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def _enter(self, path: str, key: str, body: Body) -> int:
        with self._lock:
            self.paths.append(path)
            self.keys.append(key)
            self.requests.append(body)
            self.under_way += 1
            self.most_under_way = max(self.most_under_way, self.under_way)
            return len(self.requests) - 1

    def _leave(self) -> None:
        with self._lock:
            self.under_way -= 1

    def _handler(server: ChatServer) -> type[BaseHTTPRequestHandler]:  # 'self' is the request handler's
        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                number = server._enter(self.path, self.headers.get("Authorization", ""), body)
                try:
                    reply = server.script(body, number)
                    time.sleep(reply.delay_s)
                finally:
                    server._leave()  # before the reply: whoever holds that may already ask the next question
                try:
                    self._send(reply)
                except (BrokenPipeError, ConnectionResetError):
                    self.close_connection = True  # the client did not wait

            def _send(self, reply: Reply) -> None:
                data = reply.raw if reply.raw is not None else json.dumps(reply.body).encode()
                self.send_response(reply.status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                for name, value in reply.headers.items():
                    self.send_header(name, value)
                self.end_headers()
                if reply.cut_at is None:
                    self.wfile.write(data)
                    return
                self.wfile.write(data[: reply.cut_at])
                self.wfile.flush()
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                self.close_connection = True

            def log_message(self, format: str, *args: object) -> None:
                """Say nothing."""

        return Handler


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ChatServer]:
    """A running server; the client's environment is empty but for the key."""
    for name in ("OPENAI_BASE_URL", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-of-the-test")
    chat_server = ChatServer()
    yield chat_server
    chat_server.stop()


@pytest.fixture
def task() -> Task:
    """A small task to ask about."""
    return tiny_task()


@pytest.fixture
def fakes() -> FakePlugin:
    """What takes the place of an executor; a test may change it."""
    return FakePlugin()


@pytest.fixture
def plugins(fakes: FakePlugin) -> Plugins:
    """The fakes, and the backend that asks the server."""
    loaded = fake_plugins(fakes)
    loaded.register(npukb_openai, "npukb_openai")
    return loaded


@pytest.fixture
def plan(server: ChatServer, tmp_path: Path) -> RunPlan:
    """One task with one case, asked of the server."""
    case = tiny_case("a")
    return make_plan(
        tmp_path / "run",
        tasks=(Selected(tiny_task("Tiny", cases=(case,)), (case,)),),
        model="openai",
        model_args={"model": "m", "base_url": server.base_url, "backoff_s": 0.001, "max_retries": 0},
    )
