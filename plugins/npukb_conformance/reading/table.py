"""A list of cases as the suite writes it: semicolons between columns, the number of the case in ``case_id``."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from npukernelbench.errors import SourceLocation, UsageError

__all__ = ["Row", "read_rows"]

_WIDEST = 50
# What pandas, with which the suite reads its lists, takes for a missing number.
_MISSING = frozenset({"", "nan", "NaN", "NA", "N/A", "null", "NULL", "None", "n/a"})


@dataclass(frozen=True)
class Row:
    """One case: its number, its line and place in the file, and what its columns hold. A missing number is NaN."""

    id: str
    line: int
    place: int
    values: Mapping[str, object]

    def get(self, name: str, default: object = None) -> object:
        """The value of a column, ``default`` without such a column."""
        return self.values.get(name, default)

    def __contains__(self, name: object) -> bool:
        return name in self.values

    def __getitem__(self, name: str) -> object:
        return self.values[name]

    def __str__(self) -> str:
        """As the suite's prompts show a case: pandas' text of a row, whose values end at 50 characters."""
        texts = {name: str(value) for name, value in self.values.items()}
        shown = {name: text if len(text) <= _WIDEST else text[: _WIDEST - 3] + "..." for name, text in texts.items()}
        # pandas pads both columns, and a prompt is to be the suite's to the blank.
        left, right = max(map(len, shown)), max(map(len, shown.values()))
        lines = [f"{name:<{left}}    {text:>{right}}" for name, text in shown.items()]
        return "\n".join([*lines, f"Name: {self.place}, dtype: object"])


def read_rows(path: Path) -> list[Row]:
    """The rows of a file. UsageError naming file and line where it is no list of cases."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read {path}: {error}", field="--checkout") from error
    # Numbered before empty lines are left out: faults name the line of the file.
    lines = [(number, line) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
    cells = [(number, next(csv.reader([line], delimiter=";"))) for number, line in lines]
    if not cells or "case_id" not in (header := [name.strip() for name in cells[0][1]]):
        raise UsageError(
            "there is no column case_id",
            location=SourceLocation(path, cells[0][0] if cells else 1),
            field="--checkout",
            remedy="a list of cases begins with a line of names between semicolons, case_id among them",
        )
    for number, row in cells[1:]:
        if len(row) != len(header):
            raise UsageError(
                f"{len(row)} values for {len(header)} columns",
                location=SourceLocation(path, number),
                field="--checkout",
            )
    columns = [_column([row[place].strip() for _, row in cells[1:]]) for place in range(len(header))]
    rows = [dict(zip(header, values, strict=True)) for values in zip(*columns, strict=True)]
    numbered = enumerate(zip(cells[1:], rows, strict=True))
    return [Row(str(row["case_id"]), number, place, row) for place, ((number, _), row) in numbered]


def _column(texts: list[str]) -> list[object]:
    """The values of a column, all of one kind: truth values, whole numbers, numbers, or texts."""
    there = [text for text in texts if text not in _MISSING]
    truths = {"True": True, "true": True, "TRUE": True, "False": False, "false": False, "FALSE": False}
    if there and all(text in truths for text in there):
        return [truths.get(text, float("nan")) for text in texts]
    try:
        numbers = [float(text) for text in there]
    except ValueError:
        return [float("nan") if text in _MISSING else text for text in texts]
    # As pandas reads a column: one missing value makes all of its whole numbers floats.
    if len(there) == len(texts) and all(number.is_integer() for number in numbers):
        return [int(number) for number in numbers]
    return [float("nan") if text in _MISSING else float(text) for text in texts]
