"""Executors that use CANN: a device (``npu``), its simulator and its host mode. Not yet run on hardware."""

from __future__ import annotations

from typing import TYPE_CHECKING

from npukernelbench import hookimpl

if TYPE_CHECKING:
    import click

    from npukernelbench.plugins import Register

NPUKB_PLUGIN_API = ">=1,<2"


@hookimpl
def register_executors(register: Register) -> None:
    """Offer the device, and the two ways in which the toolkit runs kernels without one."""
    register("npu", "npukb_npu.executor:NpuExecutor", description="Ascend device through CANN; not yet run on hardware")
    register(
        "cann-cpu",
        "npukb_npu.hostmodes:CannCpuExecutor",
        description="CANN's own run of kernels on the host, values only; not yet run with a toolkit",
    )
    register(
        "cann-sim",
        "npukb_npu.hostmodes:CannSimExecutor",
        description="CANN's simulator of a device; not yet run with a toolkit",
    )


@hookimpl
def register_commands(cli: click.Group) -> None:
    """``npukb calibrate``."""
    import click

    @cli.command("calibrate", short_help="Measure a device and write a machine file for the twin.")
    @click.option("--out", metavar="FILE", required=True, help="Machine file to write.")
    @click.option(
        "--base", metavar="NAME", default="", help="Machine file to start from; by default that of the device's chip."
    )
    @click.option("--device", type=int, default=0, show_default=True, help="Device to measure.")
    def calibrate(out: str, base: str, device: int) -> None:
        """Run small kernels on a device, fit the numbers that decide their times, write a machine file.

        Not yet run on hardware. The file is used with --executor_args soc=FILE.
        """
        from npukb_npu.calibrate import command

        for line in command(out, base, device):
            click.echo(line)
