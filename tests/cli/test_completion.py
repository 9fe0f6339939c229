"""Completion: the scripts of three shells, and what they are answered."""

from __future__ import annotations

import os
import pty
import select
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from npukernelbench.cli import main
from npukernelbench.cli.complete import SHELLS, VARIABLE

Ask = Callable[..., list[str]]


@pytest.fixture
def ask(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Ask:
    """``ask("npukb", "ru")`` are the candidates for the last word, as bash is told them."""

    def call(*words: str) -> list[str]:
        monkeypatch.setenv(VARIABLE, "bash_complete")
        monkeypatch.setenv("COMP_WORDS", " ".join(words))
        monkeypatch.setenv("COMP_CWORD", str(len(words) - 1))
        assert main([]) == 0
        return [line.partition(",")[2] for line in capfd.readouterr().out.splitlines() if line]

    return call


def test_commands_and_options(ask: Ask) -> None:
    assert ask("npukb", "re") == ["rejudge", "report", "rewards"]
    assert ask("npukb", "run", "--model") == ["--model", "--model_args"]
    assert ask("npukb", "--model") == ["--model", "--model_args"]
    assert ask("npukb", "judge", "Sqrt", "--checker", "f") == ["fast", "full"]


def test_names_of_what_is_installed(ask: Ask, fake: None) -> None:
    assert ask("npukb", "--model", "fa") == ["fake"]
    assert ask("npukb", "run", "--executor", "FAK") == ["fake"]
    assert ask("npukb", "export", "run", "--format", "j") == ["json", "jsonl", "junit"]
    assert ask("npukb", "run", "--prompt_style", "category_") == ["category-shot"]


def test_names_of_tasks_and_lists_of_them(ask: Ask) -> None:
    assert ask("npukb", "prompt", "Sq") == ["Sqrt"]
    assert ask("npukb", "run", "--tasks", "lev") == ["level1", "level2", "level3"]
    assert ask("npukb", "run", "--tasks", "Sqrt,gel")[0] == "Sqrt,Gelu"


def test_a_broken_installation_completes_nothing_and_says_nothing(
    ask: Ask, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "work" / "npukb.yaml").write_text("tasks: [\n")
    assert ask("npukb", "prompt", "Sq") == []


@pytest.mark.parametrize("shell", SHELLS)
def test_every_shell_has_a_script_that_asks_us(npukb, shell):
    finished = npukb("completion", shell)
    assert finished.code == 0
    assert f"{VARIABLE}={shell}_complete" in finished.out
    assert "npukb" in finished.out
    checker = shutil.which(shell)
    if checker:
        subprocess.run([checker, "-n"], input=finished.out, text=True, check=True, timeout=60)


def test_an_unknown_shell_is_refused(npukb):
    finished = npukb("completion", "tcsh")
    assert finished.code == 2
    assert "'tcsh' is not one of" in finished.err


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    """What a shell is started with: our program on its path, and a home without settings."""
    program = tmp_path / "bin" / "npukb"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m npukernelbench "$@"\n')
    program.chmod(0o755)
    path = f"{program.parent}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path), "TERM": "dumb"}


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
def test_a_real_bash_completes(npukb, environ):
    """The words of a line go to the function that the script defines, as readline would call it."""
    source = npukb("completion", "bash").out
    asked = 'COMP_WORDS=(npukb golden Sqr); COMP_CWORD=2; _npukb_completion npukb Sqr golden; echo "${COMPREPLY[@]}"'
    done = subprocess.run(
        ["bash", "--norc", "-c", f"{source}\n{asked}"], env=environ, capture_output=True, text=True, timeout=120
    )
    assert (done.stdout, done.stderr) == ("Sqrt\n", "")


@pytest.mark.skipif(shutil.which("fish") is None, reason="there is no fish: apt-get install fish")
def test_a_real_fish_completes(npukb, environ, tmp_path):
    """``complete -C`` is what the tab key shows, with descriptions."""
    script = tmp_path / "npukb.fish"
    script.write_text(npukb("completion", "fish").out)
    asked = f'source {script}; complete -C "npukb golden Sqr"; complete -C "npukb jud"'
    done = subprocess.run(
        ["fish", "--no-config", "-c", asked], env=environ, capture_output=True, text=True, timeout=120
    )
    assert done.stdout == "Sqrt\tlevel 1\njudge\tJudge a kernel's source.\n"


@pytest.mark.skipif(shutil.which("zsh") is None, reason="there is no zsh: apt-get install zsh")
def test_a_real_zsh_completes(npukb, environ, tmp_path):
    """A shell at a terminal, whose tab key is pressed."""
    script = tmp_path / "_npukb"
    script.write_text(npukb("completion", "zsh").out)
    shell, terminal = pty.openpty()
    process = subprocess.Popen(["zsh", "-f", "-i"], stdin=terminal, stdout=terminal, stderr=terminal, env=environ)
    try:
        # Where the command is echoed its words are apart, so that only what it prints is found.
        os.write(shell, f"autoload -U compinit; compinit -u -D; source {script}; echo re''ady\n".encode())
        _read_until(shell, "ready")
        os.write(shell, b"npukb golden Sqr\t")
        _read_until(shell, "golden Sqrt")
    finally:
        process.kill()
        process.wait()
        os.close(shell)
        os.close(terminal)


def _read_until(terminal: int, text: str) -> None:
    """Read what a shell writes until it holds the text; a failure after two minutes of silence."""
    said = ""
    while text not in said:
        readable, _, _ = select.select([terminal], [], [], 120)
        assert readable, said
        said += os.read(terminal, 4096).decode(errors="replace")
