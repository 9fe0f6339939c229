"""Words for a wrong output: the first wrong elements with index, got and expected, their pattern, and where to look."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from npukernelbench.judge.patterns import Finding, Pattern, Surroundings, Wrong, number, what, where
from npukernelbench.nouns import DType

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from npukernelbench.nouns.execution import Array

__all__ = ["Explanation", "explain"]

_SHOWN = 5
_FALLBACK = "Compare the kernel's formula with the task's, starting at the first wrong element."


class Explanation(NamedTuple):
    """``text``: several lines for a reader; ``remedy``: where to look; ``details``: the same for machines."""

    text: str
    remedy: str
    details: Mapping[str, Any]


def explain(
    name: str, actual: Array, expected: Array, dtype: DType, wrong: NDArray[np.bool_], around: Surroundings
) -> Explanation:
    """Explain the elements marked in ``wrong`` (flat, at least one set) of the output ``name``."""
    import numpy as np

    if dtype is DType.BOOL:
        # As it was compared: a byte other than 0 and 1 is shown as what it is.
        actual = np.ascontiguousarray(actual).view(np.uint8)
    with np.errstate(all="ignore"):
        seen = _gather(actual, expected, dtype, wrong)
        value, place = what(seen, around), where(seen, around.blocks)
        worst = _worst(seen)
    findings = [finding for finding in (value, place) if finding]
    shown = [_element(seen, position) for position in range(min(_SHOWN, seen.places.size))]
    lines = ["first wrong elements:", *(_line(name, element) for element in shown)]
    # Otherwise it is among the first ones already.
    if worst >= _SHOWN:
        lines += ["largest error:", _line(name, _element(seen, worst))]
    lines += [f"pattern: {finding.sentence}" for finding in findings]
    details = {
        # `wrote_nothing` of rewards reads it: such a kernel only has the form of one.
        "untouched": bool(value and value.pattern is Pattern.NEVER_WRITTEN and value.everywhere),
        "output": name,
        "wrong": int(seen.places.size),
        "total": seen.size,
        "first": shown,
        "patterns": [finding.pattern.value for finding in findings],
    }
    return Explanation("\n".join(lines), _remedy(value, place), details)


def _gather(actual: Array, expected: Array, dtype: DType, wrong: NDArray[np.bool_]) -> Wrong:
    import numpy as np

    wide: Any = np.complex128 if dtype.is_complex else np.float64
    index = np.flatnonzero(wrong)
    flat, reference = actual.reshape(-1), np.asarray(expected).reshape(-1)
    return Wrong(index, flat[index].astype(wide), reference[index].astype(wide), flat, reference, actual.shape)


def _remedy(value: Finding | None, place: Finding | None) -> str:
    """A telling place comes before a telling value, unless the values are merely imprecise."""
    order = [value, place] if value and value.pattern is Pattern.PRECISION else [place, value]
    return next((finding.pattern.remedy for finding in order if finding and finding.pattern.remedy), _FALLBACK)


def _worst(seen: Wrong) -> int:
    """Position of the largest finite error among the wrong elements."""
    import numpy as np

    error = np.abs(seen.got - seen.want)
    return int(np.where(np.isfinite(error), error, -1.0).argmax())


def _element(seen: Wrong, position: int) -> dict[str, Any]:
    import numpy as np

    flat = int(seen.places[position])
    place = np.unravel_index(flat, seen.shape) if seen.shape else ()
    # Integers come from the tensors themselves: in double precision large ones have lost digits.
    got_exact, want_exact = seen.actual.dtype.kind in "iu", seen.expected.dtype.kind in "iu"
    return {
        "index": [int(i) for i in place],
        "got": str(int(seen.actual[flat])) if got_exact else number(seen.got[position]),
        "expected": str(int(seen.expected[flat].real)) if want_exact else number(seen.want[position]),
    }


def _line(name: str, element: Mapping[str, Any]) -> str:
    place = f"[{', '.join(str(i) for i in element['index'])}]" if element["index"] else ""
    return f"  {name}{place} = {element['got']}, expected {element['expected']}"
