"""Slots between a trainer and the judge: a model that reads slots is asked in slots, and its answers are filled."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kernelgen_lm.formulas.slots import SLOTS, fill, slotted
from npukernelbench.nouns import Message

__all__ = ["Reading", "copy_slots", "in_slots"]

Row = Mapping[str, Any]


class Reading:
    """What the judge reads of a model's answer: the text, with names for the slots where a question has some."""

    def __init__(self, names: Mapping[str, Mapping[str, str]]) -> None:
        self._names = names

    def __call__(self, question: str, text: str) -> str:
        """The answer to ``question``, which is what the column npukb_task says."""
        return fill(text, self._names[question]) if question in self._names else text


def in_slots(model: str, rows: Sequence[Row]) -> tuple[list[Row], Reading]:
    """The rows as the model reads them, and how its answers are read: as they are unless the checkpoint knows slots.

    Of questions that are equal in slots the first is kept.
    """
    if not (Path(model) / SLOTS).is_file():
        return list(rows), Reading({})
    kept: dict[str, Row] = {}
    names: dict[str, Mapping[str, str]] = {}
    for row in rows:
        slots = slotted([Message(message["role"], message["content"]) for message in row["prompt"]])
        if slots is not None and slots.text not in kept:
            kept[slots.text] = {**row, "prompt": [{"role": "user", "content": slots.text}]}
            names[row["npukb_task"]] = slots.names
    return list(kept.values()), Reading(names)


def copy_slots(model: str, folder: Path) -> None:
    """Say of a trained model that it reads slots, if the one that it began from does."""
    if (Path(model) / SLOTS).is_file():
        shutil.copyfile(Path(model) / SLOTS, folder / SLOTS)
