"""The backend ``hf``: checkpoints that transformers loads, from a local folder or a hub."""

from __future__ import annotations

from typing import TYPE_CHECKING

from npukernelbench import hookimpl

if TYPE_CHECKING:
    from npukernelbench.plugins import Register

NPUKB_PLUGIN_API = ">=1,<2"


@hookimpl
def register_backends(register: Register) -> None:
    """Offer ``hf``."""
    register(
        "hf",
        "npukb_hf.backend:HFBackend",
        aliases=("transformers",),
        description="a transformers checkpoint in this process (model=FOLDER or HUB_ID)",
    )
