"""``npukb push``: a run into object storage."""

from __future__ import annotations

from pathlib import Path

import click

from npukernelbench.cli.boundary import App
from npukernelbench.cli.group import Command

__all__ = ["command"]


@click.command("push", cls=Command, short_help="Copy a run into object storage.")
@click.argument("directory", metavar="RUN", type=click.Path(path_type=Path))
@click.argument("url", metavar="URL")
@click.pass_obj
def command(app: App, /, directory: Path, url: str) -> int:
    """Send what of a run is not yet at URL: s3://bucket/name, gs://…, or any other that fsspec knows.

    The run may still go on; pushing again sends what is new.
    """
    from npukernelbench.store.objects import push

    moved = push(directory, url)
    app.console.out(f"{moved.segments} new segments, {moved.size} bytes: {url}")
    return 0
