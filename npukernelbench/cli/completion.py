"""``npukb completion``: the script that completes command lines in a shell."""

from __future__ import annotations

import click

from npukernelbench.cli.boundary import App
from npukernelbench.cli.complete import SHELLS, script
from npukernelbench.cli.group import Command, build_group
from npukernelbench.cli.options import verbosity_option

__all__ = ["command"]


@click.command("completion", cls=Command, short_help="Print the completion script of a shell.")
@click.argument("shell", type=click.Choice(SHELLS))
@verbosity_option
@click.pass_obj
def command(app: App, shell: str) -> None:
    """Print the script that completes npukb's commands, options and names when you press the tab key.

    bash: add to ~/.bashrc    eval "$(npukb completion bash)"

    zsh: add to ~/.zshrc, after compinit    eval "$(npukb completion zsh)"

    fish: write it once    npukb completion fish > ~/.config/fish/completions/npukb.fish
    """
    app.console.out(script(build_group(), shell))
