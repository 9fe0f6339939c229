"""What wrong elements have in common: the value they hold and the place they lie in.

Patterns are tried from the most to the least specific and the first that fits is told. A pattern fits when nearly all
wrong elements follow it: a right value among wrong ones is often chance.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from npukernelbench.nouns.execution import Array

__all__ = ["Finding", "Pattern", "Surroundings", "Wrong", "number", "what", "where"]

_MOST = 0.95
#: So many wrong elements are enough to see what they hold.
_SAMPLE = 20_000
# Slips of an index, and blocks of 32 bytes in elements of 4, 2 and 1 byte.
_NEIGHBOURS = (1, -1, 2, -2, 8, -8, 16, -16, 32, -32)


class Pattern(str, Enum):
    """A regularity of wrong elements. The first group is about values, the second about places."""

    NEVER_WRITTEN = "never_written"
    NAN = "nan"
    ZEROS = "zeros"
    INPUT_COPY = "input_copy"
    CONSTANT = "constant"
    SHIFTED = "shifted"
    FACTOR = "factor"
    OFFSET = "offset"
    PRECISION = "precision"

    EVERYWHERE = "everywhere"
    CORE_SHARE = "core_share"
    TAIL = "tail"
    HEAD = "head"
    RANGE = "range"
    ROW_TAIL = "row_tail"
    ROWS = "rows"
    PERIODIC = "periodic"
    SCATTERED = "scattered"

    @property
    def remedy(self) -> str:
        """Where a kernel's author should look first; empty when the pattern alone does not tell."""
        return _REMEDIES.get(self, "")


_REMEDIES: dict[Pattern, str] = {
    Pattern.NEVER_WRITTEN: "Check that the copy to global memory is reached and that its offset and length cover them.",
    Pattern.NAN: "Look for a division by zero, a root or logarithm of a negative number, an overflow in half, "
    "or memory that is read before it is written.",
    Pattern.ZEROS: "Check that the result is computed into the tensor that is copied out.",
    Pattern.INPUT_COPY: "Check that the result, not the tensor of the input, is copied out.",
    Pattern.CONSTANT: "Check the offsets inside the tile: one element is spread over all of them.",
    Pattern.SHIFTED: "Check the start offsets in global memory and in the tile.",
    Pattern.FACTOR: "Look for a missing, doubled or inverted scale, a wrong sign, or a wrong divisor of a mean.",
    Pattern.OFFSET: "Look for a missing or doubled summand.",
    Pattern.PRECISION: "Compute in float32 and cast once at the end; check the rounding mode of the cast.",
    Pattern.CORE_SHARE: "Check what this core derives from GetBlockIdx(): its offset, its length, whether it runs.",
    Pattern.TAIL: "Handle the last, shorter tile: DataCopy rounds lengths down to 32 bytes, DataCopyPad does not.",
    Pattern.HEAD: "Check the first tile: its offset, and that it waits for its copy-in.",
    Pattern.RANGE: "Check the tile that covers this range: its offset, length and synchronisation.",
    Pattern.ROW_TAIL: "A row is no multiple of 32 bytes: DataCopy rounds lengths down, DataCopyPad does not; "
    "check repeat count and mask too.",
    Pattern.ROWS: "Check the loop over rows: its bounds, its offsets, and which rows each core takes.",
    Pattern.PERIODIC: "Check tile length, repeat count, and the mask of the last instruction in a tile.",
}


