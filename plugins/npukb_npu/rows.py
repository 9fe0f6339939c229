"""Micro-kernels of the calibration: the rows of ``microkernels``, and the source that each becomes.

A row is something that cores do again and again. ``cost`` says of which numbers of a machine file its time consists.
The same rows, where something is published about them, are what ``benchmarks/calibration`` compares the twin with. Not
yet run on hardware.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from functools import cache
from importlib.resources import files
from typing import Any

from pydantic import Field

from npukernelbench.nouns import Core
from npukernelbench.nouns.machine import DEFAULT_MACHINE
from npukernelbench.packaged import packaged_table
from npukernelbench.strict import Strict

__all__ = ["Enters", "Row", "Table", "kernel_text", "table"]

#: Of the folder ``microkernels``: what is fitted, rows with published figures, rows without.
_FILES = ("numbers.yaml", "rows.yaml", "probes.yaml")
_CUBE_KERNELS = frozenset({"cube", "copy_l1"})
#: Bytes of the tensors: for one core, and where all cores have parts of their own.
_ONE_BYTES, _ALL_BYTES = (1 << 20, 1 << 18), (1 << 24, 1 << 24)


class Enters(str, Enum):
    """How a number enters the time of a row: as a time, as a rate, or as a factor."""

    CYCLES = "cycles"
    SECONDS = "s"
    BYTES_PER_SECOND = "B/s"
    BYTES_PER_CYCLE = "B/cycle"
    ELEMENTS_PER_CYCLE = "elements/cycle"
    PRODUCTS = "products"
    FACTOR = "ratio"
    DIVISOR = "1/ratio"

    @property
    def unit(self) -> str:
        """The unit in machine files."""
        return "ratio" if self is Enters.DIVISOR else self.value

    def value_of(self, share: float, clock_hz: float) -> float:
        """The number of which one costs ``share``: seconds, or seconds per second for factors."""
        if self is Enters.CYCLES:
            return share * clock_hz
        if self in (Enters.SECONDS, Enters.FACTOR):
            return share
        if self in (Enters.BYTES_PER_SECOND, Enters.DIVISOR):
            return 1 / share
        return 1 / (share * clock_hz)


class Row(Strict):
    """One row. What is published about it is there where ``published`` is; see the head of the file for all fields."""

    what: str
    body: str
    type: str
    dst: str = ""
    kernel: str = "loop"
    core: Core | None = None
    setup: str = ""
    x: int = 0
    # 256 bytes off, so that it shares no bank group with `x`
    y: int = 65536 + 256
    z: int = 131072
    side: int = 16
    depth: int = 0
    rounds: tuple[int, int] | None = None
    counts: tuple[int, int] = (4096, 8192)
    cores: str | int = 1
    share: int = 0
    whole: bool = False
    cost: dict[str, float | str] = Field(default_factory=dict)
    rate: str = ""
    section: str = ""
    published: float | None = None
    unit: str = ""
    source: str = ""
    grade: str = ""
    soc: str = ""
    per_count: bool = False
    than: str = ""
    times: int = 0

    @property
    def runs_on(self) -> Core:
        """The kind of core."""
        return self.core or (Core.CUBE if self.kernel in _CUBE_KERNELS else Core.VECTOR)

    @property
    def is_measured(self) -> bool:
        """Whether a number follows from it."""
        return bool(self.cost or self.rate)

    @property
    def tensor_bytes(self) -> tuple[int, int]:
        """Sizes of the kernel's input and output."""
        return _ALL_BYTES if self.share else _ONE_BYTES

    def macros(self, body: str = "") -> dict[str, object]:
        """What the kernel's text leaves open; ``body`` in the place of the row's own."""
        sums = "float" if self.kernel == "cube" else self.type
        values = {
            "UB_BYTES": DEFAULT_MACHINE.ub_usable_bytes,
            "TYPE": self.type, "DST": self.dst or sums, "X": self.x, "Y": self.y, "Z": self.z, "SETUP": self.setup,
            "SIDE": self.side, "DEPTH": self.depth or self.side, "BODY": body or self.body,
        }  # fmt: skip
        cores = "GetBlockNum()" if self.cores == "all" else self.cores
        return values if cores == 1 else {**values, "CORES": cores, "SHARE": self.share}

    def source_text(self) -> str:
        """The whole kernel."""
        lines = [f"#define {name} {value}" for name, value in self.macros().items()]
        return "\n".join([*lines, kernel_text(self.kernel)])


class Table(Strict):
    """The files: rows with published figures, rows without, and what is fitted to both."""

    numbers: dict[str, Enters]
    unmeasured: dict[str, str]
    rows: tuple[Row, ...]
    probes: tuple[Row, ...]
    excluded: tuple[Mapping[str, str], ...]

    @property
    def measured(self) -> tuple[Row, ...]:
        """Rows from which numbers follow."""
        return tuple(row for row in (*self.rows, *self.probes) if row.is_measured)

    def enters(self, number: str) -> Enters:
        """How a number, or the throughput of an instruction such as ``Add.b16``, enters the time."""
        return Enters.ELEMENTS_PER_CYCLE if "." in number else self.numbers[number]

    def rows_of(self, number: str) -> tuple[Row, ...]:
        """The rows whose time depends on a number."""
        return tuple(row for row in self.measured if number in row.cost or number == row.rate)


@cache
def table() -> Table:
    """The files as they are shipped."""
    parts: Any = [packaged_table("npukb_npu", "microkernels", name) for name in _FILES]
    return Table.model_validate({key: value for part in parts for key, value in part.items()})


def kernel_text(name: str) -> str:
    """The text of a micro-kernel, without its macros."""
    return (files("npukb_npu") / "microkernels" / f"{name}.cpp").read_text(encoding="utf-8")
