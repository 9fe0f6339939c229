"""Command-line coding agents as models: ``--model agent:NAME``.

Each task gets a fresh workspace behind walls, with the judge and the model as its only doors. Presets are data
(``presets.yaml``); ``agent:command`` runs any command line.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from npukernelbench import hookimpl

if TYPE_CHECKING:
    from npukernelbench.plugins import Register

NPUKB_PLUGIN_API = ">=1,<2"

#: Names of presets.yaml, here too so that listing reads no file; a test holds them equal.
PRESETS = ("claude", "codex", "gemini", "mini-swe-agent", "opencode", "qwen-code")


@hookimpl
def register_backends(register: Register) -> None:
    """Offer ``agent:NAME`` for every preset, and ``agent:command``."""
    for name in PRESETS:
        register(
            f"agent:{name}",
            f"npukb_agent.backend:{name.title().replace('-', '')}",
            description=f"the agent {name} in a workspace of its own (model=NAME,base_url=URL,calls=N,seconds=N)",
        )
    register(
        "agent:command",
        "npukb_agent.backend:AnyCommand",
        description="any command line in a workspace of its own (command=…,model=NAME,base_url=URL,protocol=chat)",
    )
