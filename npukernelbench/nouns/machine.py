"""The machine that kernels are written for, as prompts, tilings and made-up kernels need to know it.

:data:`DEFAULT_MACHINE` is the default SoC, and the only place that knows its numbers: everything else asks it.
Executors know machines of their own in more detail; the twin's are files with a source per number.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["DEFAULT_MACHINE", "Machine"]


@dataclass(frozen=True, slots=True)
class Machine:
    """Numbers a kernel author needs; one vector core each where not said otherwise. The defaults describe
    ascend910b2. Figures: vendor documentation of arch 2201.

    ``ub_bytes`` is all of the unified buffer, ``ub_usable_bytes`` what a kernel may allocate and a platform query
    answers.
    """

    soc: str = "ascend910b2"
    cube_cores: int = 24
    vector_cores: int = 48
    clock_mhz: int = 1800
    ub_bytes: int = 192 * 1024
    # All but 256 bytes, as a platform query says.
    ub_usable_bytes: int = 196352
    block_bytes: int = 32
    repeat_bytes: int = 256
    # The type of a repeat count has 8 bits.
    max_repeats: int = 255
    # Over all queues of a position; more make a device hang.
    buffers_per_position: int = 8
    l2_bytes: int = 192 * 1024 * 1024
    gm_bytes_per_s: float = 1.76e12

    @property
    def ub_reserved_bytes(self) -> int:
        """What of the unified buffer no kernel may allocate."""
        return self.ub_bytes - self.ub_usable_bytes


DEFAULT_MACHINE = Machine()
