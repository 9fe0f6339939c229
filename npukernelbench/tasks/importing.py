"""Suites that others wrote: what a plugin needs to make tasks out of a checkout (hook ``register_importers``)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol, cast

if TYPE_CHECKING:
    from npukernelbench.plugins import Registration

__all__ = ["Entry", "Folder", "Importer", "load_importer"]


class Entry(NamedTuple):
    """One operator of a checkout. ``name`` is that of the task to be; ``digest`` changes with what decides it."""

    name: str
    place: Path
    digest: str


class Folder(NamedTuple):
    """The folder of a task: texts by file name, ``task.yaml`` among them; notes say what is not as in the checkout."""

    files: Mapping[str, str]
    notes: tuple[str, ...] = ()


class Importer(Protocol):
    """One layout of suites. Nothing in the checkout is written."""

    def entries(self, root: Path) -> Iterable[Entry]:
        """The operators of a checkout, in its order. UsageError when it is none."""

    def folder(self, suite: str, entry: Entry) -> Folder:
        """The task of one operator. TaskError with the reason where it cannot be one."""

    def close(self) -> None:
        """Give back what the work took."""


def load_importer(registration: Registration) -> Importer:
    """The importer behind a registration: an object, or a class without arguments."""
    target = registration.load()
    return cast("Importer", target() if isinstance(target, type) else target)
