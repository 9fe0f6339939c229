"""The thinking before a kernel that is written in the one way of ``styles: uniform``: what happens to a tile, then the
buffers that this takes, then the sizes.

Code names its buffers before it uses them. A model of few parameters cannot see ahead that far; here every decision
follows from what stands before it, and the code repeats the decisions.
"""

from __future__ import annotations

from kernelgen_lm.corpus.measures import CORES, Kernel
from kernelgen_lm.corpus.spec import Spec

__all__ = ["plan"]


def plan(spec: Spec, kernel: Kernel) -> str:
    """The thinking before ``kernel``, which is in the style ``UNIFORM`` and made of parts."""
    parts, numbers = kernel.parts, kernel.numbers
    if parts is None:
        raise ValueError("kernels that move rows are not made of parts")
    lines = ["On a tile:", *parts.compute]
    if parts.epilogue:
        # Indented lines of the epilogue are those inside of its condition on core 0.
        lines += ["On core 0, after SyncAll:", *(line[4:] for line in parts.epilogue if line.startswith("    "))]
    lines.append(f"Buffers: {', '.join(buffer.name for buffer in parts.buffers) or 'none'}.")
    if numbers.pitch:
        row = spec.columns * spec.dtype.itemsize
        lines.append(f"{numbers.total} rows / {CORES} cores -> {numbers.share} per core. A row is {row} bytes.")
    lines.append(f"Tile: {numbers.tile} {numbers.unit}.")
    return "\n".join(lines)
