"""docs/backends.md: a section per backend, the arguments as they are, and commands that work."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from npukb_openai.args import OpenAIArgs
from npukernelbench.plugins import Plugins
from npukernelbench.store import read_run

if TYPE_CHECKING:
    from tests.backends.conftest import ChatServer

PAGE = (Path(__file__).parents[2] / "docs" / "backends.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"^\$ (npukb run .*)$", PAGE, flags=re.MULTILINE)


def test_every_backend_of_ours_has_a_section() -> None:
    backends = Plugins.load(environ={"NPUKB_LOAD_PLUGINS": ""}).backends
    assert sorted(re.findall(r"^## (.+)$", PAGE, flags=re.MULTILINE)) == sorted(backends)


def test_the_table_of_arguments_is_true() -> None:
    rows = re.findall(r"^\| `(\w+)` \| (.+?) \| (.+?) \|$", PAGE, flags=re.MULTILINE)
    defaults = OpenAIArgs(model="-").model_dump() | {"model": None}
    expected = []
    for name, field in OpenAIArgs.model_fields.items():
        default = json.dumps(defaults[name]).strip('"')
        shown = "required" if field.is_required() else "none" if default == "null" else f"`{default}`"
        expected.append((name, shown, field.description))
    assert rows == expected


def test_the_example_record_is_one() -> None:
    (record,) = re.findall(r"^```json\n(.*)\n```$", PAGE, flags=re.MULTILINE)
    assert set(json.loads(record)) == {"task", "case", "index", "text", "finish_reason"}


@pytest.mark.parametrize("command", COMMANDS)
def test_the_commands_work(server: ChatServer, tmp_path: Path, command: str) -> None:
    """As written, but for the address of the server; judging is left to the executors' own tests."""
    answers = tmp_path / "answers"
    answers.mkdir()
    records = [{"task": task, "text": "```cpp\nint a;\n```"} for task in ("Sqrt", "Swish", "Fill")]
    (answers / "all.jsonl").write_text("\n".join(map(json.dumps, records)))
    arguments = shlex.split(command.replace("http://localhost:8000/v1", server.base_url))[1:]
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("NPUKB_")}
    result = subprocess.run(
        [sys.executable, "-m", "npukernelbench", *arguments, "--predict_only"],
        cwd=tmp_path,
        env={**inherited, "XDG_CACHE_HOME": str(tmp_path / "cache"), "NPUKB_LOAD_PLUGINS": ""},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert "Traceback" not in result.stderr
    (folder,) = {manifest.parent for manifest in (tmp_path / "results").rglob("manifest.json")}
    stored = {key.task: completion for key, (_, completion) in read_run(folder).completions.items()}
    assert stored["Sqrt"].text.startswith("```cpp\n")
    partial = (
        "replay" in command or "reference" in command
    )  # the one has three answers, the other those of tasks with goldens
    assert result.returncode == 0 or partial, result.stderr


def test_there_is_a_command_for_every_backend() -> None:
    backends = Plugins.load(environ={"NPUKB_LOAD_PLUGINS": ""}).backends
    assert sorted(re.findall(r"--model (\S+)", " ".join(COMMANDS))) == sorted(backends)
