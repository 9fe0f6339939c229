"""The judge as a tool of coding agents: a server of the Model Context Protocol, and workspaces to write kernels in.

``npukb mcp`` serves, ``npukb workspace`` makes a folder. What the tools do is in :mod:`npukb_mcp.desk`, without the
protocol; :mod:`npukb_mcp.server` puts the protocol around it. :mod:`npukb_mcp.strategy` gives the same tools to any
chat model, by function calling.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from npukernelbench import hookimpl

if TYPE_CHECKING:
    import click

    from npukernelbench.plugins import Register

NPUKB_PLUGIN_API = ">=1,<2"


@hookimpl
def register_strategies(register: Register) -> None:
    """``--strategy tools``, which needs no SDK."""
    register(
        "tools",
        "npukb_mcp.strategy:ToolsStrategy",
        description="the model calls check, judge, explain and api before it answers (calls=N,questions=N,tokens=N)",
    )


@hookimpl
def register_commands(cli: click.Group) -> None:
    """Add ``npukb mcp`` and ``npukb workspace``."""
    from npukb_mcp.command import mcp, workspace

    cli.add_command(mcp)
    cli.add_command(workspace)
