"""``npukb plugins``: who is installed, what they offer, who is set aside and why."""

from __future__ import annotations

from typing import Any

import click

from npukernelbench.cli.boundary import App
from npukernelbench.cli.group import Command
from npukernelbench.cli.options import json_option, shared_options
from npukernelbench.cli.session import open_session
from npukernelbench.report.plugins import plugins_json, plugins_lines

__all__ = ["command"]


@click.command("plugins", cls=Command, short_help="Show installed and quarantined plugins.")
@json_option
@shared_options
@click.pass_obj
def command(app: App, /, as_json: bool, **shared: Any) -> None:
    """Show installed plugins with what they offer, and quarantined ones with their tracebacks."""
    plugins = open_session(shared).plugins
    if as_json:
        app.console.json(plugins_json(plugins))
        return
    for line in plugins_lines(plugins, app.console.paint):
        app.console.tell(line)
