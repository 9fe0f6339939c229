"""Chat completions over aiohttp: the JSON goes out and comes in as it is.

The official client validates every answer into classes, which costs more than the request itself; here a run of
thousands of short answers waits for the server and not for us. aiohttp keeps the connections, follows redirects, and is
imported when a connection is made. Proxies of the environment are looked up once for the server: aiohttp itself would
do that for every request, which takes as long as the rest of it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from npukb_openai.pages import ForeignAnswer, is_html, page_title

if TYPE_CHECKING:
    import aiohttp

__all__ = ["ConnectionFailed", "Loose", "Reply", "StatusError", "Wire"]

_CONNECT_S = 30.0


class ConnectionFailed(Exception):  # noqa: N818 - named as the official client names its own
    """No connection, or one that broke. ``unreachable``: it was never there."""

    def __init__(self, message: str, *, unreachable: bool = False) -> None:
        super().__init__(message)
        self.unreachable = unreachable


class Reply(NamedTuple):
    """What a server sent. Header names are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class StatusError(Exception):
    """A reply that is no success, with the attributes that the official client's errors have."""

    def __init__(self, reply: Reply) -> None:
        text = reply.body.decode(errors="replace")
        super().__init__(text[:500])
        self.status_code = reply.status
        self.response = reply
        try:
            self.body: object = json.loads(text)
        except ValueError:
            self.body = text


class Loose(dict[str, Any]):
    """A JSON object whose members are attributes too; what is missing is None."""

    def __getattr__(self, name: str) -> Any:
        return self.get(name)


class Wire:
    """One server. For use from one event loop."""

    def __init__(self, base_url: str, headers: Mapping[str, str], timeout_s: float | None = None) -> None:
        parts = urlsplit(base_url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"{base_url!r} is no address of a server")
        self.base_url = base_url.rstrip("/")
        self._proxy = _proxy(parts.scheme, parts.netloc)
        self._timeout_s = timeout_s
        self._headers = {"Accept": "application/json", "Content-Type": "application/json", **headers}
        self._session: aiohttp.ClientSession | None = None

    async def post(self, path: str, value: object) -> Loose:
        """The JSON object that the server answers with.

        StatusError, ConnectionFailed, ForeignAnswer for a web page, ValueError for what else is no JSON, TimeoutError
        after the whole time for one answer.
        """
        import aiohttp

        body = json.dumps(value, separators=(",", ":")).encode()
        try:
            try:
                response, content = await self._exchange(path, body)
            except (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError) as error:
                if isinstance(error, aiohttp.ClientConnectorError):
                    raise
                # A server may close an idle connection at the moment it is used again. Once more, on another.
                response, content = await self._exchange(path, body)
        except aiohttp.ClientError as error:
            message = f"{type(error).__name__}: {error}".rstrip(": ")
            raise ConnectionFailed(message, unreachable=isinstance(error, aiohttp.ClientConnectorError)) from error
        if not 200 <= response.status < 300:
            headers = {name.lower(): text for name, text in response.headers.items()}
            raise StatusError(Reply(response.status, headers, content))
        if is_html(text := content.decode(errors="replace")):
            raise ForeignAnswer(page_title(text))
        parsed = json.loads(text, object_hook=Loose)
        if not isinstance(parsed, Loose):
            raise ValueError(f"no JSON object but {content[:80]!r}")
        return parsed

    async def _exchange(self, path: str, body: bytes) -> tuple[aiohttp.ClientResponse, bytes]:
        async with self._opened().post(self.base_url + path, data=body, proxy=self._proxy) as response:
            return response, await response.read()

    async def close(self) -> None:
        """Close every connection."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    def _opened(self) -> aiohttp.ClientSession:
        """The session; as many connections as requests are under way, the backend's limiter counts those."""
        import aiohttp

        if self._session is None:
            self._session = aiohttp.ClientSession(
                headers=self._headers,
                # No limit here: the backend's limiter already counts the requests under way.
                connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=60.0),
                timeout=aiohttp.ClientTimeout(total=self._timeout_s, sock_connect=_CONNECT_S),
                # A cookie of a load balancer would tie all requests to one replica.
                cookie_jar=aiohttp.DummyCookieJar(),
            )
        return self._session


def _proxy(scheme: str, host: str) -> str | None:
    """The proxy that the environment names for a server."""
    return None if proxy_bypass(host) else getproxies().get(scheme)
