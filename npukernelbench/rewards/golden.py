"""Right answers out of our own kernels, to check a reward with."""

from __future__ import annotations

from npukernelbench.generate import wrap
from npukernelbench.nouns import Case, Task, Track
from npukernelbench.prompts import specialise
from npukernelbench.tasks.goldens import read_golden

__all__ = ["golden_answer"]


def golden_answer(task: Task, case: Case | None, track: Track) -> str | None:
    """The text of a right answer on ``track``; None where the task has no golden kernel of that track."""
    golden = next((one for one in task.goldens if one.track is track), None)
    if golden is None:
        return None
    files = read_golden(golden)
    if track is Track.DYNAMIC:
        return "\n".join(wrap(text, name=name) for name, text in files.items())
    if case is None:
        return None
    [source] = files.values()
    return wrap(specialise(task, case, source))
