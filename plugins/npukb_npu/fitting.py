"""From measured times of rows to numbers of a machine file: one system of linear equations, solved by least squares.

Every row says of which numbers its time consists. In seconds, and with rates as seconds per byte, element or product,
that is linear. A number that the rows do not determine, or to which no sensible value belongs, is not fitted and says
so. Not yet run on hardware.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from npukb_npu.rows import Row, Table

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Fit", "Measured", "Taken", "Timer", "fit"]

_KNOWN = "cycles"  # in costs: what is no number of machine files
_DETERMINED = 1e-6  # what other numbers may contribute to one that is called determined


class Taken(NamedTuple):
    """What a row took: seconds of a round, and on how many cores it ran."""

    seconds: float
    cores: int


class Measured(NamedTuple):
    """A fitted number: its value, its unit, and the rows that it was fitted to."""

    value: float
    unit: str
    how: str


@dataclass(frozen=True, slots=True)
class Fit:
    """Numbers and throughputs by name; what could not be fitted, with the reason; and how far rows are off."""

    numbers: Mapping[str, Measured]
    rates: Mapping[str, Measured]
    unfitted: Mapping[str, str]
    misfits: Mapping[str, float] = field(default_factory=dict)


#: What one round of a row takes with a count.
Timer = Callable[[Row, int], Taken]


@dataclass(frozen=True, slots=True)
class _Equation:
    row: str
    seconds: float
    coefficients: Mapping[str, float]


def fit(table: Table, rows: Sequence[Row], timer: Timer, clock_hz: float) -> Fit:
    """Measure ``rows`` and solve for all numbers that they determine."""
    equations = list(_equations(rows, timer, clock_hz))
    unfitted: dict[str, str] = {}
    usable = []
    for equation in equations:
        # the difference of two noisy times can be negative; relative errors need a time to divide by
        if equation.seconds > 0:
            usable.append(equation)
        else:
            unfitted |= dict.fromkeys(equation.coefficients, f"{equation.row}: no time was measured")
    names = sorted({name for equation in usable for name in equation.coefficients})
    shares, determined, misfits = _solve(usable, names)
    fitted: dict[str, Measured] = {}
    for name, share, sure in zip(names, shares, determined, strict=True):
        if not sure:
            unfitted[name] = "the rows cannot separate it from other numbers"
        elif share <= 0:
            unfitted[name] = "the measured times leave nothing for it"
        else:
            enters = table.enters(name)
            used = ", ".join(equation.row for equation in usable if name in equation.coefficients)
            fitted[name] = Measured(enters.value_of(share, clock_hz), enters.unit, used)
            # one of its rows had no time, but another had
            unfitted.pop(name, None)
    return Fit(
        {name: measured for name, measured in fitted.items() if "." not in name},
        {name: measured for name, measured in fitted.items() if "." in name},
        unfitted,
        misfits,
    )


def _equations(rows: Sequence[Row], timer: Timer, clock_hz: float) -> Iterable[_Equation]:
    """Rows that others refer to come first. Known cycles are taken off what was measured."""
    seconds: dict[str, float] = {}
    refers = [row for row in rows if any(str(cost).startswith("row ") for cost in row.cost.values())]
    for row in [*(plain for plain in rows if plain not in refers), *refers]:
        if row.rate:
            low, high = row.counts
            # what a call costs whatever its count is in both and cancels out
            more = timer(row, high).seconds - timer(row, low).seconds
            yield _Equation(row.what, more, {row.rate: float(high - low)})
        if row.cost:
            taken = timer(row, 0)
            seconds[row.what] = taken.seconds
            coefficients = {name: _times(factor, taken.cores, seconds) for name, factor in row.cost.items()}
            known = coefficients.pop(_KNOWN, 0.0) / clock_hz
            yield _Equation(row.what, taken.seconds - known, coefficients)


def _times(text: float | str, cores: int, seconds: Mapping[str, float]) -> float:
    """A coefficient: a number, ``"N cores"``, or ``"row NAME"``."""
    if not isinstance(text, str):
        return text
    if text.startswith("row "):
        return seconds[text.removeprefix("row ")]
    return float(text.removesuffix(" cores")) * cores


def _solve(
    equations: Sequence[_Equation], names: Sequence[str]
) -> tuple[NDArray[np.float64], NDArray[np.bool_], dict[str, float]]:
    """Least squares of relative errors. A factor's base, the time that it multiplies, is on the other side."""
    import numpy as np

    matrix = np.array(
        [[equation.coefficients.get(name, 0.0) / equation.seconds for name in names] for equation in equations]
    )
    # without equations NumPy makes an array of one axis
    matrix = matrix.reshape(len(equations), len(names))
    # columns are seconds, bytes or products: of one length, they share the threshold of small singular values
    scale = np.linalg.norm(matrix, axis=0)
    inverse = np.linalg.pinv(matrix / scale, rcond=1e-9)
    # each equation is divided by its time, which leaves 1 on the other side
    shares = inverse @ np.ones(len(equations)) / scale
    # the identity where the rows determine every number; elsewhere a row shows what is mixed in
    resolved = inverse @ (matrix / scale)
    determined = np.abs(resolved - np.eye(len(names))).max(axis=1, initial=0.0) < _DETERMINED
    misfits = matrix @ shares - 1
    return shares, determined, {equation.row: float(error) for equation, error in zip(equations, misfits, strict=True)}
