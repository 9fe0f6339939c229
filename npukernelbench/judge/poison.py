"""What output buffers hold before a kernel runs: a pattern it cannot know, by which "never written" is recognised.

The pattern is one page of 64-bit words, ``splitmix64(start + i)``, repeated. Its start is derived from the run
request's seed and the output's name. Executors fill outputs with it; the judge knows the seed too.

Some bits of every 16 are fixed, so that no unwritten element can pass as right by chance: read as float16,
bfloat16, float32 or float64, every element is finite and huge; no byte is 0 or 1, as a boolean is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from npukernelbench.seed import derive

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["PAGE_BYTES", "poison"]

PAGE_BYTES = 4096

_GAMMA = 0x9E3779B97F4A7C15
_MASK = (1 << 64) - 1
#: In every 16 bits: exponent bits 14 to 11 set and bit 10 clear (huge, not infinite), bit 1 set (no boolean).
_KEPT = 0x83FF83FF83FF83FF
_SET = 0x7802780278027802


def poison(nbytes: int, seed: int, name: str) -> NDArray[np.uint8]:
    """``nbytes`` bytes of the pattern for one buffer: the output ``name``, or ``name[i]`` of a tensor list."""
    import numpy as np

    # Repeats the page; the array's own `resize` would fill up with zeros.
    return np.resize(_page(derive(seed, "poison", name)), nbytes)


def _page(start: int) -> NDArray[np.uint8]:
    import numpy as np

    # Masked as a Python integer: NumPy refuses one beyond 64 bits, while its own arrays wrap around.
    word: NDArray[np.uint64] = np.arange(1, PAGE_BYTES // 8 + 1, dtype=np.uint64) * np.uint64(_GAMMA) + np.uint64(
        start * _GAMMA & _MASK
    )
    # These shifts and factors are splitmix64's; an executor's own code has to give the same bytes.
    word ^= word >> np.uint64(30)
    word *= np.uint64(0xBF58476D1CE4E5B9)
    word ^= word >> np.uint64(27)
    word *= np.uint64(0x94D049BB133111EB)
    word ^= word >> np.uint64(31)
    word &= np.uint64(_KEPT)
    word |= np.uint64(_SET)
    return word.view(np.uint8)
