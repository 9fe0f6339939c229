"""Workspaces: what is inside for either track, what stays outside, and folders that are refused."""

from __future__ import annotations

import json
import os
import subprocess

import pytest
from click.testing import CliRunner

from npukb_mcp.command import mcp, workspace
from npukb_mcp.workspace import Brief, workspace_files, write_workspace
from npukb_twin.executor import TwinArgs, TwinExecutor
from npukernelbench.cli.boundary import App
from npukernelbench.console import Console
from npukernelbench.errors import UsageError
from npukernelbench.nouns import Track
from npukernelbench.prompts.style import TERSE
from npukernelbench.tasks.hidden import HiddenCases
from npukernelbench.testing import tiny_case, tiny_task

CASES = (tiny_case("first", shape=(3, 7)), tiny_case("wide", shape=(33, 65)))
TASK = tiny_task(cases=CASES)


@pytest.fixture(scope="module")
def twin():
    executor = TwinExecutor(TwinArgs())
    yield executor
    executor.close()


def test_both_tracks_have_all_that_an_agent_needs_and_nothing_hidden(twin) -> None:
    common = {"README.md", "AGENTS.md", "API.md", "cases.json", "check", "judge"}
    edit = {
        Track.STATIC: {"kernel.cpp"},
        Track.DYNAMIC: {"op_host/tinysqrt.cpp", "op_kernel/tinysqrt.cpp"},
    }
    for track in edit:
        files = workspace_files(Brief.of(TASK, track, None), TERSE, twin)
        assert files.keys() == common | edit[track]
        assert all(name in files["AGENTS.md"] and name in files["README.md"] for name in edit[track])
        assert "y_i = sqrt(x_i)" in files["README.md"]
        assert "They are your answer" in files["README.md"], "the prompt in it asks for a fenced block"
        assert "void tinysqrt(GM_ADDR x, GM_ADDR y" in "".join(files[name] for name in edit[track])
        assert "DataCopyPad" in files["API.md"]
        cases = json.loads(files["cases.json"])
        judged = [True, False] if track is Track.STATIC else [True, True]
        assert [(case["id"], case["smoke"]) for case in cases] == [("first", True), ("wide", True)]
        assert [case["judged"] for case in cases] == judged
        text = "".join(files.values())
        for hidden in HiddenCases("a secret", track)(TASK):
            assert hidden.id not in text
        assert TASK.reference not in text


def test_an_executor_without_documentation_is_said() -> None:
    files = workspace_files(Brief.of(TASK, Track.STATIC, None), TERSE, None)
    assert "does not document its interface" in files["API.md"]


def test_the_scripts_run_the_judge_in_their_own_folder(tmp_path) -> None:
    """The program is replaced by one that says where it was called, and how."""
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "npukb"
    program.write_text('#!/bin/sh\necho "$(pwd) $*"\n', encoding="utf-8")
    program.chmod(0o755)
    called = {}
    for track in (Track.STATIC, Track.DYNAMIC):
        folder = tmp_path / track.value
        write_workspace(folder, workspace_files(Brief.of(TASK, track, CASES[1]), TERSE, None))
        for name in ("check", "judge"):
            environment = {"PATH": f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}"}
            words = [str(folder / name), "--json"]
            done = subprocess.run(words, capture_output=True, text=True, check=True, env=environment, cwd=tmp_path)
            where, _, said = done.stdout.strip().partition(" ")
            assert where == str(folder)
            called[track, name] = said
    assert called == {
        (Track.STATIC, "check"): "judge TinySqrt kernel.cpp --track static --case wide --compile_only --json",
        (Track.STATIC, "judge"): "judge TinySqrt kernel.cpp --track static --case wide --json",
        (Track.DYNAMIC, "check"): "judge TinySqrt . --track dynamic --compile_only --json",
        (Track.DYNAMIC, "judge"): "judge TinySqrt . --track dynamic --json",
    }


def test_a_folder_that_is_not_empty_is_refused_and_left_alone(tmp_path) -> None:
    (tmp_path / "kernel.cpp").write_text("mine", encoding="utf-8")
    files = workspace_files(Brief.of(TASK, Track.STATIC, None), TERSE, None)
    for folder in (tmp_path, tmp_path / "kernel.cpp"):
        with pytest.raises(UsageError, match="is not an empty folder") as caught:
            write_workspace(folder, files)
        assert (caught.value.field, caught.value.remedy) == ("DIR", "name a new folder, or an empty one")
    assert [path.name for path in tmp_path.iterdir()] == ["kernel.cpp"]
    assert (tmp_path / "kernel.cpp").read_text(encoding="utf-8") == "mine"


def test_the_command_writes_a_workspace_of_a_packaged_task(tmp_path) -> None:
    def run(*words: str):
        return CliRunner().invoke(workspace, words, obj=App(Console()))

    assert run("Sqrt", str(tmp_path / "new"), "--track", "dynamic").exception is None
    assert (tmp_path / "new" / "op_host").is_dir()
    assert os.access(tmp_path / "new" / "judge", os.X_OK)
    refused = run("Sqrt", str(tmp_path / "other"), "--track", "dynamic", "--case", "smoke")
    assert isinstance(refused.exception, UsageError)
    assert refused.exception.field == "--case"
    assert not (tmp_path / "other").exists()


def test_without_the_sdk_the_command_says_what_to_install(monkeypatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "mcp.server.mcpserver", None)
    monkeypatch.delitem(__import__("sys").modules, "npukb_mcp.server", raising=False)
    refused = CliRunner().invoke(mcp, [], obj=App(Console()))
    assert isinstance(refused.exception, UsageError)
    assert refused.exception.remedy == "pip install 'npukernelbench[mcp]'"
