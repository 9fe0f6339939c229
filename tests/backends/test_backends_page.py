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
from pydantic.fields import FieldInfo

from npukb_vllm.args import VllmArgs
from npukernelbench.plugins import Plugins
from npukernelbench.store import read_run

if TYPE_CHECKING:
    from tests.backends.conftest import ChatServer

PAGE = (Path(__file__).parents[2] / "docs" / "backends.md").read_text(encoding="utf-8")
#: Backends that load a model, start a program or wait for a provider's batch: their commands are resolved only.
LOADS = r"--model (hf|vllm|kernelgen-lm|agent:|openai-batch)"
COMMANDS = re.findall(r"^\$ (npukb run .*)$", PAGE, flags=re.MULTILINE)


def test_every_backend_of_ours_has_a_section() -> None:
    backends = Plugins.load(environ={"NPUKB_LOAD_PLUGINS": ""}).backends
    names = {name.partition(":")[0] for name in backends}
    assert sorted(re.findall(r"^## (.+)$", PAGE, flags=re.MULTILINE)) == sorted(names)


@pytest.mark.parametrize("backend", ["openai", "hf", "vllm", "vllm-server", "kernelgen-lm"])
def test_the_table_of_arguments_is_true(backend: str) -> None:
    section = PAGE.partition(f"\n## {backend}\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| `(\w+)` \| (.+?) \| (.+?) \|$", section, flags=re.MULTILINE)
    target = Plugins.load(environ={"NPUKB_LOAD_PLUGINS": ""}).backends.find(backend).load()
    expected = []
    for name, field in target.Args.model_fields.items():  # type: ignore[attr-defined]
        if backend == "vllm-server" and name in VllmArgs.model_fields:
            continue  # one table for both
        expected.append((name, _default(field), field.description))
    assert rows == expected


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    value = field.get_default(call_default_factory=True)
    return "none" if value is None else f"`{json.dumps(value).strip(chr(34))}`"


def test_the_example_record_is_one() -> None:
    (record,) = re.findall(r"^```json\n(.*)\n```$", PAGE, flags=re.MULTILINE)
    assert set(json.loads(record)) == {"task", "case", "index", "text", "finish_reason"}


@pytest.mark.parametrize("command", [command for command in COMMANDS if not re.search(LOADS, command)])
def test_the_commands_work(server: ChatServer, tmp_path: Path, command: str) -> None:
    """As written, but for the address of the server; judging is left to the executors' own tests. The cache is that of
    all tests: `reference` lowers and times kernels, for which a twin would be built anew otherwise.
    """
    answers = tmp_path / "answers"
    answers.mkdir()
    records = [{"task": task, "text": "```cpp\nint a;\n```"} for task in ("Sqrt", "Swish", "Fill")]
    (answers / "all.jsonl").write_text("\n".join(map(json.dumps, records)))
    arguments = shlex.split(command.replace("http://localhost:8000/v1", server.base_url))[1:]
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith("NPUKB_") or name == "NPUKB_CACHE_DIR"
    }
    result = subprocess.run(
        [sys.executable, "-m", "npukernelbench", *arguments, "--predict_only"],
        cwd=tmp_path,
        env={**kept, "NPUKB_LOAD_PLUGINS": ""},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert "Traceback" not in result.stderr
    if "--dry_run" in command:
        assert "USD for prompts, at most" in result.stdout, result.stderr
        assert not (tmp_path / "results").exists()
        assert not server.requests
        return
    (folder,) = {manifest.parent for manifest in (tmp_path / "results").rglob("manifest.json")}
    stored = {key.task: completion for key, (_, completion) in read_run(folder).completions.items()}
    assert stored["Sqrt"].text.startswith("```cpp\n")
    partial = (
        "replay" in command or "reference" in command
    )  # the one has three answers, the other those of tasks with goldens
    assert result.returncode == 0 or partial, result.stderr


def test_there_is_a_command_for_every_backend() -> None:
    backends = Plugins.load(environ={"NPUKB_LOAD_PLUGINS": ""}).backends
    asked = {name.partition(":")[0] for name in re.findall(r"--model (\S+)", " ".join(COMMANDS))}
    assert sorted(asked) == sorted({name.partition(":")[0] for name in backends})


@pytest.mark.parametrize("command", [command for command in COMMANDS if re.search(LOADS, command)])
def test_the_commands_that_load_a_model_are_understood(tmp_path: Path, command: str) -> None:
    arguments = shlex.split(command)[1:]
    result = subprocess.run(
        [sys.executable, "-m", "npukernelbench", *arguments, "--show_config"],
        cwd=tmp_path,
        env={**os.environ, "NPUKB_LOAD_PLUGINS": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
