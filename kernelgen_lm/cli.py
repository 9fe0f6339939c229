"""The command line ``kernelgen-lm``: one command per step; each parses, calls and renders."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import click

from kernelgen_lm import commands
from npukernelbench.console import Console
from npukernelbench.errors import NpukbError

__all__ = ["main"]


@click.group("kernelgen-lm", context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
def group() -> None:
    """Make a verified corpus, train on it, and say what came of it. See docs/training.md."""


for command in commands.COMMANDS:
    group.add_command(command)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line and return its exit code: that of ``npukb`` for the same fault."""
    console = Console()
    try:
        with group.make_context("kernelgen-lm", list(sys.argv[1:] if argv is None else argv), obj=console) as context:
            code = group.invoke(context)
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except (KeyboardInterrupt, click.Abort):
        console.err("\ninterrupted; the same command resumes")
        return 130
    except click.ClickException as error:
        console.error(error.format_message())
        return error.exit_code
    except NpukbError as error:
        console.error(str(error))
        return error.exit_code
    return code if isinstance(code, int) else 0
