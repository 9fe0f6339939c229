"""The backends ``kernelgen-lm`` and ``kernelgen-lm:SIZE``: KernelGen-LM by name, through vLLM or transformers; and the
prompt style ``few-shot``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from npukernelbench import hookimpl

if TYPE_CHECKING:
    from npukernelbench.plugins import Register

NPUKB_PLUGIN_API = ">=1,<2"

#: Sizes on the hub, by the class that stands for each.
_SIZES = {"1.7b": "Size1B7", "4b": "Size4B", "8b": "Size8B", "14b": "Size14B", "32b": "Size32B", "32b-rl": "Size32BRL"}


@hookimpl
def register_backends(register: Register) -> None:
    """Offer the bare name and one name per size."""
    register(
        "kernelgen-lm",
        "npukb_kernelgen.backend:KernelGenBackend",
        description="KernelGen-LM: the default checkpoint that is installed, or path=FOLDER",
    )
    for size, target in _SIZES.items():
        register(
            f"kernelgen-lm:{size}",
            f"npukb_kernelgen.backend:{target}",
            description=f"KernelGen-LM {size.upper()} from the hub, or path=FOLDER",
        )


@hookimpl
def register_prompts(register: Register) -> None:
    """Offer ``few-shot``."""
    register(
        "few-shot", "kernelgen_lm.prompts:FEW_SHOT", description="terse, after a generated question and its kernel"
    )
