"""The backends ``vllm`` (an engine in a child process) and ``vllm-server`` (a server, started or attached to)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from npukernelbench import hookimpl

if TYPE_CHECKING:
    from npukernelbench.plugins import Register

NPUKB_PLUGIN_API = ">=1,<2"


@hookimpl
def register_backends(register: Register) -> None:
    """Offer both."""
    register(
        "vllm",
        "npukb_vllm.offline:VllmBackend",
        description="a vLLM engine in a child process (model=FOLDER or HUB_ID)",
    )
    register(
        "vllm-server",
        "npukb_vllm.server:VllmServerBackend",
        description="a vLLM server: started for the run (model=…), or attached to (base_url=URL)",
    )
