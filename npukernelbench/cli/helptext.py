"""The help text of every command, and its copy in the documentation.

``python -m npukernelbench.cli.helptext docs/cli.md`` brings the copy up to date; a test fails when it is not. In the
document a block that follows the line ``<!-- help: NAME -->`` is replaced; NAME is a command, or ``npukb`` for the
group.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import click

from npukernelbench.cli.boundary import App
from npukernelbench.cli.group import build_group
from npukernelbench.console import Console

__all__ = ["help_texts", "update_document"]

_WIDTH = 120
_BLOCK = re.compile(r"(?P<mark><!-- help: (?P<name>[a-z-]+) -->\n)```text\n.*?```\n", re.DOTALL)


def help_texts() -> dict[str, str]:
    """Help of the group, under ``npukb``, and of every command, those of plugins included, as wide as our lines."""
    group = build_group()
    with _context(group, "npukb", None) as parent:
        texts = {"npukb": group.get_help(parent)}
        for name in group.list_commands(parent):
            command = group.get_command(parent, name)
            assert command is not None
            with _context(command, name, parent) as context:
                texts[name] = command.get_help(context)
    return texts


def _context(command: click.Command, name: str, parent: click.Context | None) -> click.Context:
    # A fixed width, so that the copy does not depend on a terminal.
    return click.Context(
        command, parent, name, obj=App(Console()), terminal_width=_WIDTH, help_option_names=["-h", "--help"]
    )


def update_document(text: str) -> str:
    """``text`` with every marked block replaced by today's help. KeyError for a mark that names no command."""
    texts = help_texts()

    def block(match: re.Match[str]) -> str:
        return f"{match['mark']}```text\n{texts[match['name']]}\n```\n"

    return _BLOCK.sub(block, text)


if __name__ == "__main__":
    for name in sys.argv[1:]:
        path = Path(name)
        path.write_text(update_document(path.read_text(encoding="utf-8")), encoding="utf-8")
