"""What a prompt says about the machine. The defaults describe the default SoC, ascend910b2."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Hardware"]


@dataclass(frozen=True, slots=True)
class Hardware:
    """Numbers a kernel author needs; one vector core each where not said otherwise. Figures: vendor documentation of
    arch 2201."""

    soc: str = "ascend910b2"
    cube_cores: int = 24
    vector_cores: int = 48
    clock_mhz: int = 1800
    ub_bytes: int = 192 * 1024
    ub_usable_bytes: int = 196352
    block_bytes: int = 32
    repeat_bytes: int = 256
    max_repeats: int = 255
    buffers_per_position: int = 8
    l2_bytes: int = 192 * 1024 * 1024
    gm_bytes_per_s: float = 1.76e12
