"""Bring your own: tasks out of signatures, PyTorch code and operator definitions (``npukb new``), and out of suites
that others wrote (``npukb suites``).

Nothing of a suite is shipped: tasks are made of a checkout that the user has, and kept in the cache folder.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from npukernelbench import hookimpl

if TYPE_CHECKING:
    import click

    from npukernelbench.plugins.registry import Register

NPUKB_PLUGIN_API = ">=1,<2"


@hookimpl
def register_importers(register: Register) -> None:
    """The layouts that are known."""
    where = "npukb_suites.modelfiles"
    register("kernelbench", f"{where}:KernelBench", description="level1/1_Name.py with Model and get_inputs")
    register("multikernelbench", f"{where}:MultiKernelBench", description="reference/CATEGORY/name.py with Model")
    register("flashinfer-bench", "npukb_suites.traces:TraceSet", description="definitions/TYPE/NAME.json and workloads")
    register("cann-bench", "npukb_suites.cannbench:CannBench", description="tasks/levelN/OPERATOR with proto.yaml")
    register("torch", f"{where}:TorchFolder", description="any folder of files with Model and get_inputs")


@hookimpl
def register_tasks(register: Register) -> None:
    """The tasks of suites that were added."""
    from npukb_suites.store import suites, tasks_folder

    for suite in suites():
        if suite.tasks:
            register(suite.name, tasks_folder(suite.name), description=f"imported by npukb suites from {suite.root}")


@hookimpl
def register_commands(cli: click.Group) -> None:
    """Add ``npukb new`` and ``npukb suites``."""
    from npukb_suites.new_command import command
    from npukb_suites.suites_command import suites

    cli.add_command(command)
    cli.add_command(suites)
