"""Pages of runs as they are now, from a server that only reads."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any

import pytest

from npukernelbench.errors import UsageError
from npukernelbench.nouns import Message, Outcome, Prompt, SampleKey, Track
from npukernelbench.report.html.live import Library
from npukernelbench.report.html.server import ViewServer
from npukernelbench.store import RunStore, read_run
from tests.report.html.browser import opened
from tests.report.whole_run import HOSTILE, a_run, judged

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@pytest.fixture
def results(tmp_path: Path) -> Path:
    a_run(tmp_path / "results" / "deep" / "a", tasks=1)
    return tmp_path / "results"


@pytest.fixture
def server(results: Path) -> Iterator[ViewServer]:
    with ViewServer(results) as serving:
        thread = Thread(target=serving.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield serving
        serving.shutdown()
        thread.join()


def asked(server: ViewServer, path: str, method: str = "GET", host: str = "") -> tuple[HTTPResponse, bytes]:
    connection = HTTPConnection("127.0.0.1", server.server_port, timeout=30)
    connection.request(method, path, headers={"Host": host} if host else {})
    response = connection.getresponse()
    content = response.read()
    connection.close()
    return response, content


def data(server: ViewServer, path: str) -> Any:
    response, content = asked(server, path)
    assert response.status == 200, content
    return json.loads(content)


def files(folder: Path) -> dict[str, tuple[int, int]]:
    return {str(path): (path.stat().st_size, path.stat().st_mtime_ns) for path in folder.rglob("*")}


def test_a_run_is_listed_and_served_and_nothing_is_written(server, results):
    before = files(results)
    listing = asked(server, "/")[1].decode()
    assert '<a href="/run-deep-a/">deep-a</a>' in listing
    assert "<td class=number>3/3<" in listing
    assert '<span class="state finished">finished</span>' in listing
    page = asked(server, "/run-deep-a/")[1].decode()
    assert 'data-mode="live" data-where="/run-deep-a"' in page
    assert "connect-src 'self'" in page
    index = data(server, "/run-deep-a/index.json")
    assert [row["outcome"] for row in index["rows"]] == ["ok", "compile_error", "infra_error"]
    assert not index["running"]
    block = data(server, "/run-deep-a/block/0.json")
    assert block["samples"][1]["turns"][0]["answer"]["parts"] == [HOSTILE.replace("\ud800", "?")]
    assert files(results) == before


def test_the_list_is_asked_for_again_while_a_run_goes_on(server, results):
    """Whatever runs are called."""
    (results / "deep" / "a").rename(results / "deep" / "long-running-agent")
    assert "refresh" not in asked(server, "/")[1].decode()
    stored = read_run(results / "deep" / "long-running-agent")
    with RunStore.open(results / "b", stored.manifest):
        assert '<meta http-equiv="refresh"' in asked(server, "/")[1].decode()


def test_samples_land_while_a_run_goes_on(results):
    (run,) = Library(results).runs()
    folder = run.folder
    stored = read_run(folder)
    first = run.index()
    manifest = type(stored.manifest)({**stored.manifest.identity, "samples": 5}, {})
    going_on = results / "b"
    with RunStore.open(going_on, manifest) as store:
        library = Library(results)
        live = next(live_run for live_run in library.runs() if live_run.folder == going_on)
        assert live.index()["rows"] == []
        assert live.index()["running"]
        store.add_sample(
            judged(
                SampleKey("Task0", "0", Track.STATIC, 0),
                Outcome.OK,
                text="landed",
                prompt=Prompt((Message("user", "Add."),), "t@1", "h"),
            )
        )
        live._reading = None  # as if the pause between two readings were over
        assert _outcomes(live) == ["ok"]
        assert (live.index()["expected"], live.index()["running"]) == (5, True)
        assert live.index()["version"] != first["version"]
    (going_on / ".lock").write_text("999999999\n")
    assert not live.running


def test_a_writer_is_not_disturbed_by_being_looked_at(results):
    (run,) = Library(results).runs()
    stored = read_run(run.folder)
    with RunStore.open(run.folder, stored.manifest):
        assert int((run.folder / ".lock").read_text()) == os.getpid()
        assert not run.running  # everything is judged


def _outcomes(live: Any) -> list[str]:
    return [row["outcome"] for row in live.index()["rows"]]


def test_what_is_refused(server):
    for path in (
        "/nothing/",
        "/../etc/passwd",
        "/run-deep-a/block/7.json",
        "/run-deep-a/manifest.json",
        "/run-deep-a/block/x",
        f"/run-deep-a/block/{'9' * 5000}.json",
    ):
        response, content = asked(server, path)
        assert response.status == 404, path
        assert content
    assert asked(server, "/", host="evil.example:80")[0].status == 403
    for host in ("127.0.0.1", "localhost", "localhost:80"):  # at port 80 browsers name none
        assert asked(server, "/", host=host)[0].status == 200, host
    assert asked(server, "/", host="evil.example")[0].status == 403
    assert asked(server, "/", method="POST")[0].status == 501
    assert asked(server, "/", method="HEAD")[1] == b""


def test_damage_is_said_where_it_is(server, results):
    log = results / "deep" / "a" / "events.jsonl"
    (results / "deep" / "a" / "index.sqlite").unlink()
    log.write_text("{nonsense\n" + log.read_text())
    response, content = asked(server, "/run-deep-a/index.json")
    assert response.status == 500
    assert b"events.jsonl:1" in content
    assert "the event log is damaged" in asked(server, "/")[1].decode()


def test_no_folder_and_a_taken_port(server, tmp_path):
    with pytest.raises(UsageError, match="there is no folder"):
        ViewServer(tmp_path / "nothing")
    with pytest.raises(UsageError, match="cannot be used"):
        ViewServer(tmp_path, server.server_port)
    with pytest.raises(UsageError, match=r"port 0 of 203\.0\.113\.7 cannot be used"):
        ViewServer(tmp_path, host="203.0.113.7")


def test_others_are_answered_only_where_that_was_asked_for(results: Path) -> None:
    with ViewServer(results, host="0.0.0.0") as serving:
        assert serving.open_to_others
        thread = Thread(target=serving.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        response, listing = asked(serving, "/", host="lab.example:80")
        serving.shutdown()
        thread.join()
    assert response.status == 200
    assert b"deep-a" in listing


@pytest.mark.browser
def test_the_live_page_in_a_browser(browser: Browser, server: ViewServer) -> None:
    with opened(browser, f"{server.url}/run-deep-a/#/sample/Task0/0/static/0") as page:
        page.wait_for_selector("#turn-1")
        assert "Repair it." in page.content()
        page.get_by_role("link", name="Overview").click()
        page.locator('svg[role="img"]').nth(3).wait_for()
