"""The CPU twin, the default executor: runs Ascend C on the host under a machine model of the AI core."""

from __future__ import annotations

from typing import TYPE_CHECKING

from npukernelbench import hookimpl

if TYPE_CHECKING:
    from npukernelbench.plugins import Register

NPUKB_PLUGIN_API = ">=1,<2"


@hookimpl
def register_executors(register: Register) -> None:
    """Offer the twin."""
    register(
        "twin", "npukb_twin.executor:TwinExecutor", description="CPU twin of the Ascend AI core (no device needed)"
    )


@hookimpl
def register_goldens(register: Register) -> None:
    """Static golden kernels out of dynamic ones."""
    register(
        "derived",
        "npukb_twin.operator.golden:DerivedKernel",
        description="a static kernel for one case, with what the tiling function of the dynamic operator says of it",
    )
