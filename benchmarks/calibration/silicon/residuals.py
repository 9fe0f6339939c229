"""What the predictions of measured kernels are worth: errors by class, and the intervals that follow from them.

    python -m benchmarks.calibration.silicon.residuals

Writes the intervals of the twin. How well they hold is told by cross-validation: those around the kernels of one
operator, or of one range of sizes, are made of the others.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from itertools import combinations
from math import log10
from pathlib import Path
from statistics import median

from scipy.stats import spearmanr

from benchmarks.calibration.silicon.predict import read
from npukb_twin.timing.intervals import REGIMES
from npukernelbench.stats import nine_in_ten

__all__ = ["Compared", "compared", "inside", "intervals", "section"]

#: Of fewer rows than these none could be left outside: those of both sizes count, or those of all kernels.
_MANY, _FEW = 39, 12
_FIFTH = 1.2


@dataclass(frozen=True, slots=True)
class Compared:
    """One measured kernel, and what the model says of ours."""

    operator: str
    kind: str
    regime: str
    megabytes: float
    measured_us: float
    predicted_us: float
    bound_us: float

    @property
    def ratio(self) -> float:
        """Measured over predicted."""
        return self.measured_us / self.predicted_us

    @property
    def error(self) -> float:
        """Of the prediction, relative to what was measured."""
        return abs(self.predicted_us / self.measured_us - 1)

    @property
    def decade(self) -> int:
        """The size that it belongs to: powers of ten of its bytes."""
        return int(log10(self.megabytes * 1e6))


#: By regime: the lowest and the highest ratio of an interval, the rows that it is made of.
Intervals = Mapping[str, tuple[float, float, Sequence[Compared]]]


def compared() -> list[Compared]:
    """The predictions that are written down."""
    return [
        Compared(
            line["operator"],
            line["class"],
            line["regime"],
            *(float(line[name]) for name in ("megabytes", "measured_us", "predicted_us", "bound_us")),
        )
        for line in read()
    ]


def intervals(rows: Sequence[Compared]) -> Intervals:
    """Nine in ten of ``rows`` are inside, regime by regime; rather one more than one less."""
    made = {}
    for regime in sorted({f"{kind} {size}" for kind in REGIMES for size in ("small", "large")}):
        own = [row for row in rows if row.regime == regime]
        if not own:
            continue
        alike = [row for row in rows if row.regime.split()[0] == regime.split()[0]]
        used = own if len(own) >= _MANY else alike if len(alike) >= _FEW else rows
        low, high = nine_in_ten([row.ratio for row in used])
        made[regime] = (low, high, own)
    return made


def inside(row: Compared, made: Intervals) -> bool:
    """Whether the measured time lies in the interval around the predicted one."""
    known = made.get(row.regime)
    # A regime without rows of its own may be as far off as any other.
    if known is None:
        lows, highs = [low for low, _, _ in made.values()], [high for _, high, _ in made.values()]
        return min(lows) <= row.ratio <= max(highs)
    # The 1.0 on both sides: a prediction is never outside of its own interval.
    return min(known[0], 1.0) <= row.ratio <= max(known[1], 1.0)


def _held(rows: Sequence[Compared], group: Callable[[Compared], object]) -> dict[int, bool]:
    """By position: whether the row is inside an interval that its group had no part in."""
    kept: dict[int, bool] = {}
    for name in {group(row) for row in rows}:
        made = intervals([row for row in rows if group(row) != name])
        kept |= {i: inside(row, made) for i, row in enumerate(rows) if group(row) == name}
    return kept


def _order(rows: Sequence[Compared]) -> tuple[int, int]:
    """Pairs of one operator whose times differ by a fifth: how many are in the right order, and how many there are."""
    right = every = 0
    for one, other in combinations(rows, 2):
        longer, shorter = max(one.measured_us, other.measured_us), min(one.measured_us, other.measured_us)
        if one.operator != other.operator or longer < _FIFTH * shorter:
            continue
        every += 1
        right += (one.measured_us > other.measured_us) == (one.predicted_us > other.predicted_us)
    return right, every


def section() -> str:
    """The tables of the page."""
    rows = compared()
    made = intervals(rows)
    without_operator, without_size = _held(rows, lambda row: row.operator), _held(rows, lambda row: row.decade)
    return "\n".join(
        [
            "| class | rows | median error | measured / predicted | inside | operator left out | size left out |",
            "|---|---|---|---|---|---|---|",
            *_classes(rows, made, without_operator, without_size),
            "",
            _summary(rows),
            "",
            "| what most time goes to | rows | measured / predicted, from | to |",
            "|---|---|---|---|",
            *(
                f"| {regime} | {len(own)} | {min(low, 1.0):.2f} | {max(high, 1.0):.2f} |"
                for regime, (low, high, own) in made.items()
            ),
        ]
    )


def _classes(
    rows: Sequence[Compared], made: Intervals, operator: Mapping[int, bool], size: Mapping[int, bool]
) -> Iterator[str]:
    for kind in (*dict.fromkeys(row.kind for row in rows), "all"):
        some = [(i, row) for i, row in enumerate(rows) if kind in (row.kind, "all")]
        errors, ratios = median(row.error for _, row in some), median(row.ratio for _, row in some)
        shares = (
            _share(inside(row, made) for _, row in some),
            _share(operator[i] for i, _ in some),
            _share(size[i] for i, _ in some),
        )
        yield f"| {kind} | {len(some)} | {errors:.0%} | {ratios:.2f} | " + " | ".join(shares) + " |"


def _share(values: Iterable[bool]) -> str:
    told = list(values)
    return f"{sum(told) / len(told):.0%}"


def _summary(rows: Sequence[Compared]) -> str:
    rank = spearmanr([row.measured_us for row in rows], [row.predicted_us for row in rows]).statistic
    right, every = _order(rows)
    below = sum(row.predicted_us < row.bound_us for row in rows)
    return (
        f"Rank correlation {rank:.3f}. Of {every} pairs of one operator whose times differ by a fifth or more, "
        f"{right / every:.1%}\nare in the right order. {below} of {len(rows)} predictions are below the roofline."
    )


def main() -> int:
    """Write the intervals."""
    lines = [
        "# Measured over predicted times of kernels, nine in ten, by what their time goes to; written by",
        "# python -m benchmarks.calibration.silicon.residuals",
    ]
    for regime, (low, high, own) in intervals(compared()).items():
        times = sorted(row.predicted_us for row in own)
        lines.append(
            f"{regime}: {{rows: {len(own)}, low: {low:.3f}, high: {high:.3f}, "
            f"shortest_us: {times[0]:.2f}, longest_us: {times[-1]:.1f}}}"
        )
    target = Path(str(files("npukb_twin") / "timing" / "residuals.yaml"))
    target.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
