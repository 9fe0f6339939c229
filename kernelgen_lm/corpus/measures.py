"""A generated kernel with the numbers that its reasoning states, and the machine that they are measured by."""

from __future__ import annotations

from typing import NamedTuple

from kernelgen_lm.corpus.emit import Parts
from kernelgen_lm.corpus.lower import Lowered
from npukernelbench.nouns.machine import DEFAULT_MACHINE

__all__ = ["CORES", "UB_BYTES", "Kernel", "Numbers", "up"]

CORES = DEFAULT_MACHINE.vector_cores
UB_BYTES = DEFAULT_MACHINE.ub_usable_bytes


class Numbers(NamedTuple):
    """What the reasoning states: elements or rows per core and tile, and bytes of the unified buffer."""

    unit: str
    total: int
    share: int
    cores: int
    tile: int
    tiles: int
    ub_bytes: int
    pitch: int = 0


class Kernel(NamedTuple):
    """A kernel's source, its numbers, the instructions of its middle, and the parts that it is made of, if any."""

    source: str
    numbers: Numbers
    lowered: Lowered
    parts: Parts | None = None


def up(value: int, step: int) -> int:
    """``value`` rounded up to a multiple of ``step``."""
    return -(-value // step) * step
