"""The backend ``reference``: answers every task with its golden kernel, which shows that the task can be solved."""

from __future__ import annotations

from typing import TYPE_CHECKING

from npukernelbench import hookimpl

if TYPE_CHECKING:
    from npukernelbench.plugins import Register

NPUKB_PLUGIN_API = ">=1,<2"


@hookimpl
def register_backends(register: Register) -> None:
    """Offer ``reference``, also under the name ``golden``."""
    register(
        "reference",
        "npukb_reference.backend:ReferenceBackend",
        aliases=("golden",),
        description="answers with the golden kernel of every task",
    )