class Finding(NamedTuple):
    """A pattern and the sentence that says how it shows here; ``everywhere``: on every element of the output."""

    pattern: Pattern
    sentence: str
    everywhere: bool = False


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the judge knows beside the two tensors.

    ``poison`` is what the output's buffer held before the run, as raw bytes; ``blocks`` the number of cores, 0 if
    unknown.
    """

    poison: NDArray[np.uint8] | None = None
    inputs: Mapping[str, Array] = field(default_factory=dict)
    blocks: int = 0


class Wrong(NamedTuple):
    """The wrong elements: flat indices in order, and the values on both sides in double precision.

    ``actual`` and ``expected`` are the whole tensors, flat; ``shape`` is theirs.
    """

    places: NDArray[np.intp]
    got: NDArray[np.float64]
    want: NDArray[np.float64]
    actual: Array
    expected: Array
    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        """Number of elements of the tensor."""
        return self.actual.size


def what(seen: Wrong, around: Surroundings) -> Finding | None:
    """What the wrong elements hold; None when nothing is known about it."""
    import numpy as np

    never = _never_written(seen, around.poison)
    if never:
        return never
    if np.all(np.isnan(seen.got)):
        return Finding(Pattern.NAN, "every wrong element is NaN")
    if np.all(seen.got == 0):
        return Finding(Pattern.ZEROS, "every wrong element is zero")
    some = _thinned(seen)
    finite = np.isfinite(some.got) & np.isfinite(some.want)
    return (
        _copied_input(some, around.inputs)
        or _constant(seen)
        or _shifted(some)
        or _factor(some.got[finite], some.want[finite])
        or _offset(some.got[finite], some.want[finite])
        or _close(seen)
    )


def _thinned(seen: Wrong) -> Wrong:
    """Evenly spaced wrong elements, no more than needed to see what nearly all of them hold."""
    step = -(-seen.places.size // _SAMPLE)
    return seen._replace(places=seen.places[::step], got=seen.got[::step], want=seen.want[::step])


def _never_written(seen: Wrong, poison: NDArray[np.uint8] | None) -> Finding | None:
    import numpy as np

    if poison is None:
        return None
    raw = np.ascontiguousarray(seen.actual).view(np.uint8).reshape(seen.size, -1)
    same = np.all(raw[seen.places] == poison.reshape(seen.size, -1)[seen.places], axis=1)
    count = int(np.count_nonzero(same))
    # More than half is enough: no computation leaves this pattern by chance.
    if count <= seen.places.size // 2:
        return None
    subject = f"{count} of the {seen.places.size} wrong elements were"
    if count == seen.places.size:
        subject = "the output was" if count == seen.size else "the wrong elements were"
    sentence = f"{subject} never written: the buffer still holds what was there before"
    return Finding(Pattern.NEVER_WRITTEN, sentence, everywhere=count == seen.size)


def _copied_input(seen: Wrong, inputs: Mapping[str, Array]) -> Finding | None:
    import numpy as np

    for name, values in inputs.items():
        flat = values.reshape(-1)
        # A complex input made real would lose its imaginary parts without an error.
        alike = flat.size == seen.size and np.iscomplexobj(flat) == np.iscomplexobj(seen.got)
        if alike and _mostly(flat[seen.places].astype(seen.got.dtype) == seen.got):
            return Finding(Pattern.INPUT_COPY, f"the wrong elements are those of the input {name}, unchanged")
    return None


def _constant(seen: Wrong) -> Finding | None:
    import numpy as np

    # Where the same value is expected everywhere, a constant says nothing about offsets.
    if seen.places.size < 3 or np.any(seen.got != seen.got[0]) or np.all(seen.want == seen.want[0]):
        return None
    return Finding(Pattern.CONSTANT, f"every wrong element holds the same value, {number(seen.got[0])}")


def _shifted(seen: Wrong) -> Finding | None:
    """Elements that hold the expected value of a neighbour."""
    import numpy as np

    for distance in _NEIGHBOURS:
        source = seen.places - distance
        inside = (source >= 0) & (source < seen.size)
        if np.count_nonzero(inside) < 3:
            continue
        neighbour = seen.expected[source[inside]].astype(seen.got.dtype)
        close = np.abs(seen.got[inside] - neighbour) <= 1e-2 * np.abs(neighbour) + 1e-6
        # Neighbours that are all alike would fit at any distance.
        if np.any(neighbour != neighbour[0]) and _mostly(close):
            steps = f"{abs(distance)} element{'s' if abs(distance) > 1 else ''}"
            side = "before" if distance > 0 else "after"
            return Finding(Pattern.SHIFTED, f"the wrong elements hold what belongs {steps} {side} them")
    return None


def _factor(got: NDArray[np.float64], want: NDArray[np.float64]) -> Finding | None:
    factor = _common(got[want != 0] / want[want != 0])
    # So near to 1 the values count as imprecise: `_close` has the same limit.
    if factor is None or abs(factor - 1) <= 0.05:
        return None
    return Finding(Pattern.FACTOR, f"the wrong elements are {factor:.4g} times what is expected")


def _offset(got: NDArray[np.float64], want: NDArray[np.float64]) -> Finding | None:
    import numpy as np

    difference = _common(got - want)
    if difference is None or np.all(want == want[0]):
        return None
    return Finding(Pattern.OFFSET, f"the wrong elements are what is expected plus {difference:.4g}")


def _close(seen: Wrong) -> Finding | None:
    import numpy as np

    worst = float((np.abs(seen.got - seen.want) / np.maximum(np.abs(seen.want), 1e-30)).max())
    # Negated, so that NaN is no small error.
    if not worst <= 0.05:
        return None
    return Finding(Pattern.PRECISION, f"every wrong element is close: the largest relative error is {worst:.2g}")


def where(seen: Wrong, blocks: int) -> Finding | None:
    """Where the wrong elements lie; None for a single element, which tells nothing."""
    count = seen.places.size
    if seen.size > 1 and count >= _MOST * seen.size:
        return Finding(Pattern.EVERYWHERE, f"{'' if count == seen.size else 'nearly '}all of the tensor is wrong")
    if count == 1:
        return None
    return _span(seen, blocks) or _row_ends(seen) or _rows(seen) or _runs(seen) or _scattered(seen)


def _span(seen: Wrong, blocks: int) -> Finding | None:
    """One contiguous range: one core's share, the tail, the head, or somewhere between."""
    first, last = int(seen.places[0]), int(seen.places[-1])
    length = last - first + 1
    if seen.places.size < _MOST * length:
        return None
    core = _core_share(seen.size, first, length, blocks)
    if core is not None:
        text = f"they fill elements {first} to {last}, the share of core {core} of {blocks}"
        return Finding(Pattern.CORE_SHARE, text)
    if last == seen.size - 1:
        return Finding(Pattern.TAIL, f"they are the last {length} of {seen.size} elements, from element {first} on")
    if first == 0:
        return Finding(Pattern.HEAD, f"they are the first {length} of {seen.size} elements")
    return Finding(Pattern.RANGE, f"they fill one range, elements {first} to {last}")


