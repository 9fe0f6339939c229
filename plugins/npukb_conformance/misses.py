"""Why kernels miss cases, or need the suite's own conditions: data (``misses.yaml``) that has to fit the results.

Every case that is not right under our own conditions has an explanation, and no explanation outlives its case.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import Enum
from importlib.resources import files
from typing import TYPE_CHECKING

from pydantic import Field, ValidationError

from npukernelbench.errors import TaskError
from npukernelbench.nouns import Task
from npukernelbench.strict import Strict

if TYPE_CHECKING:
    from npukb_conformance.sitting import OperatorResult

__all__ = ["Explanation", "Fault", "load_misses", "mismatches"]

_FILE = "misses.yaml"


class Fault(str, Enum):
    """Whose fault a miss is."""

    KERNEL = "kernel"
    REFERENCE = "reference"  # the suite's own
    TWIN = "twin"


class Explanation(Strict):
    """Why cases of an operator are not right under our own conditions, and how we know."""

    cases: tuple[str, ...] = Field(min_length=1)
    fault: Fault
    # A sentence at least: a word or two do not say how we know.
    why: str = Field(min_length=40)


def load_misses() -> Mapping[str, tuple[Explanation, ...]]:
    """The explanations of our own file, by operator. TaskError when it is wrong."""
    import yaml

    document = yaml.safe_load((files(__package__) / _FILE).read_text(encoding="utf-8"))
    try:
        return {
            name: tuple(Explanation.model_validate(explanation) for explanation in entry)
            for name, entry in document.items()
        }
    except (AttributeError, TypeError, ValidationError) as error:
        raise TaskError(f"{_FILE}: {error}") from error


def unknown_names(explanations: Mapping[str, Sequence[Explanation]], tasks: Mapping[str, Task]) -> Iterator[str]:
    """Operators and cases that no task knows."""
    for name, entries in explanations.items():
        # The registry finds names whatever their case; an explanation has to have the task's own.
        if name not in tasks or tasks[name].name != name:
            yield f"{name}: there is no such task"
            continue
        known = {case.id for case in tasks[name].cases}
        explained = [case for entry in entries for case in entry.cases]
        yield from (f"{name}: there is no case {case!r}" for case in explained if case not in known)
        yield from (
            f"{name}: case {case} is explained twice" for case in sorted(set(explained)) if explained.count(case) > 1
        )


def mismatches(results: Iterable[OperatorResult], explanations: Mapping[str, Sequence[Explanation]]) -> Iterator[str]:
    """Cases without an explanation that need one, and with one that need none, among the operators that were judged."""
    for result in results:
        if result.compiled is None:
            continue
        name = result.planned.task.name
        needed = {case.case for case in result.cases if case.conceded or not case.passed}
        given = {case for entry in explanations.get(name, ()) for case in entry.cases}
        if not result.compiles and not given:
            yield f"{name}: it does not compile, and no reason is given"
        yield from (f"{name}: no reason is given why case {case} is not right" for case in sorted(needed - given))
        # With --cases some are not judged, and their reasons stay right.
        judged = {case.case for case in result.cases}
        yield from (f"{name}: case {case} is right but has a reason" for case in sorted(given & judged - needed))
