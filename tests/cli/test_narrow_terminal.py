"""Eighty columns: every command's lines fit, words stay whole, and nothing is lost that is not named."""

from __future__ import annotations

import io
import re
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest

from npukernelbench.cli import main
from npukernelbench.console import Console, Paint


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def _eighty_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERM", "dumb")


def shown(*command: str) -> list[str]:
    """The lines of a command in a terminal."""
    stream = Terminal()
    with redirect_stdout(stream), redirect_stderr(stream):
        main(list(command))
    return stream.getvalue().splitlines()


def test_sentences_are_broken_between_words_and_source_is_not() -> None:
    terminal = Terminal()
    console = Console(stdout=terminal, environ={"FORCE_COLOR": "1"})
    sentence = f"  {console.paint('error:', Paint.BAD)} " + "a tensor of 98304 bytes does not fit; " * 4
    console.tell(sentence.rstrip())
    source = "      19 | " + "x" * 100
    console.tell(source)
    console.tell(" " * 4 + "y" * 100)
    first, second, third, quoted, one_word = terminal.getvalue().splitlines()
    plain = [re.sub(r"\x1b\[[0-9;]*m", "", line) for line in (first, second, third)]
    assert max(map(len, plain)) <= 80
    assert max(map(len, plain)) > 70
    assert [len(line) - len(line.lstrip()) for line in plain] == [2, 4, 4]
    assert " ".join(" ".join(plain).split()) == "error: " + " ".join(["a tensor of 98304 bytes does not fit;"] * 4)
    assert quoted == source
    assert one_word == " " * 4 + "y" * 100


def test_without_a_terminal_no_line_is_broken(capsys: pytest.CaptureFixture[str]) -> None:
    Console(environ={}).tell("word " * 40)
    assert capsys.readouterr().out == "word " * 40 + "\n"


def test_lines_of_every_command_fit(fake: None) -> None:
    run = ("run", "--model", "fake", "--executor", "fake", "--tasks", "Sqrt", "Gelu:smoke")
    answer = Path("answer.cpp")
    answer.write_text("int a;\n// fake: rule_violation\n")
    commands = (
        (*run, "-o", "results/a"),
        ("report", "results/a"),
        ("report", "results/a", "--format", "table"),
        ("compare", "results/a", "results/a"),
        ("leaderboard", "results"),
        ("judge", "Sqrt", str(answer), "--executor", "fake"),
        ("ls", "tasks"),
        ("ls", "backends"),
        ("ls", "groups"),
        ("plugins",),
        ("doctor",),
        ("api", "DataCopyPad"),
        (*run, "--dry_run"),
        ("run", "--model", "openai", "--tasks", "Sqrt"),
        ("judge", "Sqrt", "kernel.txt"),
    )
    for command in commands:
        lines = shown(*command)
        assert lines, command
        # What is one word, or a command to be copied, is the terminal's to break.
        long = [line for line in lines if len(line) > 80 and len(line.split()) > 1 and not line.startswith("more: ")]
        assert long == [], command


def test_columns_that_do_not_fit_are_left_out_by_name() -> None:
    head, *rows = shown("ls", "tasks", "--category", "Math", "--level", "1")
    assert head.split() == ["TASK", "LEVEL", "CATEGORY", "CASES", "SUMMARY"]
    assert "left out in this width, and in --json: TAGS" in rows
    assert any(row.startswith("Sqrt ") for row in rows)
