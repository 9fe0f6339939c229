"""What keeps a kernel's native code from the runtime beside it, and which of it a compiler leaves out.

The packaged clang has all of it. Other compilers lack one or the other: ``sandbox=strict`` refuses them,
``auto`` says so in the verdict's ``sandbox`` and in ``npukb doctor``.
"""

from __future__ import annotations

import platform

from npukb_twin.compile.build import thunk_flags
from npukb_twin.compile.refused_names import forbids_instructions
from npukb_twin.compile.toolchain import Toolchain
from npukernelbench.errors import ExecutorError

__all__ = ["missing_guards", "require_guards", "verifies"]

_PACKAGED = "zig"


def verifies(toolchain: Toolchain) -> bool:
    """Whether the machine code of kernels compiled by ``toolchain`` can be shown to do no harm before it runs
    (``runtime/verify/image.h``).
    """
    return toolchain.name == _PACKAGED


def missing_guards(toolchain: Toolchain) -> tuple[str, ...]:
    """The guards that kernels compiled by ``toolchain`` on this machine run without."""
    missing = [] if toolchain.is_clang else ["separate stack for return addresses"]
    if not thunk_flags(toolchain):
        missing.append("check of computed calls")
    if not verifies(toolchain):
        missing.append("proof of the machine code")
    if toolchain.name != _PACKAGED and not forbids_instructions(toolchain):  # the packaged one is known, and large
        missing.append("ban on the host's instructions")
    return tuple(missing)


def require_guards(toolchain: Toolchain) -> None:
    """ExecutorError unless there are all of them."""
    if missing := missing_guards(toolchain):
        raise ExecutorError(
            f"kernels compiled by {toolchain.description} on {platform.machine()} run without {', '.join(missing)}, "
            "which sandbox=strict requires",
            remedy="use the packaged compiler (pip install ziglang==0.13.0), or take sandbox=auto",
        )
