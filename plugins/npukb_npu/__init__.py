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
    """``npukb calibrate`` and ``npukb baselines import``."""
    import click

    _baselines(cli)

    @cli.command("calibrate", short_help="Measure a device and write a machine file for the twin.")
    @click.option("--out", metavar="FILE", required=True, help="Machine file to write.")
    @click.option(
        "--base", metavar="NAME", default="", help="Machine file to start from; by default that of the device's chip."
    )
    @click.option("--device", type=int, default=0, show_default=True, help="Device to measure.")
    @click.option(
        "--rows",
        metavar="FILE",
        default="",
        help="Measure nothing: take kernels that were measured, as npukb compare --rows writes them.",
    )
    def calibrate(out: str, base: str, device: int, rows: str) -> None:
        """Run small kernels on a device, fit the numbers that decide their times, write a machine file.

        With --rows the file says how far measured kernels were from what the machine that is named there predicted:
        nine in ten of them lie within the intervals of times predicted with it.

        Not yet run on hardware. The file is used with --executor_args soc=FILE.
        """
        from npukb_npu import calibrate, kernelrows

        for line in kernelrows.command(rows, out, base) if rows else calibrate.command(out, base, device):
            click.echo(line)


def _baselines(cli: click.Group) -> None:
    from pathlib import Path

    import click

    @cli.group("baselines", short_help="Baselines out of measurements of other tools.")
    def baselines() -> None:
        """Baselines out of measurements of other tools."""

    @baselines.command("import", short_help="Read profiles of a whole model's run.")
    @click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path, exists=True, dir_okay=False))
    @click.option("--chip", metavar="NAME", required=True, help="Chip that was measured, such as 910B3.")
    @click.option("--out", metavar="FILE", type=click.Path(path_type=Path), required=True, help="File to write.")
    def import_profiles(files: tuple[Path, ...], chip: str, out: Path) -> None:
        """Read FILES, op_summary_*.csv or kernel_details.csv, as times of eager operators on a device.

        Launches count for the case of a task whose operator, shapes and element types are theirs. With the file in
        tasks/baselines, called npu_CHIP.eager.json, right kernels of that machine get speedup_eager.
        """
        from npukb_npu.wholemodel import command
        from npukernelbench.plugins import Plugins
        from npukernelbench.tasks import load_registry

        for line in command(files, chip, out, load_registry(Plugins.load())):
            click.echo(line)
