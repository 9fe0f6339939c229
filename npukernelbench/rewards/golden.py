"""Right answers out of our own kernels, to check a reward with."""

from __future__ import annotations

from npukernelbench.generate import wrap
from npukernelbench.nouns import Case, Task, Track
from npukernelbench.prompts import golden_kernel
from npukernelbench.tasks.goldens import golden_of

__all__ = ["golden_answer"]


def golden_answer(task: Task, case: Case | None, track: Track) -> str | None:
    """The text of a right answer on ``track``; None where the task has no golden kernel of that track."""
    if golden_of(task, track) is None or (track is Track.STATIC and case is None):
        return None
    files = golden_kernel(task, case, track)
    if track is Track.DYNAMIC:
        return "\n".join(wrap(text, name=name) for name, text in files.items())
    [source] = files.values()
    return wrap(source)
