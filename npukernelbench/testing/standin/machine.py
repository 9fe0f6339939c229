"""What ``npu-smi`` says on the stand-in's machine: cards, chips and their names, as A2 and A3 servers print them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum

__all__ = ["Chip", "Machine"]


class Chip(Enum):
    """Chip Name and NPU Name; A2 has no NPU Name."""

    B3 = ("910B3", "")
    A3 = ("Ascend910", "9392")
    P3 = ("310P3", "")  # of another family, for which no operators are built


@dataclass(frozen=True)
class Machine:
    """Cards with chips. ``cards`` are the numbers of ``npu-smi``, each with ``per_card`` chips for computing."""

    chip: Chip = Chip.B3
    cards: tuple[int, ...] = (0,)
    per_card: int = 1
    ill: frozenset[tuple[int, int]] = field(default_factory=frozenset)  # card and chip

    @property
    def chips(self) -> tuple[tuple[int, int], ...]:
        """Card and chip of every device, in the order of their logical numbers."""
        return tuple((card, chip) for card in self.cards for chip in range(self.per_card))

    def ask(self, command: Sequence[str]) -> str:
        """What a tool prints; nothing for what it does not know."""
        words = list(command)
        if words == ["cmake", "--version"]:
            return "cmake version 3.25.1\n"
        if words[:2] != ["npu-smi", "info"]:
            return ""
        if words[2:] == ["-l"]:
            return "".join(_line("NPU ID", card) for card in self.cards)
        if words[2:] == ["-m"]:
            return self._mapping()
        options = dict(zip(words[2::2], words[3::2], strict=False))
        if "-i" not in options or int(options["-i"]) not in self.cards:
            return ""
        card, chip = int(options["-i"]), int(options.get("-c", "0"))
        if options.get("-t") == "health":
            return _line("Health", "Alarm" if (card, chip) in self.ill else "OK")
        return self._board(card, chip) if options.get("-t") == "board" and "-c" in options else ""

    def _mapping(self) -> str:
        """``npu-smi info -m``; A2 cards list their microcontroller as one more chip."""
        name = "Ascend " + self.chip.value[0].removeprefix("Ascend")
        rows = [("NPU ID", "Chip ID", "Chip Logic ID", "Chip Name")]
        for logic, (card, chip) in enumerate(self.chips):
            rows.append((str(card), str(chip), str(logic), name))
            if chip == self.per_card - 1 and self.chip is not Chip.A3:
                # Readers of the mapping must leave this row out: it is no device, and has no logical number.
                rows.append((str(card), str(self.per_card), "-", "Mcu"))
        return "".join("\t" + "".join(f"{cell:<31}" for cell in row) + "\n" for row in rows)

    def _board(self, card: int, chip: int) -> str:
        name, npu = self.chip.value
        if chip >= self.per_card:
            return _line("Chip Type", "mcu") + _line("Chip Name", "MCU")
        # Only A3 servers have the second name, so that readers cannot rely on it.
        second = _line("NPU Name", npu) if npu else _line("Chip Type", "Ascend")
        return _line("NPU ID", card) + second + _line("Chip ID", chip) + _line("Chip Name", name)


def _line(name: str, value: object) -> str:
    return f"\t{name:<31}: {value}\n"
