"""What the chips of another NPU architecture have of the tables: the column of that architecture.

The tables (``include/twin``) are written for architecture 2201. ``machines/columns/NAME.yaml`` says for another one
which functions it lacks, which element types and modes it takes, and how kernels are compiled for it. Instructions are
refused where they run, by the runtime, which is told what is absent (:attr:`Column.absences`); functions that leave a
call in the compiled image are refused when it is compiled (:mod:`npukb_twin.compile.lacking`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from typing import Literal, NamedTuple

import yaml
from pydantic import Field, ValidationError, field_validator

from npukb_twin.compile.instructions import Row, instructions, type_name, types
from npukernelbench.errors import ConfigError
from npukernelbench.strict import Strict

__all__ = ["CHECKED_BY_RUNTIME", "Absence", "Column", "column_of", "columns"]

#: Modes by the names of the documentation: RoundMode, and ReduceOrder.
_MODES: Mapping[str, int] = {
    "CAST_NONE": 0, "CAST_RINT": 1, "CAST_FLOOR": 2, "CAST_CEIL": 3, "CAST_ROUND": 4, "CAST_TRUNC": 5, "CAST_ODD": 6,
    "ORDER_VALUE_INDEX": 0, "ORDER_INDEX_VALUE": 1, "ORDER_ONLY_VALUE": 2, "ORDER_ONLY_INDEX": 3,
}  # fmt: skip
#: Functions that are no rows of the table, of which the runtime asks (runtime/check/chip.h).
CHECKED_BY_RUNTIME = frozenset({"SetAtomicAdd", "SetAtomicMax", "SetAtomicMin", "SetAtomicType"})
_ALL_MODES = 0x7F
_ENTRY = re.compile(r"(?P<dst>\w+(?: \| \w+)*)(?: from (?P<src>\w+(?: \| \w+)*))?(?:: (?P<modes>\w+(?: \| \w+)*))?")


class Taken(NamedTuple):
    """Element types of dst and of the sources that go together, and the modes with them; all when there are none."""

    dst: str
    src: str
    modes: frozenset[str]


class Absence(NamedTuple):
    """What is not there: a name, or it on these types (``*``: any), or in these modes (one bit each, 0: any)."""

    name: str
    dst: str
    src: str
    modes: int
    message: str


class ColumnFile(Strict):
    """The schema of ``machines/columns/*.yaml``; the first of them explains its fields."""

    architecture: int
    products: str
    calibrated: bool
    sides: frozenset[Literal["vector", "cube"]] = Field(min_length=1)
    macros: dict[str, str]
    no_types: list[str]
    lacks: dict[str, str]
    otherwise: dict[str, str]
    takes: dict[str, list[str]]

    @field_validator("no_types")
    @classmethod
    def _known(cls, names: list[str]) -> list[str]:
        _refuse_unknown(names, types(), "element type")
        return names

    @field_validator("takes")
    @classmethod
    def _readable(cls, takes: dict[str, list[str]]) -> dict[str, list[str]]:
        for entries in takes.values():
            for entry in entries:
                _read(entry)
        return takes


@dataclass(frozen=True)
class Column:
    """The column of one architecture. ``text`` is its file's."""

    file: ColumnFile
    text: str

    @property
    def title(self) -> str:
        """The chips in words."""
        return f"{self.file.products} (NPU architecture {self.file.architecture})"

    @property
    def prelude(self) -> str:
        """What stands in front of a kernel's text: the macros of the architecture."""
        return "".join(
            # an empty value: the architecture does not define the macro
            f"#undef {name}\n" + (f"#define {name} {value}\n" if value else "")
            for name, value in self.file.macros.items()
        )

    def named(self) -> Iterator[str]:
        """Every function that the file names."""
        yield from (*self.file.lacks, *self.file.otherwise, *self.file.takes)

    def lacked(self, name: str) -> str:
        """What is said of a function that the chips lack."""
        instead = self.file.lacks[name].removesuffix(".")
        return f"{name}: {self.title} does not have it; {instead[0].lower()}{instead[1:]}"

    def differs(self, name: str) -> str:
        """What is said of a function that means something else on the chips."""
        return f"{name} on {self.title} is another function, which the twin does not model: {self.file.otherwise[name]}"

    @cached_property
    def absences(self) -> Sequence[Absence]:
        """What the runtime refuses, row by row of the table, then functions that are no rows."""
        rows = {row.name: row for row in instructions()}
        found = [absence for row in rows.values() for absence in self._of_row(row)]
        found += [self._absent(name) for name in self.file.lacks if name in CHECKED_BY_RUNTIME]
        for name, entries in self.file.takes.items():
            if name not in rows:
                taken = {pair.dst for entry in entries for pair in _read(entry)}
                found += [self._untyped(name, dst, "*") for dst in types() if dst not in taken]
        return found

    def lines(self) -> Iterator[str]:
        """The absences as the launch file names them."""
        for absence in self.absences:
            # the message goes to the end of the line: it alone may have blanks
            yield f"lacks {absence.name} {absence.dst} {absence.src} {absence.modes} {absence.message}"

    def _of_row(self, row: Row) -> Iterator[Absence]:
        if row.name in self.file.lacks:
            yield self._absent(row.name)
            return
        pairs = list(dict.fromkeys(row.pairs))
        taken = {(t.dst, t.src): t for entry in self.file.takes.get(row.name, ()) for t in _read(entry)}
        missing = [
            pair for pair in pairs if any(word in self.file.no_types for word in pair) or (taken and pair not in taken)
        ]
        yield from self._untyped_pairs(row.name, pairs, missing)
        for pair, entry in taken.items():
            if entry.modes and pair in pairs:
                allowed = sum(1 << _MODES[mode] for mode in entry.modes)
                yield self._untyped(
                    row.name, *pair, modes=_ALL_MODES & ~allowed, only=sorted(entry.modes, key=_MODES.__getitem__)
                )

    def _untyped_pairs(
        self, name: str, pairs: Sequence[tuple[str, str]], missing: Sequence[tuple[str, str]]
    ) -> Iterator[Absence]:
        """A type is named alone where dst and sources are alike, or where no dst goes with the sources."""
        if all(dst == src for dst, src in pairs):
            yield from (self._untyped(name, dst, "*") for dst, _ in missing)
            return
        for source in dict.fromkeys(src for _, src in missing):
            lost = [dst for dst, src in missing if src == source]
            whole = len(lost) == sum(src == source for _, src in pairs)
            yield from (self._untyped(name, dst, source) for dst in (["*"] if whole else lost))

    def _absent(self, name: str) -> Absence:
        return Absence(name, "*", "*", 0, self.lacked(name))

    def _untyped(self, name: str, dst: str, src: str, *, modes: int = 0, only: Sequence[str] = ()) -> Absence:
        words = " from ".join(dict.fromkeys(type_name(word) for word in (dst, src) if word != "*"))
        words = f"from {words}" if dst == "*" else words
        how = (
            f"has {words} with {', '.join(only)} only"
            if only
            else f"does not have it {'' if dst == '*' else 'for '}{words}"
        )
        return Absence(name, dst, src, modes, f"{name}: {self.title} {how}")


def _read(entry: str) -> Iterator[Taken]:
    """What an entry of ``takes`` says. ValueError when it says nothing that is understood."""
    match = _ENTRY.fullmatch(entry)
    if match is None:
        raise ValueError(f"'{entry}' is not of the form 'DST | DST from SRC | SRC: MODE | MODE'")
    dst, src, modes = (re.findall(r"\w+", match[part] or "") for part in ("dst", "src", "modes"))
    _refuse_unknown([*dst, *src], types(), "element type")
    _refuse_unknown(modes, _MODES, "mode")
    pairs = [(to, of) for to in dst for of in src] if src else [(both, both) for both in dst]
    return (Taken(*pair, frozenset(modes)) for pair in pairs)


def _refuse_unknown(names: Sequence[str], known: Sequence[str] | Mapping[str, int], what: str) -> None:
    unknown = [name for name in names if name not in known]
    if unknown:
        raise ValueError(f"there is no {what} {', '.join(unknown)}; there are {', '.join(known)}")


def columns() -> tuple[str, ...]:
    """Architectures that have a column, by the names of their files."""
    folder = files("npukb_twin") / "machines" / "columns"
    return tuple(sorted(entry.name.removesuffix(".yaml") for entry in folder.iterdir() if entry.name.endswith(".yaml")))


def column_of(core: str) -> Column | None:
    """The column of an architecture; None for the one that the tables are written for. ConfigError when it is wrong."""
    if core not in columns():
        return None
    text = (files("npukb_twin") / "machines" / "columns" / f"{core}.yaml").read_text(encoding="utf-8")
    try:
        return Column(ColumnFile.model_validate(yaml.safe_load(text)), text)
    except (ValidationError, yaml.YAMLError) as error:
        raise ConfigError(f"machine column {core}.yaml is wrong: {error}") from error
