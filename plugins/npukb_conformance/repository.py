"""NPUKernelBench as a repository of kernels that others read: its operators, on the cases that reach their kernels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from npukb_conformance.checkout import Checkout, Variant
from npukb_conformance.dispatch import load_dispatch
from npukb_conformance.sitting import plan
from npukernelbench.tasks import Selected, TaskRegistry
from npukernelbench.tasks.repository import RepositoryKernel

__all__ = ["NPUKernelBench"]


class NPUKernelBench:
    """The layout ``tasks/level1/CATEGORY/OPERATOR/answer``; cases are scaled to what a CPU can afford."""

    def recognises(self, root: Path) -> bool:
        """Whether there is an operator with an answer."""
        return any(root.glob("tasks/level[0-9]*/*/*/answer"))

    def kernels(self, root: Path, tasks: TaskRegistry, selected: Sequence[Selected]) -> Iterator[RepositoryKernel]:
        """The repository's own kernels; those that no case reaches are left out."""
        planned = plan(Checkout(root), tasks, selected, dispatch=load_dispatch(), variant=Variant.ANSWER)
        for entry in planned:
            # Not every operator has an answer, and some kernels are only reached on other chips.
            if entry.candidate is not None and entry.task.cases:
                yield RepositoryKernel(entry.task, entry.operator.folder, entry.candidate)
