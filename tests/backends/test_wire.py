"""The openai backend's connections: they stay, end, or were ended by the server meanwhile."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable

import pytest

from npukb_openai.wire import ConnectionFailed, Loose, StatusError, Wire

#: What a server does with each request: bytes to send, and whether the connection stays.
Script = Callable[[int], "tuple[list[bytes], bool]"]


def reply(body: bytes, *fields: str, status: str = "200 OK") -> bytes:
    head = "\r\n".join((f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *fields))
    return head.encode() + b"\r\n\r\n" + body


def conversation(script: Script, talk: Callable[[Wire], Awaitable[object]]) -> tuple[object, int, list[bytes]]:
    """What ``talk`` returns, how many connections it took, and the requests that came."""
    connections = 0
    requests: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connections
        connections += 1
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = int(head.lower().partition(b"content-length:")[2].split(b"\r\n")[0])
                requests.append(head + await reader.readexactly(length))
                pieces, stays = script(len(requests) - 1)
                for piece in pieces:
                    writer.write(piece)
                    await writer.drain()
                if not stays:
                    return
        except asyncio.IncompleteReadError:
            return
        finally:
            writer.close()

    async def main() -> object:
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        wire = Wire(f"http://127.0.0.1:{port}/v1/", {"Authorization": "Bearer key"})
        try:
            return await talk(wire)
        finally:
            await wire.close()
            server.close()

    return asyncio.run(main()), connections, requests


async def thrice(wire: Wire) -> list[Loose]:
    return [await wire.post("/chat/completions", {"number": number, "text": "ä\ud800"}) for number in range(3)]


def test_a_connection_is_used_again() -> None:
    replies, connections, requests = conversation(lambda n: ([reply(b'{"n": %d}' % n)], True), thrice)
    assert (replies, connections) == ([{"n": 0}, {"n": 1}, {"n": 2}], 1)
    assert requests[0].startswith(b"POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1:")
    assert b"\r\nAuthorization: Bearer key\r\n" in requests[0]
    assert json.loads(requests[2].partition(b"\r\n\r\n")[2]) == {"number": 2, "text": "ä\ud800"}


def test_a_connection_that_the_server_closed_meanwhile_costs_nothing() -> None:
    replies, connections, requests = conversation(lambda n: ([reply(b'{"n": %d}' % n)], False), thrice)
    assert (replies, connections, len(requests)) == ([{"n": 0}, {"n": 1}, {"n": 2}], 3, 3)


@pytest.mark.parametrize("field", ["Connection: close", "connection: Close"])
def test_a_server_that_says_it_closes_is_believed(field: str) -> None:
    replies, connections, _ = conversation(lambda n: ([reply(b"{}", field)], True), thrice)
    assert (replies, connections) == ([{}, {}, {}], 3)


def test_a_body_in_chunks() -> None:
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    pieces = [head, b"4;x=y\r\n", b'{"a"\r\n', b"7\r\n: [1, 2\r\n", b"2\r\n]}\r\n", b"0\r\nTrailer: 1\r\n\r\n"]
    replies, connections, _ = conversation(lambda n: (pieces, True), thrice)
    assert (replies, connections) == ([{"a": [1, 2]}] * 3, 1)


def test_a_body_up_to_the_end() -> None:
    replies, connections, _ = conversation(lambda n: ([b"HTTP/1.1 200 OK\r\n\r\n", b'{"a": 1}'], False), thrice)
    assert (replies, connections) == ([{"a": 1}] * 3, 3)


def test_an_error_has_what_the_official_clients_has() -> None:
    body = json.dumps({"error": {"message": "slow down", "code": "busy"}}).encode()
    with pytest.raises(StatusError) as caught:
        conversation(lambda n: ([reply(body, "Retry-After: 7", status="429 Too Many Requests")], True), thrice)
    assert caught.value.status_code == 429
    assert caught.value.response.headers["retry-after"] == "7"
    assert caught.value.body == {"error": {"message": "slow down", "code": "busy"}}


@pytest.mark.parametrize(
    "pieces", [[b"SSH-2.0-OpenSSH\r\n\r\n"], [reply(b"{}")[:-1]], [b"HTTP/1.1 200 OK\r\nContent-"], []]
)
def test_what_is_no_answer_is_a_failed_connection(pieces: list[bytes]) -> None:
    with pytest.raises(ConnectionFailed) as caught:
        conversation(lambda n: (pieces, False), thrice)
    assert not caught.value.unreachable


def test_nobody_there() -> None:
    async def ask() -> None:
        wire = Wire("http://127.0.0.1:9/v1", {})
        try:
            await wire.post("/x", {})
        finally:
            await wire.close()

    with pytest.raises(ConnectionFailed) as caught:
        asyncio.run(ask())
    assert caught.value.unreachable


@pytest.mark.parametrize("address", ["", "localhost:8000/v1", "ftp://host/v1", "http:///v1"])
def test_what_is_no_address(address: str) -> None:
    with pytest.raises(ValueError, match="no address"):
        Wire(address, {})


@pytest.mark.parametrize(("spared", "through_proxy"), [("", True), ("nowhere.invalid", False)])
def test_a_proxy_of_the_environment(monkeypatch: pytest.MonkeyPatch, spared: str, through_proxy: bool) -> None:
    async def talk(wire: Wire) -> Loose | None:
        monkeypatch.setenv("http_proxy", wire.base_url)
        monkeypatch.setenv("no_proxy", spared)
        far = Wire("http://nowhere.invalid/v1", {})
        try:
            return await far.post("/chat/completions", {})
        except ConnectionFailed:
            return None
        finally:
            await far.close()

    answer, _, requests = conversation(lambda _: ([reply(b'{"a": 1}')], True), talk)
    assert (answer == {"a": 1}) is through_proxy
    assert [request.startswith(b"POST http://nowhere.invalid/v1/chat/completions ") for request in requests] == (
        [True] if through_proxy else []
    )


def test_an_answer_that_never_comes() -> None:
    async def talk(wire: Wire) -> str:
        hasty = Wire(wire.base_url, {}, timeout_s=0.2)
        try:
            await hasty.post("/chat/completions", {})
        except asyncio.TimeoutError:
            return "too late"
        finally:
            await hasty.close()
        return "answered"

    assert conversation(lambda _: ([], True), talk)[0] == "too late"
