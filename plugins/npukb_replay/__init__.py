"""The backend ``replay``: answers out of a folder, a JSONL file or an earlier run, so that no model is needed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from npukernelbench import hookimpl

if TYPE_CHECKING:
    from npukernelbench.plugins import Register

NPUKB_PLUGIN_API = ">=1,<2"


@hookimpl
def register_backends(register: Register) -> None:
    """Offer ``replay``."""
    register(
        "replay",
        "npukb_replay.backend:ReplayBackend",
        description="a folder of responses or kernels, a JSONL file, or an earlier run (path=FOLDER)",
    )
