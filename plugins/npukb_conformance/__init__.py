"""Conformance: kernels that others wrote and proved on silicon, compiled unmodified from their repository and judged.

A checkout of NPUKernelBench is read where it is (:mod:`.checkout`): one folder per operator with ``op_host`` and
``op_kernel``. Our task of the same name supplies cases and reference. What the repository's own interface does between
the caller and the kernel is data with a reason per entry (:mod:`.dispatch`): which cases it sends elsewhere, which
tensors it casts or reshapes. Cases too large for a CPU are scaled along their outer axis (:mod:`.scale`). Every verdict
is one line on disk as soon as it is known (:mod:`.record`), so that an interrupted session
resumes (:mod:`.sitting`). Nothing of the checkout is copied into our own files or results.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from npukernelbench import hookimpl

if TYPE_CHECKING:
    import click

    from npukernelbench.plugins import Register

NPUKB_PLUGIN_API = ">=1,<2"


@hookimpl
def register_repositories(register: Register) -> None:
    """Let others read a checkout of NPUKernelBench."""
    register("npukernelbench", "npukb_conformance.repository:NPUKernelBench", description="checkouts of NPUKernelBench")


@hookimpl
def register_rules(register: Register) -> None:
    """Offer the benchmarks' rules for ``--rules``."""
    register("npukernelbench", "npukb_conformance.rules:RULES", description="limits, values, weights of NPUKernelBench")
    register("ascendcraft", "npukb_conformance.craft:CRAFT", description="limits, values and rates of AscendCraft")


@hookimpl
def register_prompts(register: Register) -> None:
    """Offer the benchmark's own prompts, read from a checkout."""
    register("npukernelbench", "npukb_conformance.answers:CheckoutStyle", description="the prompts of a checkout")


@hookimpl
def register_parsers(register: Register) -> None:
    """Offer the benchmark's own way of reading answers."""
    register(
        "npukernelbench", "npukb_conformance.answers:tagged_block", description="text between the suite's tags only"
    )


@hookimpl
def register_commands(cli: click.Group) -> None:
    """Add ``npukb conformance`` and ``npukb survey``."""
    from npukb_conformance.command import command
    from npukb_conformance.survey.command import command as survey

    cli.add_command(command)
    cli.add_command(survey)
