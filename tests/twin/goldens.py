"""Golden kernels to try something on: all of the static track, some of the dynamic one, each on its smallest case."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from npukernelbench.generate.extract import candidate_of
from npukernelbench.nouns import Candidate, Case, Observation, Task, Track
from npukernelbench.prompts import golden_kernel
from npukernelbench.tasks.sizes import smallest_case
from tests.suite import suite

__all__ = ["Sample", "contents", "samples"]

#: Every so manieth golden of the dynamic track is tried.
STEP = 12


class Sample(NamedTuple):
    """A golden kernel, specialised for the task's smallest case where it is of the static track."""

    task: Task
    case: Case
    track: Track

    def candidate(self) -> Candidate:
        """Made when it is judged: deriving kernels compiles, which collecting tests should not."""
        return candidate_of(golden_kernel(self.task, self.case, self.track))


def samples(step: int = STEP) -> Iterator[Sample]:
    """The goldens to try, in the order of their tasks' names; of the dynamic track every ``step``-th."""
    tasks = suite()
    dynamic = 0
    for name in sorted(tasks):
        task = tasks[name]
        case = smallest_case(task)
        for golden in task.goldens:
            if golden.track is Track.STATIC or (dynamic := dynamic + 1) % step == 0:
                yield Sample(task, case, golden.track)


def contents(seen: Observation) -> dict[str, list[bytes]]:
    """The bytes of every output."""
    lists = {name: value if isinstance(value, list) else [value] for name, value in seen.outputs.items()}
    return {name: [np.asarray(array).tobytes() for array in arrays] for name, arrays in lists.items()}
