"""What an answer answers: a task, a case of it, a track. One line of text, so that it fits into any dataset's column.

::

    Sqrt            the static track, the smoke case (or the first)
    Sqrt/0          the static track, case 0
    dynamic:Sqrt    the dynamic track, all public cases
    launch:Sqrt     the launch track, all public cases
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from npukernelbench.errors import UsageError
from npukernelbench.nouns import Case, Task, Track
from npukernelbench.plugins.registry import did_you_mean

__all__ = ["Question", "Resolved", "resolve_question"]


@dataclass(frozen=True, slots=True, order=True)
class Question:
    """A task by name, a case by id (empty: the usual one; none on tracks whose answers are for all), a track."""

    task: str
    case: str = ""
    track: Track = Track.STATIC

    @classmethod
    def parse(cls, text: str) -> Question:
        """Read ``[static:|dynamic:|launch:]TASK[/CASE]``. UsageError when it is none."""
        head, colon, rest = text.strip().partition(":")
        track = Track.STATIC
        if colon:
            if head not in (track.value for track in Track):
                raise UsageError(
                    f"{head!r} is no track",
                    field="question",
                    remedy=f"write static:{rest}, dynamic:{rest} or launch:{rest}",
                )
            track = Track(head)
        name, _, case = (rest if colon else head).partition("/")
        if not name:
            raise UsageError(
                f"{text!r} names no task", field="question", remedy="write TASK, TASK/CASE or dynamic:TASK"
            )
        if case and not track.per_case:
            raise UsageError(
                f"{text!r} names a case, but a {track.value} answer is for all",
                field="question",
                remedy=f"{track.value}:{name}",
            )
        return cls(name, case, track)

    def __str__(self) -> str:
        prefix = "" if self.track is Track.STATIC else f"{self.track.value}:"
        return f"{prefix}{self.task}{'/' + self.case if self.case else ''}"


@dataclass(frozen=True, slots=True)
class Resolved:
    """A question with its task and the cases that an answer is judged on."""

    question: Question
    task: Task
    cases: tuple[Case, ...]

    @property
    def case(self) -> Case | None:
        """The one case of the static track."""
        return self.cases[0] if self.question.track is Track.STATIC else None


def resolve_question(
    tasks: Mapping[str, Task], question: Question, hidden: Mapping[str, tuple[Case, ...]] | None = None
) -> Resolved:
    """Find task and cases; the question that comes back is spelled out in full. UsageError for unknown names.

    ``hidden`` are further cases by task name: they can be named, and belong to every dynamic answer.
    """
    if question.task not in tasks:
        raise UsageError(
            f"there is no task {question.task!r}",
            field="question",
            remedy=did_you_mean(question.task, tuple(tasks)) or "see npukb ls tasks",
        )
    task = tasks[question.task]
    more = (hidden or {}).get(task.name, ())
    if not question.track.per_case:
        return Resolved(Question(task.name, "", question.track), task, (*task.cases, *more))
    cases = (*task.cases, *more)
    case = next((known for known in cases if known.id == question.case), None) if question.case else task.usual_case
    if case is None:
        known = ", ".join(case.id for case in cases[:12])
        raise UsageError(
            f"task {task.name} has no case {question.case!r}", field="question", remedy=f"cases begin with {known}"
        )
    return Resolved(Question(task.name, case.id, question.track), task, (case,))
