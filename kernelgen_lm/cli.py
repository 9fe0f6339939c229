"""The command line ``kernelgen-lm``: one command per step; each parses, calls and renders."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import click

from kernelgen_lm import commands
from npukernelbench.cli.boundary import show_fault
from npukernelbench.cli.translated import language_option, lift_language, translated
from npukernelbench.console import Console
from npukernelbench.errors import NpukbError

__all__ = ["main"]


@click.group("kernelgen-lm", context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
def group() -> None:
    """Make a verified corpus, train on it, and say what came of it. See docs/training.md."""


group.params.append(language_option())
for command in commands.COMMANDS:
    group.add_command(command)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line and return its exit code: that of ``npukb`` for the same fault."""
    console = Console()
    try:
        language, words = lift_language(sys.argv[1:] if argv is None else argv)
        console.speak(language)
        # Not main(), which prints click's own messages and ends the process.
        with translated(group, console.words).make_context("kernelgen-lm", words, obj=console) as context:
            code = context.command.invoke(context)
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except (KeyboardInterrupt, click.Abort):
        console.err(f"\n{console.words.text('interrupted; the same command resumes')}")
        # What shells report of a program that SIGINT ended: 128 and the signal's number.
        return 130
    except click.ClickException as error:
        console.error(console.words.sentence(error.format_message()))
        return error.exit_code
    except NpukbError as error:
        show_fault(error, console)
        return error.exit_code
    return code if isinstance(code, int) else 0
