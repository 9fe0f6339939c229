"""A tile language in front of Ascend C: typed programs, run with NumPy and lowered to kernels for both tracks.

:func:`parse_program` reads a program, :func:`interpret` runs it, :func:`lower_static` and :func:`lower_dynamic` make
Ascend C of it. ``npukb tile`` does the same from the command line.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from npukernelbench import hookimpl

if TYPE_CHECKING:
    import click

    from npukernelbench.plugins.registry import Register

NPUKB_PLUGIN_API = ">=1,<2"


@hookimpl
def register_strategies(register: Register) -> None:
    """``--strategy tile`` and ``--strategy tile-llm``."""
    register("tile", "npukb_tile.strategy:TILE", description="the model writes a tile program, which is lowered")
    register("tile-llm", "npukb_tile.passes:TILE_LLM", description="the model writes a tile program and lowers it")


@hookimpl
def register_goldens(register: Register) -> None:
    """Golden kernels that are lowered from programs."""
    register("tile", "npukb_tile.golden:LOWERED", description="host and device code out of a tile program")


@hookimpl
def register_commands(cli: click.Group) -> None:
    """Add ``npukb tile``."""
    from npukb_tile.command import tile

    cli.add_command(tile)
