"""The judge as a tool of coding agents: a server of the Model Context Protocol, and workspaces to write kernels in.

``npukb mcp`` serves, ``npukb workspace`` makes a folder. What the tools do is in :mod:`npukb_mcp.desk`, without the
protocol; :mod:`npukb_mcp.server` puts the protocol around it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from npukernelbench import hookimpl

if TYPE_CHECKING:
    import click

NPUKB_PLUGIN_API = ">=1,<2"


@hookimpl
def register_commands(cli: click.Group) -> None:
    """Add ``npukb mcp`` and ``npukb workspace``."""
    from npukb_mcp.command import mcp, workspace

    cli.add_command(mcp)
    cli.add_command(workspace)
