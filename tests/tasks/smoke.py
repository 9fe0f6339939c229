"""What a smoke case must be: small enough to be judged first, and ragged, so that it shows forgotten tails."""

from __future__ import annotations

from collections.abc import Sequence

from npukernelbench.nouns import TensorShape

__all__ = ["assert_small_and_ragged"]


def assert_small_and_ragged(shapes: Sequence[TensorShape]) -> None:
    """No tensor has 10,000 elements; the larger ones, and their rows, are no whole number of blocks."""
    assert max(shape.size for shape in shapes) < 10_000
    big = [shape for shape in shapes if shape.size > 1_000]
    assert big
    for shape in big:
        assert shape.nbytes % 32 != 0
        assert shape.shape[-1] * shape.dtype.itemsize % 32 != 0
