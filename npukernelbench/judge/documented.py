"""What an executor can say about the interface that it offers to kernels, for people and agents who write them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Protocol, runtime_checkable

__all__ = ["ApiEntry", "ApiStatus", "Documented", "RuleEntry"]


class ApiStatus(str, Enum):
    """Whether a kernel may use a name here."""

    OFFERED = "offered"  # kernels that use it compile
    GAP = "gap"  # documented, but this executor does not have it yet
    OTHER_CHIP = "other_chip"  # documented for other chips only


@dataclass(frozen=True, slots=True)
class ApiEntry:
    """One name. ``declarations`` are lines of C++, ``notes`` sentences, ``usage`` calls with the unit of each
    parameter, what goes wrong, an idiom; each is empty where nothing is known."""

    name: str
    status: ApiStatus
    header: str = ""
    declarations: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    usage: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RuleEntry:
    """One rule that kernels must keep: how a breach counts here, and what it does on the device."""

    rule: str
    severity: str
    consequence: str


@runtime_checkable
class Documented(Protocol):
    """An executor that documents its interface and its rules. Optional."""

    def api_names(self) -> Sequence[str]:
        """Every name that :meth:`api_entry` knows, sorted."""
        ...

    def api_status(self, name: str) -> ApiStatus | None:
        """Whether a kernel may use a name; None when nothing is known about it. Cheap, for lists."""
        ...

    def api_entry(self, name: str) -> ApiEntry | None:
        """What is known about a name; None when nothing is."""
        ...

    def rule_entries(self) -> Sequence[RuleEntry]:
        """Every rule that the executor checks."""
        ...
