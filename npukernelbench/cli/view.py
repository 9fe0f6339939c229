"""``npukb view``: runs in a browser, as they are now."""

from __future__ import annotations

from pathlib import Path

import click

from npukernelbench.cli.boundary import App
from npukernelbench.cli.group import Command
from npukernelbench.cli.options import verbosity_option

__all__ = ["command"]


@click.command("view", cls=Command, short_help="Look at runs in a browser, also while they go on.")
@click.argument("directory", metavar="[RESULTS]", default="results", type=click.Path(path_type=Path))
@click.option(
    "--port", type=click.IntRange(0, 65535), default=8971, show_default=True, help="Port; 0 takes a free one."
)
@click.option(
    "--host",
    metavar="ADDRESS",
    default="127.0.0.1",
    show_default=True,
    help="Address to serve at; another one lets whoever reaches it read every run, prompts and answers included.",
)
@verbosity_option
@click.pass_obj
def command(app: App, directory: Path, port: int, host: str) -> None:
    """Serve pages about every run at or below the folder RESULTS to this machine, until interrupted.

    A run that is going on is shown with its progress and its samples as they are judged. Nothing is written.
    """
    from npukernelbench.report.html.server import ViewServer

    with ViewServer(directory, port, host) as server:
        app.console.out(server.url)
        # Output into a pipe is buffered, and whoever waits for the address may read from one.
        app.console.flush()
        if server.open_to_others:
            app.console.warn(f"whoever reaches {host} can read every run below {directory}")
        app.console.err("open this address in a browser; stop with Ctrl-C")
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            app.console.err("stopped")
