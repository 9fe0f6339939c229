"""Repositories of kernels that answer tasks: what a plugin needs to read one (hook ``register_repositories``)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol, cast

from npukernelbench.nouns import Candidate, Task

if TYPE_CHECKING:
    from npukernelbench.plugins import Registry
    from npukernelbench.tasks.registry import TaskRegistry
    from npukernelbench.tasks.select import Selected

__all__ = ["Repository", "RepositoryKernel", "repository_at"]


class RepositoryKernel(NamedTuple):
    """A kernel of a repository: ``folder`` is its place, ``task`` has the cases that it is judged on."""

    task: Task
    folder: Path
    candidate: Candidate


class Repository(Protocol):
    """One layout of repositories. Nothing below their folders is written."""

    def recognises(self, root: Path) -> bool:
        """Whether the folder is a checkout with this layout."""

    def kernels(self, root: Path, tasks: TaskRegistry, selected: Sequence[Selected]) -> Iterable[RepositoryKernel]:
        """The kernels of a checkout that answer the selected tasks, in the checkout's order."""


def repository_at(root: Path, repositories: Registry) -> Repository | None:
    """The registered layout that the folder has; None for any other folder."""
    return next((layout for layout in _layouts(repositories) if layout.recognises(root)), None)


def _layouts(repositories: Registry) -> Iterator[Repository]:
    for registration in repositories.values():
        target = registration.load()
        yield cast("Repository", target() if isinstance(target, type) else target)
