"""``npukb pull``: a run out of object storage."""

from __future__ import annotations

from pathlib import Path

import click

from npukernelbench.cli.boundary import App
from npukernelbench.cli.group import Command

__all__ = ["command"]


@click.command("pull", cls=Command, short_help="Fetch a run from object storage.")
@click.argument("url", metavar="URL")
@click.argument("directory", metavar="FOLDER", type=click.Path(path_type=Path))
@click.pass_obj
def command(app: App, /, url: str, directory: Path) -> int:
    """Write the run that npukb push put at URL into a new folder.

    It is a run like any other: report it, merge it with other shards, go on with it.
    """
    from npukernelbench.store.objects import pull

    moved = pull(url, directory)
    app.console.out(f"{moved.segments} segments, {moved.size} bytes: {directory}")
    return 0
