"""The tutorial, walked from its first command to its last in an empty folder, with a stand-in of a model's server."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.backends.conftest import ChatServer

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "tutorial.md").read_text("utf-8")
COMMANDS = re.findall(r"^\$ (npukb .*)$", PAGE, re.MULTILINE)


@pytest.fixture
def server() -> Iterator[ChatServer]:
    server = ChatServer()
    yield server
    server.stop()


def test_every_command_works_in_this_order(server: ChatServer, tmp_path: Path) -> None:
    """Whole processes: what a newcomer types is what must work, and one command needs the files of the one before."""
    program = tmp_path / "bin" / "npukb"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m npukernelbench "$@"\n')
    program.chmod(0o755)
    path = f"{program.parent}{os.pathsep}{os.environ['PATH']}"
    environ = {
        **os.environ,
        "PATH": path,
        "URL": server.base_url,
        "OPENAI_API_KEY": "sk-test",
        "NPUKB_LOAD_PLUGINS": "",
    }
    work = tmp_path / "work"
    work.mkdir()
    assert len(COMMANDS) == 10
    said = {}
    for command in COMMANDS:
        done = subprocess.run(["bash", "-c", command], cwd=work, env=environ, capture_output=True, text=True)
        assert done.returncode == 0, (command, done.stderr, done.stdout)
        said[command] = done.stdout
    texts = list(said.values())
    assert texts[0].endswith("ready to judge\n")
    assert texts[3].startswith("✓ ok")
    assert len(server.requests) == 8
    assert "0 of 4 counted samples are right" in texts[4].replace("\u00a0", " ")
    assert len(list(work.glob("results/alpha/*/report.html"))) == 1
    assert "No difference in correct@1 is shown" in texts[8]
    assert "alpha" in texts[9]
