"""Every exception of the harness, in one tree.

::

    NpukbError                  owner   exit
    ├── UsageError              user     2    the command line asks for something that does not exist
    ├── ConfigError             user     3    a configuration value is wrong
    ├── TaskError               task     3    a task file, case or reference is wrong
    ├── PluginError             user     3    a plugin that the run needs is broken, missing or incompatible
    ├── StoreError              infra    4    a result cannot be saved or read back
    ├── ToolchainError          infra    4    no usable compiler, or the twin's runtime cannot be built
    ├── ExecutorError           infra    4    an executor failed for a reason that is not the candidate's
    └── BackendError            infra    4    a model could not be asked

A candidate's failure is never an exception: it is data, a :class:`~npukernelbench.nouns.Verdict`. What is raised here
is a fault of the harness, of its surroundings, or of what the user asked for. ``exit_code`` is the process exit code
of ``npukb``.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from npukernelbench.nouns.outcomes import Owner

__all__ = [
    "BackendError",
    "ConfigError",
    "ExecutorError",
    "NpukbError",
    "PluginError",
    "SourceLocation",
    "StoreError",
    "TaskError",
    "ToolchainError",
    "UsageError",
]


@dataclass(frozen=True, slots=True)
class SourceLocation:
    """A place in a file the user can open. ``line`` and ``column`` count from 1; 0 means unknown."""

    path: Path
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        parts = [str(self.path)]
        if self.line:
            parts.append(str(self.line))
            if self.column:
                parts.append(str(self.column))
        return ":".join(parts)


class NpukbError(Exception):
    """Base of all harness errors.

    ``message`` says what is wrong, ``remedy`` what to do about it, ``location`` where, ``field`` the dotted name of the
    offending field, if any. ``detail`` is what only an author needs, such as a traceback; ``-v`` shows it.
    """

    owner: ClassVar[Owner] = Owner.INFRA
    exit_code: ClassVar[int] = 4

    def __init__(
        self,
        message: str,
        *,
        location: SourceLocation | None = None,
        field: str | None = None,
        remedy: str | None = None,
        detail: str = "",
    ) -> None:
        super().__init__(message)
        self.message = message
        self.location = location
        self.field = field
        self.remedy = remedy
        self.detail = detail

    def __str__(self) -> str:
        where = f"{self.location}: " if self.location else ""
        field = f"{self.field}: " if self.field else ""
        remedy = f"\n  remedy: {self.remedy}" if self.remedy else ""
        return f"{where}{field}{self.message}{remedy}"


class UsageError(NpukbError):
    """The command line asks for something that does not exist or does not fit together."""

    owner = Owner.USER
    exit_code = 2


class ConfigError(NpukbError):
    """A configuration file, environment variable or option holds a wrong value."""

    owner = Owner.USER
    exit_code = 3


class TaskError(NpukbError):
    """A task file, one of its cases, or its reference is wrong."""

    owner = Owner.TASK
    exit_code = 3


class PluginError(NpukbError):
    """A plugin that the run needs is broken, missing or made for another API version."""

    owner = Owner.USER
    exit_code = 3


class StoreError(NpukbError):
    """A result cannot be saved, or a saved one cannot be read."""


class ToolchainError(NpukbError):
    """There is no usable compiler, or the runtime library cannot be built with it."""


class ExecutorError(NpukbError):
    """An executor failed for a reason that is not the candidate's."""


class BackendError(NpukbError):
    """A model could not be asked: the server, the network, the credentials or the checkpoint are at fault."""
