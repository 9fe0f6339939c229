"""The server under the protocol's own conformance tool, where that is on PATH: ``scripts/test-agents`` installs it.

Scenarios that call tools of fixed names have nothing to call here; those that say something about any server are run.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import threading

import pytest

pytest.importorskip("mcp", reason="the extra mcp is not installed")

import uvicorn

from npukb_mcp.desk import DeskSettings
from npukb_mcp.http import http_app
from npukb_mcp.server import build_server
from tests.mcp.test_server import open_desk

pytestmark = pytest.mark.skipif(
    shutil.which("conformance") is None and "NPUKB_TEST_AGENTS" not in os.environ,
    reason="the conformance tool is not installed",
)

SCENARIOS = (
    "server-initialize",
    "ping",
    "tools-list",
    "server-sse-multiple-streams",
    "dns-rebinding-protection",
    "resources-list",
    "prompts-list",
    "server-session-lifecycle",
    "http-header-validation",
    "caching",
    "sep-2164-resource-not-found",
    "input-required-result-unsupported-methods",
)


@pytest.fixture
def address(tmp_path):
    desk = open_desk(tmp_path, DeskSettings())
    started = threading.Event()

    class Listening(uvicorn.Server):
        async def startup(self, sockets=None) -> None:
            await super().startup(sockets)
            started.set()

    app = http_app(build_server(desk), "127.0.0.1", "")
    listening = Listening(uvicorn.Config(app, host="127.0.0.1", port=0, log_level="error"))
    thread = threading.Thread(target=listening.run, daemon=True)
    thread.start()
    assert started.wait(60)
    yield f"http://127.0.0.1:{listening.servers[0].sockets[0].getsockname()[1]}/mcp"
    listening.should_exit = True
    thread.join(30)
    desk.close()


def test_scenarios_that_apply_to_any_server_pass(address):
    for scenario in SCENARIOS:
        command = ["conformance", "server", "--url", address, "--scenario", scenario]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
        assert (done.returncode, ", 0 failed" in done.stdout + done.stderr) == (0, True), (scenario, done.stdout)
