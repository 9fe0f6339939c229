"""The executor ``ray``: judges on every node of a Ray cluster with another executor, as one machine would."""

from __future__ import annotations

from typing import TYPE_CHECKING

from npukernelbench import hookimpl

if TYPE_CHECKING:
    from npukernelbench.plugins import Register

NPUKB_PLUGIN_API = ">=1,<2"


@hookimpl
def register_executors(register: Register) -> None:
    """Offer the cluster."""
    register(
        "ray",
        "npukb_ray.executor:RayExecutor",
        description="another executor on every node of a Ray cluster (needs the extra ray)",
    )
