"""Devices as the runtime numbers them and as the rest of the machine does, and the names of their chips.

The runtime counts the devices that a process may see: an index after ``ASCEND_RT_VISIBLE_DEVICES``. A container sees
nodes with other numbers, and ``npu-smi`` counts cards, of which one of an A3 server has two chips. Locks go by the
node, the only number that all processes of a machine share. Not yet run on hardware.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from npukernelbench.errors import ToolchainError

__all__ = ["Device", "chip_name", "compute_unit", "devices_of", "visible"]

#: A tool's words to its output; empty where it cannot be run.
Ask = Callable[[Sequence[str]], str]


@dataclass(frozen=True, slots=True)
class Device:
    """One device that this process may use."""

    index: int  # for the runtime
    node: int  # /dev/davinciN
    card: int  # for npu-smi
    chip: int


def devices_of(nodes: Sequence[int], named: str | None, mapping: str) -> tuple[Device, ...]:
    """The devices behind ``nodes`` of which ``ASCEND_RT_VISIBLE_DEVICES`` shows those ``named``. ``mapping`` is what
    ``npu-smi info -m`` prints; without it every device counts as a card of its own.
    """
    places = _places(mapping)
    seen = visible(named, len(nodes))
    return tuple(
        Device(index, sorted(nodes)[logical], *places.get(logical, (logical, 0))) for index, logical in enumerate(seen)
    )


def visible(named: str | None, count: int) -> tuple[int, ...]:
    """Logical numbers that the variable lets through: up to the first entry that is no number of a device."""
    if named is None:
        return tuple(range(count))
    numbers: list[int] = []
    for entry in named.split(","):
        number = re.match(r"\d+", entry)
        if number is None or int(number[0]) >= count:
            break
        numbers.append(int(number[0]))
        # a number with something behind it still counts, and is the last one
        if number[0] != entry:
            break
    return tuple(numbers)


def _places(mapping: str) -> dict[int, tuple[int, int]]:
    """Card and chip by logical number; columns are found by their names, microcontrollers have no number."""
    header: list[str] = []
    chips: dict[int, tuple[int, int]] = {}
    for line in mapping.splitlines():
        # names of columns hold single blanks
        cells = [cell for cell in re.split(r"\s{2,}|\t", line.strip()) if cell]
        if "NPU ID" in cells and "Chip ID" in cells:
            header = cells
            continue
        row = dict(zip(header, cells, strict=False))
        logical = row.get("Chip Logic ID", "")
        if logical.isdigit():
            chips[int(logical)] = (int(row["NPU ID"]), int(row["Chip ID"]))
    return chips


def chip_name(board: str) -> str:
    """The chip out of ``npu-smi info -t board``: ``910B3`` on A2; ``910_9392`` on A3, whose Chip Name is ``Ascend910``
    and whose NPU Name tells the rest. Empty when it says neither.
    """
    fields = dict(re.findall(r"(?m)^\s*(Chip Name|NPU Name)\s*:\s*(\S+)", board))
    name = fields.get("Chip Name", "").removeprefix("Ascend")
    return f"{name}_{fields['NPU Name']}" if name == "910" and fields.get("NPU Name") else name


def compute_unit(chip: str) -> str:
    """The family under which operators are registered for a chip. ToolchainError for a chip of neither family."""
    if re.match(r"(?i)(ascend)?910_?(93|C)", chip):
        return "ascend910_93"
    if re.match(r"(?i)(ascend)?910B", chip):
        return "ascend910b"
    raise ToolchainError(
        f"operators are built for 910B and 910_93 chips, not for {chip or 'one without a name'}",
        remedy="look at Chip Name and NPU Name of npu-smi info -t board -i CARD -c CHIP",
    )
