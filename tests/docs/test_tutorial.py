"""The tutorial, walked from its first command to its last in an empty folder, with the stand-in of its last section."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "tutorial.md").read_text("utf-8")
COMMANDS = re.findall(r"^\$ (npukb .*)$", PAGE, re.MULTILINE)


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    """The stand-in, on a port that is free: what it prints is what the page exports, but for the port."""
    (source,) = re.findall(r'^```python title="stand_in.py"\n(.*?)^```', PAGE, re.MULTILINE | re.DOTALL)
    program = tmp_path / "stand_in.py"
    program.write_text(source)
    process = subprocess.Popen([sys.executable, str(program), "0"], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    said = process.stdout.readline().strip()
    assert f"$ export {re.sub(':[0-9]+/', ':8100/', said)}\n" in PAGE
    yield said.removeprefix("URL=")
    process.kill()
    process.wait()
    process.stdout.close()


def test_every_command_works_in_this_order(address: str, tmp_path: Path) -> None:
    """Whole processes: what a newcomer types is what must work, and one command needs the files of the one before."""
    program = tmp_path / "bin" / "npukb"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m npukernelbench "$@"\n')
    program.chmod(0o755)
    path = f"{program.parent}{os.pathsep}{os.environ['PATH']}"
    environ = {**os.environ, "PATH": path, "URL": address, "NPUKB_LOAD_PLUGINS": ""}
    environ.pop("OPENAI_API_KEY", None)
    work = tmp_path / "work"
    work.mkdir()
    assert len(COMMANDS) == 11
    said = {}
    for command in COMMANDS:
        done = subprocess.run(["bash", "-c", command], cwd=work, env=environ, capture_output=True, text=True)
        assert done.returncode == 0, (command, done.stderr, done.stdout)
        said[command] = done.stdout
    texts = [text.replace("\u00a0", " ") for text in said.values()]
    assert texts[0].endswith("ready to judge\n")
    assert texts[3].startswith("✓ ok")
    (right,) = re.findall(r"^(\d) of 8 counted samples are right", texts[4], re.MULTILINE)
    assert 0 < int(right) < 8
    assert "rule_violation: " in texts[5]
    assert len(list(work.glob("results/alpha/*/report.html"))) == 1
    assert "8 of 8 counted samples are right" in texts[7]
    assert "No difference in correct@1 is shown" in texts[8]
    assert "at least 6 must change sides" in texts[8]
    assert re.findall(r"^ *(\d=?) +(alpha|beta) ", texts[9], re.MULTILINE) == [("1=", "beta"), ("1=", "alpha")]
    assert texts[10] == ""
    assert "No difference in correct@1 is shown" in (work / "comparison.html").read_text("utf-8")
