"""``npukb view``: the pages of runs served to this machine's own browser. It reads, and has nothing that writes."""

from __future__ import annotations

import re
from html import escape
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote

from npukernelbench.errors import NpukbError, UsageError
from npukernelbench.report.comparison.records import OURS, rules_name
from npukernelbench.report.html.live import Library, LiveRun, address, dumped
from npukernelbench.report.html.page import shell
from npukernelbench.report.html.tables import document

__all__ = ["ViewServer"]

_LOOPBACK = "127.0.0.1"
_HTML, _JSON = "text/html; charset=utf-8", "application/json"
#: Seconds after which the list of runs is asked for again while one of them is going on.
_AGAIN_S = 5
# Few digits: of thousands of them `int` makes a ValueError, which nothing here answers.
_BLOCK = re.compile(r"[0-9]{1,9}")


class ViewServer(ThreadingHTTPServer):
    """Serves the runs at or below a folder, by ``serve_forever``. Port 0 takes a free one.

    Only this machine is answered, unless ``host`` is another address of it.
    """

    # A connection that a browser keeps open must not keep the process from ending.
    daemon_threads = True

    def __init__(self, folder: Path, port: int = 0, host: str = _LOOPBACK) -> None:
        """UsageError when there is no such folder, it can hardly be one of runs, the port is taken, or the address is
        none of this machine.
        """
        if not folder.is_dir():
            raise UsageError(f"there is no folder {folder}", remedy="name the folder that 'npukb run' writes to")
        self.library = Library(folder)
        try:
            super().__init__((host, port), _Handler)
        except OSError as error:
            raise UsageError(
                f"port {port} of {host} cannot be used: {error.strerror}",
                field="--port",
                remedy="--port 0 takes a free one, --host an address of this machine",
            ) from error
        self.host = host

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://{self.host}:{self.server_port}"

    @property
    def open_to_others(self) -> bool:
        """Whether other machines can reach it."""
        return self.host not in (_LOOPBACK, "localhost")


class _Handler(BaseHTTPRequestHandler):
    """``/`` lists runs, ``/NAME/`` is a run's page, ``/NAME/index.json`` and ``/NAME/block/N.json`` its data."""

    server: ViewServer
    server_version = "npukb"
    # Connections stay open, which is why every answer has its length.
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """Boundary: answer, or say what is wrong."""
        host = self.headers.get("Host", "").partition(":")[0]
        if not self.server.open_to_others and host not in (
            _LOOPBACK,
            "localhost",
        ):  # a page elsewhere that points its own name at this machine
            self._send(HTTPStatus.FORBIDDEN, b"only this machine may look\n", "text/plain")
            return
        try:
            # Unquoted behind the split, so that a quoted slash is part of a name.
            content, kind = self._content([unquote(part) for part in self.path.partition("?")[0].split("/")[1:]])
        except LookupError as error:
            self._send(HTTPStatus.NOT_FOUND, f"{error.args[0]}\n".encode(), "text/plain; charset=utf-8")
        except NpukbError as error:
            self._send(HTTPStatus.INTERNAL_SERVER_ERROR, f"{error}\n".encode(), "text/plain; charset=utf-8")
        else:
            self._send(HTTPStatus.OK, content, kind)

    do_HEAD = do_GET  # noqa: N815

    def log_message(self, format: str, *args: object) -> None:
        """Nothing: a line per request says nothing to whoever looks at the page."""

    def _content(self, parts: list[str]) -> tuple[bytes, str]:
        match parts:
            case [""]:
                return _listing(self.server.library).encode(), _HTML
            case [name, ""] | [name]:
                run = self.server.library.find(name)
                return shell(f"{run.name} · npukernelbench", mode="live", where=address(run)).encode(), _HTML
            case [name, "index.json"]:
                return dumped(self.server.library.find(name).index()), _JSON
            case [name, "block", file] if _BLOCK.fullmatch(file.removesuffix(".json")):
                return dumped(self.server.library.find(name).block(int(file.removesuffix(".json")))), _JSON
        raise LookupError(f"there is nothing at {self.path}")

    def _send(self, status: HTTPStatus, content: bytes, kind: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        # A run may have gone on since a page was last asked for.
        self.send_header("Cache-Control", "no-store")
        # Answers hold texts of models: no browser may take one for a page.
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("X-Frame-Options", "DENY")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)


def _listing(library: Library) -> str:
    runs = library.runs()
    rows = [_row(run) for run in runs]
    again = f'<meta http-equiv="refresh" content="{_AGAIN_S}">' if any(row.running for row in rows) else ""
    heads = "".join(f'<th scope="col"{" class=number" if number else ""}>{name}</th>' for name, number in _COLUMNS)
    body = (
        '<section class="chart board"><div class="scroll" tabindex="0" role="region" aria-label="Runs"><table><thead>'
        f"<tr>{heads}</tr></thead><tbody>{''.join(row.html for row in rows)}</tbody></table></div></section>"
        if rows
        else f'<p class="empty">There is no run at or below {escape(str(library.folder))} yet.</p>'
    )
    place = escape(str(library.folder))
    return document(
        "Runs · npukernelbench", f'<main><h1>Runs</h1><p class="muted">{place}</p>{body}</main>', head=again
    )


_COLUMNS = (
    ("run", False),
    ("model", False),
    ("tier", False),
    ("tasks", True),
    ("judged", True),
    ("right", True),
    ("state", False),
)


def _bar(part: int, whole: int) -> str:
    """A share as a bar; the cell says the same."""
    share = round(100 * part / whole, 2) if whole else 0
    return f'<div class="whisker" aria-hidden="true"><i style="left:0;width:{share}%"></i></div>'


class _Row(NamedTuple):
    """A run's line of the list. While ``running`` it may change."""

    html: str
    running: bool


def _row(run: LiveRun) -> _Row:
    # A run that cannot be read has a row that says why; the others are listed all the same.
    try:
        record, running = run.record, run.running
    except NpukbError as error:
        return _Row(f'<tr><td>{escape(run.name)}</td><td colspan="6">{escape(error.message)}</td></tr>', False)
    right = sum(attempt.correct for attempt in record.attempts)
    judged = len(record.attempts)
    rules = rules_name(record.identity)
    state = "running" if running else "finished" if judged == record.expected else "not finished"
    cells = (
        f'<a href="{address(run)}/">{escape(run.name.removeprefix("run-"))}</a>',
        escape(record.model),
        escape(record.tier if rules == OURS else f"{record.tier}, rules {rules}"),
        str(len(record.tasks)),
        f"{judged}/{record.expected}{_bar(judged, record.expected)}",
        f"{right}/{record.counted}{_bar(right, record.counted)}",
        f'<span class="state {state.split()[0]}">{state}</span>',
    )
    marks = (" class=number" if number else "" for _, number in _COLUMNS)
    row = "".join(f"<td{mark}>{cell}</td>" for mark, cell in zip(marks, cells, strict=True))
    return _Row(f"<tr>{row}</tr>", running)
