"""The kernel that a golden kernel is for one question: what a model would have to answer, complete.

On the dynamic and the launch track those are the operator's files. On the static one it is the golden text with the
case's constants in front, or, where there is none, what the maker ``derived`` makes of the dynamic operator for that
case.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import TracebackType

from npukernelbench.errors import TaskError
from npukernelbench.nouns import Case, Golden, Task, Track
from npukernelbench.prompts.specialise import specialise
from npukernelbench.tasks.goldens import DERIVED, golden_of, read_golden
from npukernelbench.tasks.making import Makers, Making
from npukernelbench.tasks.slow import slowed

__all__ = ["GoldenKernels", "golden_kernel"]


class GoldenKernels:
    """Golden kernels by task, case and track. Ask one object for many of them: makers keep what they built until
    ``close``.
    """

    def __init__(self, makers: Makers | None = None) -> None:
        self._makers = makers or Makers()

    def source(self, task: Task, track: Track) -> Golden | None:
        """The golden kernel that serves the track. A dynamic one serves the static, too: tiling becomes constants."""
        own = golden_of(task, track)
        # Tiling becomes constants on the static track; what launches itself has no tiling that could.
        return own if own is not None or track is Track.LAUNCH else golden_of(task, Track.DYNAMIC)

    def kernel(self, task: Task, case: Case | None, track: Track) -> Mapping[str, str]:
        """Texts by name, a candidate of that track; ``case`` may be None on all tracks but the static. TaskError when
        the task has none, or when it cannot be read or made.
        """
        golden = self.source(task, track)
        if golden is None:
            known = " and ".join(golden.track.value for golden in task.goldens)
            raise TaskError(
                f"task {task.name} has no golden kernel for the {track.value} track",
                field="--track",
                remedy=f"it has one for the {known} track" if known else "npukb ls tasks --json says which tasks have",
            )
        if track is not Track.STATIC:
            return read_golden(golden, self._makers)
        if case is None:
            raise ValueError("a kernel of the static track is one for a case")
        if golden.track is Track.STATIC and golden.maker != DERIVED:
            # A static golden kernel is one file, which the case's constants stand in front of.
            [text] = read_golden(golden, self._makers).values()
            return {"kernel.cpp": specialise(task, case, text)}
        operator = golden_of(task, Track.DYNAMIC)
        assert operator is not None  # the loader derives from nothing else
        return self._derived(read_golden(operator, self._makers), operator, task, case)

    def slow_kernel(self, task: Task, case: Case | None, track: Track, names: Sequence[str]) -> Mapping[str, str]:
        """The golden kernel with these de-optimisations; TaskError without one, or where one changes nothing."""
        if track is Track.LAUNCH:
            raise TaskError(
                "slow kernels are made for the static and the dynamic track", field="--track", remedy="leave --slow out"
            )
        operator = golden_of(task, Track.DYNAMIC)
        if operator is None:
            raise TaskError(
                f"task {task.name} has no golden kernel of the dynamic track, which slow ones are made of",
                field="--slow",
                remedy="name another task; npukb ls tasks --json says which have one",
            )
        files = slowed(read_golden(operator, self._makers), names, task.name)
        if track is Track.DYNAMIC:
            return files
        if case is None:
            raise ValueError("a kernel of the static track is one for a case")
        return self._derived(files, operator, task, case)

    def start(self, task: Task, case: Case | None, track: Track) -> Mapping[str, str]:
        """The kernel that a task of optimisation begins with."""
        return self.slow_kernel(task, case, track, task.start)

    def _derived(self, files: Mapping[str, str], operator: Golden, task: Task, case: Case) -> Mapping[str, str]:
        return self._makers.make(DERIVED, Making(files, operator.path, task, case))

    def close(self) -> None:
        """Give back what makers hold."""
        self._makers.close()

    def __enter__(self) -> GoldenKernels:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def golden_kernel(task: Task, case: Case | None, track: Track) -> Mapping[str, str]:
    """:meth:`GoldenKernels.kernel` with the makers of the installed plugins."""
    with GoldenKernels() as kernels:
        return kernels.kernel(task, case, track)
