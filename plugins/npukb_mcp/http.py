"""Serving over HTTP: loopback without a secret, any other address with one that callers send."""

from __future__ import annotations

import hmac
from typing import TYPE_CHECKING

from npukernelbench.errors import UsageError
from npukernelbench.rewards.service import is_loopback

if TYPE_CHECKING:
    from mcp.server.mcpserver import MCPServer
    from mcp.server.transport_security import TransportSecuritySettings
    from starlette.types import ASGIApp, Receive, Scope, Send

__all__ = ["TOKEN_VARIABLE", "http_app", "serve_http"]

#: The environment variable that holds the secret.
TOKEN_VARIABLE = "NPUKB_MCP_TOKEN"


def http_app(server: MCPServer, host: str, token: str) -> ASGIApp:
    """The application that answers under ``/mcp``. UsageError for an open address without a token."""
    if not is_loopback(host) and not token:
        raise UsageError(
            f"{host} can be reached by others",
            field="--host",
            remedy=f"set {TOKEN_VARIABLE} to a secret that callers send",
        )
    app = server.streamable_http_app(host=host, transport_security=_own_names(host) if is_loopback(host) else None)
    return _Guarded(app, token) if token else app


def serve_http(server: MCPServer, host: str, port: int, token: str) -> None:
    """Serve until interrupted."""
    import uvicorn

    uvicorn.run(http_app(server, host, token), host=host, port=port, log_level="warning")


def _own_names(host: str) -> TransportSecuritySettings:
    """Refuses other ``Host`` headers, against DNS rebinding: the SDK itself does so for three loopback names only."""
    from mcp.server.transport_security import TransportSecuritySettings

    names = [f"{name}:*" for name in ("127.0.0.1", "localhost", "[::1]", f"[{host}]" if ":" in host else host)]
    return TransportSecuritySettings(allowed_hosts=names, allowed_origins=[f"http://{name}" for name in names])


class _Guarded:
    """Lets only callers through that send the token."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app, self._wanted = app, f"Bearer {token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        # Events of the server's own life have no headers, and have to reach the application.
        given = dict(scope.get("headers") or ()).get(b"authorization", b"")
        # compare_digest takes as long for a wrong token as for a right one, so its time tells nothing.
        if scope["type"] == "http" and not hmac.compare_digest(given, self._wanted):
            headers = [(b"content-type", b"text/plain"), (b"www-authenticate", b"Bearer")]
            await send({"type": "http.response.start", "status": 401, "headers": headers})
            await send(
                {"type": "http.response.body", "body": b"no token, or a wrong one: send Authorization: Bearer TOKEN"}
            )
            return
        await self._app(scope, receive, send)
