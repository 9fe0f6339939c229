"""An OpenAI-compatible server that answers everything after a fixed time: ``python -m benchmarks.generate.stub PORT``.

One protocol object per connection and one timer per request, on uvloop where that is installed, so that the server is
not what is measured. It serves ``/v1/chat/completions`` and ``/v1/models`` over connections that stay open. ``/count``
tells requests that held what they should (a model, messages), the most of them at a time and the server's processor
time since it was last asked.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from typing import cast

from npukernelbench.generate.loop import run_fast

LATENCY_S = 0.1
TEXT = "```cpp\nint a;\n```"
_END = b"\r\n\r\n"


class Stub:
    """Counts what it is asked."""

    def __init__(self, latency_s: float) -> None:
        self.latency_s = latency_s
        self.asked = self.under_way = self.most = 0
        self.cpu_s = time.process_time()

    def begun(self) -> None:
        """A completion is asked for."""
        self.asked += 1
        self.under_way += 1
        self.most = max(self.most, self.under_way)

    def counted(self) -> dict[str, float]:
        """What was asked since this was last called."""
        now = time.process_time()
        counters = {"asked": self.asked, "most": self.most, "cpu_s": now - self.cpu_s}
        self.asked = self.most = 0
        self.cpu_s = now
        return counters


class Connection(asyncio.Protocol):
    """One connection: requests come one after the other, in as many pieces as they like."""

    def __init__(self, stub: Stub) -> None:
        self._stub = stub
        self._loop = asyncio.get_running_loop()
        self._seen = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Remember where answers go."""
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        """Answer every request that is whole by now."""
        self._seen += data
        while (end := self._seen.find(_END)) >= 0:
            head, whole = self._seen[:end], end + len(_END) + _length(self._seen[:end])
            if len(self._seen) < whole:
                return
            body, self._seen = self._seen[end + len(_END) : whole], self._seen[whole:]
            self._answer(head.split(b" ", 2)[1], body)

    def _answer(self, path: bytes, body: bytes) -> None:
        stub = self._stub
        if path.endswith(b"/chat/completions"):
            asked = json.loads(body)
            # Refused, so that a harness that sends nothing useful is not fast.
            if not (asked.get("model") and asked.get("messages")):
                self._transport.write(_response({"error": "model and messages are needed"}, b"400 Bad Request"))
                return
            stub.begun()
            self._loop.call_later(stub.latency_s, self._completed, asked["model"])
        elif path.endswith(b"/count"):
            self._transport.write(_response(stub.counted()))
        else:
            self._transport.write(_response({"object": "list", "data": [{"id": "stub", "object": "model"}]}))

    def _completed(self, model: str) -> None:
        self._stub.under_way -= 1
        if not self._transport.is_closing():
            self._transport.write(_response(_completion(model)))


def _length(head: bytes) -> int:
    # Clients write the names of headers in upper or lower case.
    lower = head.lower()
    at = lower.find(b"\r\ncontent-length:")
    return int(lower[at + 17 :].split(b"\r", 1)[0]) if at >= 0 else 0


def _completion(model: str) -> dict[str, object]:
    message = {"role": "assistant", "content": TEXT}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 0,
        "model": model,
        "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
        "usage": {"prompt_tokens": 10, "completion_tokens": 8, "total_tokens": 18},
    }


def _response(value: object, status: bytes = b"200 OK") -> bytes:
    data = json.dumps(value).encode()
    head = b"HTTP/1.1 %b\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
    return head % (status, len(data)) + data


async def main(port: int, latency_s: float = LATENCY_S) -> None:
    """Serve until killed."""
    stub = Stub(latency_s)
    loop = asyncio.get_running_loop()
    # Hundreds of connections come at once: beyond asyncio's backlog of 100 they would be tried again a second later.
    server = await loop.create_server(lambda: Connection(stub), "127.0.0.1", port, backlog=4096)
    async with server:
        await server.serve_forever()


if __name__ == "__main__":
    run_fast(main(int(sys.argv[1])))
