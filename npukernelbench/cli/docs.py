"""``npukb docs``: the documentation as a site on this machine."""

from __future__ import annotations

import click

from npukernelbench.cli.boundary import App
from npukernelbench.cli.group import Command
from npukernelbench.cli.options import verbosity_option

__all__ = ["command"]


@click.command("docs", cls=Command, short_help="Open the documentation on this machine, or look up a name.")
@click.argument("names", metavar="[NAME…]", nargs=-1)
@click.option(
    "--port", type=click.IntRange(0, 65535), default=8972, show_default=True, help="Port; 0 takes a free one."
)
@click.option("--build_only", is_flag=True, help="Print the first page's file, and serve nothing.")
@verbosity_option
@click.pass_context
def command(context: click.Context, /, names: tuple[str, ...], port: int, build_only: bool) -> None:
    """Build the documentation and serve it to a browser of this machine, until interrupted. It needs no network.

    The pages are those of the checkout; without MkDocs their first file is printed instead. With names of the API,
    print what npukb api says of them.
    """
    if names:
        from npukernelbench.cli import api

        context.invoke(api.command, names=names)
        return
    app: App = context.obj
    from npukernelbench.config import default_cache_dir
    from npukernelbench.report.site import build_site, find_pages, serve_site

    pages = find_pages()
    start = build_site(pages, default_cache_dir() / "site")
    if start is None:
        app.console.warn("MkDocs is not installed; pip install 'npukernelbench[site]' for navigation and search")
        app.console.out(str(pages / "docs" / "index.md"))
        return
    if build_only:
        app.console.out(str(start))
        return
    with serve_site(start.parent, port) as server:
        # The server knows its port; 0 let the system choose one.
        address = f"http://127.0.0.1:{server.server_port}/"
        app.console.out(address)
        # Output into a pipe is buffered, and whoever waits for the address may read from one.
        app.console.flush()
        click.launch(address)
        app.console.err("stop with Ctrl-C")
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            app.console.err("stopped")
