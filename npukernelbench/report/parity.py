"""What was predicted beside what was measured, case by case: how far a machine's model is from the machine.

Both sides judged the same answers on the same cases, one with predicted times, the other with measured ones. The rows
are what docs/calibration.md lists of a kernel and what a calibration is held against; nothing is fitted here.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from npukernelbench.errors import SourceLocation, UsageError
from npukernelbench.nouns import Profile
from npukernelbench.report.comparison.times import Key, Side, read_side

__all__ = ["ParityRow", "parity_csv", "parity_markdown", "parity_rows", "read_rows", "summary", "write_rows"]

_TEXTS = frozenset({"task", "track", "case", "machine", "measured_on"})
_FIELDS = ("task", "track", "case", "predicted_us", "measured_us", "low_us", "high_us", "machine", "measured_on")


@dataclass(frozen=True, slots=True)
class ParityRow:
    """One case of one answer. ``low_us`` and ``high_us`` hold the measured median with 95 % confidence."""

    task: str
    track: str
    case: str
    predicted_us: float
    measured_us: float
    low_us: float
    high_us: float
    machine: str  # that predicted
    measured_on: str
    #: Predicted and measured, of what both sides count; not kept in files.
    counters: Mapping[str, tuple[float, float]] = field(default_factory=dict)

    @property
    def error(self) -> float:
        """Of the prediction, relative to what was measured."""
        return self.predicted_us / self.measured_us - 1

    @property
    def within(self) -> bool:
        """Whether the prediction lies in the interval of the measurement."""
        return self.low_us <= self.predicted_us <= self.high_us


def parity_rows(first: Side, second: Side) -> tuple[ParityRow, ...]:
    """A row per case that both sides have, whichever of them predicted. UsageError where not exactly one did."""
    kinds = [{profile.predicted for profile in side.profiles.values()} for side in (first, second)]
    # By their text, since sets compare by inclusion, which is no order.
    if sorted(kinds, key=str) != [{False}, {True}]:
        raise UsageError(
            f"{first.source} and {second.source} are not one prediction and one measurement",
            remedy="give a run on the twin and a run on a device, or two profiles of them",
        )
    predicted, measured = (first, second) if kinds[0] == {True} else (second, first)
    shared = sorted(predicted.profiles.keys() & measured.profiles.keys())
    if not shared:
        raise UsageError("the two have no answer and case in common", remedy="judge the same answers on both")
    return tuple(_row(key, predicted.profiles[key], measured.profiles[key]) for key in shared)


def _row(key: Key, predicted: Profile, measured: Profile) -> ParityRow:
    # The key of a single profile is empty: it does not say what kernel it is of.
    task, track, _, case = key if key else ("", "", "", "")
    both = sorted(predicted.counters.keys() & measured.counters.keys())
    return ParityRow(
        task=task,
        track=track,
        case=case,
        predicted_us=predicted.time_us,
        measured_us=measured.time_us,
        # Without an interval the measurement is its own: only a prediction of exactly that time lies in it.
        low_us=measured.time_us if measured.low_us is None else measured.low_us,
        high_us=measured.time_us if measured.high_us is None else measured.high_us,
        machine=predicted.machine,
        measured_on=measured.machine,
        counters={name: (predicted.counters[name], measured.counters[name]) for name in both},
    )


def summary(rows: Sequence[ParityRow]) -> str:
    """Median and worst error, in one line."""
    errors = [row.error for row in rows]
    worst = max(errors, key=abs)
    inside = sum(row.within for row in rows)
    middle = median(abs(error) for error in errors)
    return f"{len(rows)} cases: median error {middle:.1%}, worst {worst:+.1%}, {inside} within the measured interval"


def write_rows(path: Path, sides: Sequence[Path]) -> str:
    """Write the rows of two runs or profiles, as docs/calibration.md has them to a file ``.md``, else for other tools;
    what they say, in one line.
    """
    if len(sides) != 2:
        raise UsageError(
            "rows are of two runs or profiles", field="--rows", remedy="name one prediction, one measurement"
        )
    rows = parity_rows(*map(read_side, sides))
    path.write_text(parity_markdown(rows) if path.suffix == ".md" else parity_csv(rows), encoding="utf-8")
    return f"{path}: {summary(rows)}"


def parity_csv(rows: Iterable[ParityRow]) -> str:
    """Rows with a header, for other tools."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_FIELDS)
    writer.writerows([getattr(row, name) for name in _FIELDS] for row in rows)
    return text.getvalue()


def read_rows(path: Path) -> tuple[ParityRow, ...]:
    """The rows of a file that :func:`write_rows` wrote as CSV. UsageError with file, line and field for any other."""
    try:
        # Fields may hold line ends, which csv has to see as they are.
        with path.open(encoding="utf-8", newline="") as stream:
            reader = csv.DictReader(stream)
            if lacking := [name for name in _FIELDS if name not in (reader.fieldnames or ())]:
                raise _unreadable(path, 1, lacking[0], "the column is missing")
            return tuple(_read(row, path, reader.line_num) for row in reader)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise UsageError(f"{path} cannot be read: {error}", field="--rows", remedy=_REMEDY) from error


_REMEDY = "give the CSV file that npukb compare --rows writes of a run on the twin and one on a device"


def _read(row: Mapping[str, str | None], path: Path, line: int) -> ParityRow:
    values: dict[str, str | float] = {}
    for name in _FIELDS:
        text = row[name] or ""
        if name in _TEXTS:
            values[name] = text
            continue
        try:
            values[name] = number = float(text)
        except ValueError:
            raise _unreadable(path, line, name, f"{text!r} is no number") from None
        # NaN fulfils no comparison and is refused here, too.
        if not 0 < number < float("inf"):
            raise _unreadable(path, line, name, f"{text} is no time")
    return ParityRow(**values)  # type: ignore[arg-type]


def _unreadable(path: Path, line: int, name: str, why: str) -> UsageError:
    return UsageError(f"{name}: {why}", location=SourceLocation(path, line), field=name, remedy=_REMEDY)


def parity_markdown(rows: Iterable[ParityRow]) -> str:
    """Rows as docs/calibration.md has them, the worst first."""
    lines = ["| kernel | measured µs | predicted µs | error | measured on |", "|---|---|---|---|---|"]
    for row in sorted(rows, key=lambda row: -abs(row.error)):
        name = ":".join(filter(None, (row.task, row.track, row.case))) or "kernel"
        lines.append(
            f"| {name} | {row.measured_us:,.1f} | {row.predicted_us:,.1f} | {row.error:+.1%} | {row.measured_on} |"
        )
    return "\n".join(lines) + "\n"