def _core_share(size: int, first: int, length: int, blocks: int) -> int | None:
    """The core whose share is this range, None if it is none.

    Shares are even, give or take a tenth, or rounded up to a granule, so that the range begins at a multiple of its
    length and the last cores have less to do.
    """
    if blocks < 2 or size < 4 * blocks:
        return None
    if first and first % length == 0 and size <= length * blocks < 2 * size:
        return first // length
    share = size / blocks
    core = round(first / share)
    fits = abs(first - core * share) <= 0.1 * share and abs(length - share) <= 0.1 * share
    return core if fits and core < blocks else None


def _row_ends(seen: Wrong) -> Finding | None:
    """The last columns of every row."""
    width = seen.shape[-1] if len(seen.shape) > 1 else 0
    if width < 2 or seen.size == width:
        return None
    column, rows = seen.places % width, seen.size // width
    start, end = int(column.min()), int(column.max())
    if start == 0 or end < width - 1 or seen.places.size < _MOST * rows * (width - start):
        return None
    return Finding(Pattern.ROW_TAIL, f"they are the last {width - start} of {width} elements in every row")


def _rows(seen: Wrong) -> Finding | None:
    """Whole rows."""
    import numpy as np

    width = seen.shape[-1] if len(seen.shape) > 1 else 0
    if width < 2 or seen.size == width:
        return None
    touched = np.unique(seen.places // width).size
    if seen.places.size < _MOST * touched * width:
        return None
    return Finding(Pattern.ROWS, f"they fill {touched} of {seen.size // width} whole rows")


def _runs(seen: Wrong) -> Finding | None:
    """Runs of one length at one distance: the border of every tile."""
    import numpy as np

    begins = np.concatenate(([0], np.flatnonzero(np.diff(seen.places) > 1) + 1))
    starts, lengths = seen.places[begins], np.diff(begins, append=seen.places.size)
    if starts.size < 3 or np.ptp(lengths) > 0 or np.ptp(np.diff(starts)) > 0:
        return None
    period = int(starts[1] - starts[0])
    runs = f"{starts.size} runs of {int(lengths[0])}"
    return Finding(Pattern.PERIODIC, f"they are {runs}, one every {period} elements from element {int(starts[0])} on")


def _scattered(seen: Wrong) -> Finding:
    text = f"they lie scattered between elements {int(seen.places[0])} and {int(seen.places[-1])}"
    return Finding(Pattern.SCATTERED, text)


def _mostly(fits: NDArray[np.bool_]) -> bool:
    import numpy as np

    return bool(np.count_nonzero(fits) >= _MOST * fits.size)


def _common(values: NDArray[np.float64]) -> float | complex | None:
    """The value that nearly all of at least three ``values`` share within one per cent; None if there is none."""
    import numpy as np

    if values.size < 3:
        return None
    # Complex numbers have no order, and so no median.
    middle = values[values.size // 2] if np.iscomplexobj(values) else np.median(values)
    if not np.isfinite(middle) or abs(middle) < 1e-6 or not _mostly(np.abs(values - middle) <= 0.01 * abs(middle)):
        return None
    return complex(middle) if np.iscomplexobj(values) else float(middle)


def number(value: complex | np.generic) -> str:
    """A number with the digits that matter; large integers in full."""
    plain = complex(value)
    if plain.imag:
        return f"{plain.real:.7g}{plain.imag:+.7g}j"
    # From 2^53 on a double does not hold every integer: the last digits would be made up.
    whole = plain.real.is_integer() and 1e6 <= abs(plain.real) < 2**53
    return str(int(plain.real)) if whole else f"{plain.real:.7g}"
