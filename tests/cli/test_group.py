"""The group: lazy commands, spelling, help, version, commands of plugins."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from npukernelbench import __version__
from npukernelbench.cli.group import COMMANDS
from npukernelbench.cli.helptext import help_texts, update_document

DOCUMENT = Path(__file__).parents[2] / "docs" / "cli.md"


def test_nothing_at_all_shows_help(npukb):
    finished = npukb()
    assert finished.code == 0
    assert all(name in finished.out for name in COMMANDS)
    assert finished.err == ""


@pytest.mark.parametrize("flag", ["-h", "--help"])
@pytest.mark.parametrize("command", [(), *((name,) for name in COMMANDS)])
def test_every_command_has_help(npukb, command, flag):
    finished = npukb(*command, flag)
    assert finished.code == 0
    assert finished.out.startswith(f"Usage: npukb{' ' + command[0] if command else ''}")


def test_summaries_are_those_of_the_commands():
    for lazy in COMMANDS.values():
        assert import_module(f"npukernelbench.cli.{lazy.module}").command.get_short_help_str(200) == lazy.summary


def test_the_document_embeds_the_help_of_today():
    text = DOCUMENT.read_text(encoding="utf-8")
    assert update_document(text) == text, "run python -m npukernelbench.cli.helptext docs/cli.md"
    assert all(f"<!-- help: {name} -->\n" in text for name in help_texts())


def test_a_stale_document_is_brought_up_to_date():
    updated = update_document("<!-- help: ls -->\n```text\nstale\n```\nafter\n")
    assert "stale" not in updated
    assert updated.endswith("```\nafter\n")


def test_version(npukb):
    assert npukb("--version").out == f"npukernelbench {__version__}\n"


def test_options_alone_mean_run(npukb):
    finished = npukb("--show_config", "--tasks", "smoke", "--json")
    assert finished.code == 0
    assert finished.json["tasks"] == {"value": ["smoke"], "origin": "--tasks"}


@pytest.mark.parametrize("spelling", ["--model_args", "--model-args", "-a"])
def test_underscore_and_hyphen_are_alike(npukb, spelling):
    shown = npukb("run", "--show-config", "--json", spelling, "x=1,y=two").json
    assert shown["model_args"]["value"] == {"x": 1, "y": "two"}


@pytest.mark.parametrize(
    "words",
    [
        ["--tasks", "sqrt", "gelu", "level2"],
        ["--tasks=sqrt", "gelu", "level2"],
        ["--tasks", "sqrt,gelu", "level2"],
        ["--tasks", "sqrt gelu level2"],
        ["-t", "sqrt", "-t", "gelu,level2"],
        ["-tsqrt", "--tasks", "gelu", "level2", "--seed", "0"],
    ],
)
def test_lists_take_spaces_commas_and_repetition(npukb, words):
    shown = npukb("run", "--show_config", "--json", *words).json
    assert shown["tasks"]["value"] == ["sqrt", "gelu", "level2"]


def test_a_list_option_without_words_is_a_usage_error(npukb):
    finished = npukb("run", "--tasks")
    assert finished.code == 2
    assert "--tasks" in finished.err


def test_json_arguments_survive(npukb):
    shown = npukb("run", "--show_config", "--json", "--model_args", '{"a": [1, 2], "b": "x,y"}').json
    assert shown["model_args"]["value"] == {"a": [1, 2], "b": "x,y"}


def test_unknown_command_says_what_was_meant(npukb):
    finished = npukb("reprot", "x")
    assert finished.code == 2
    assert "did you mean report or prompt?" in finished.err
    assert finished.out == ""


def test_unknown_option_is_a_usage_error(npukb):
    finished = npukb("ls", "--nope")
    assert finished.code == 2
    assert "--nope" in finished.err
    assert "npukb ls --help" in finished.err


def test_verbosity_takes_a_level_but_needs_none(npukb):
    assert npukb("ls", "-v", "groups").code == 0
    assert npukb("ls", "-v", "ERROR", "groups").code == 0
    assert npukb("ls", "groups", "--verbosity").code == 0


def test_a_plugin_adds_a_command(npukb, plugin):
    plugin(
        "greeter",
        """
        import click
        from npukernelbench import hookimpl

        @hookimpl
        def register_commands(cli):
            @cli.command("greet", help="Say hello.")
            def greet():
                click.echo("hello from a plugin")
        """,
    )
    assert npukb("greet").out == "hello from a plugin\n"
    assert "Say hello." in npukb("--help").out


def test_a_plugin_that_fails_to_add_a_command_does_not_stop_ours(npukb, plugin):
    plugin(
        "grumpy",
        """
        from npukernelbench import hookimpl

        @hookimpl
        def register_commands(cli):
            raise RuntimeError("not today")
        """,
    )
    finished = npukb("--help")
    assert finished.code == 0
    assert "grumpy" in finished.err


def test_a_plugin_cannot_replace_a_command_of_ours(npukb, plugin):
    plugin(
        "usurper",
        """
        import click
        from npukernelbench import hookimpl

        @hookimpl
        def register_commands(cli):
            cli.add_command(click.Command("ls", callback=lambda: click.echo("mine")))
        """,
    )
    assert "mine" not in npukb("ls", "groups").out


def test_listing_tasks_imports_nothing_heavy():
    probe = (
        "import sys; from npukernelbench.cli import main; main(['ls', 'tasks']);"
        "heavy = {'numpy', 'scipy', 'rich', 'jinja2', 'pydantic', 'yaml', 'torch', 'openai'} & set(sys.modules);"
        "sys.stderr.write(f'imported: {sorted(heavy)}')"
    )
    command = [sys.executable, "-c", probe]
    subprocess.run(command, capture_output=True, check=True)  # the first one parses and fills the cache
    finished = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "Sqrt" in finished.stdout
    assert finished.stderr.endswith("imported: []")


def test_python_dash_m_is_npukb():
    command = [sys.executable, "-m", "npukernelbench", "--version"]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout.endswith(f"{__version__}\n")
