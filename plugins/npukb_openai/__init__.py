"""The backend ``openai``: any server that speaks the chat-completions protocol, through the official client."""

from __future__ import annotations

from typing import TYPE_CHECKING

from npukernelbench import hookimpl

if TYPE_CHECKING:
    from npukernelbench.plugins import Register

NPUKB_PLUGIN_API = ">=1,<2"


@hookimpl
def register_backends(register: Register) -> None:
    """Offer ``openai``."""
    register(
        "openai",
        "npukb_openai.backend:OpenAIBackend",
        description="a chat-completions server: OpenAI, vLLM, and everything compatible (model=NAME,base_url=URL)",
    )
    register(
        "openai-batch",
        "npukb_openai.batch:OpenAIBatchBackend",
        description="a provider's batch jobs: within a day, for half the price (model=NAME)",
    )
