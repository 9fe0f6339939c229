"""Why some lowered kernels are slower than those written by hand; read by :mod:`benchmarks.tile.comparison`."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["REMARKS"]

_TRIANGLES = (
    "one row at a time, because a comparison does not broadcast and row numbers cannot be made a column; "
    "the golden kernel only clears, in place, the elements beyond the diagonal"
)
REMARKS: Mapping[str, str] = {
    "ApplyAdamWV2": (
        "a product with a number that is added to a tile becomes Muls and Add, where the golden kernel has Axpy, "
        "three times per tile"
    ),
    "Tril": _TRIANGLES,
    "Triu": _TRIANGLES,
}
