"""Facts about a task that predict how hard it is, and the core selection that spans them.

All facts but one follow from the definition; the lines of our golden kernel say how much code a right answer took.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from npukernelbench.nouns import Case, Core, Presence, Task, TensorCase, TensorShape, Track
from npukernelbench.tasks.canary import without_canary
from npukernelbench.tasks.goldens import golden_of, source_files

__all__ = ["Difficulty", "as_json", "derive_core", "difficulty_of", "golden_lines"]

#: By which groups are shared out. Small ones have one task all the same, which makes 40 of our 211 in all.
_SHARED_OUT = 33
_BLOCK_BYTES = 32
# A minus only between spaces: formulas and their words have hyphens, too.
_OPERATION = re.compile(r"[+*/^]|(?<=\s)-(?=\s)|\b[a-z]\w*(?=\()")
_REDUCTION = re.compile(r"\b(?:sum|mean|max|min|prod|norm|argmax|argmin|var|logsumexp)(?:_\w+)?(?=\s*\(| over\b)")


@dataclass(frozen=True, slots=True)
class Difficulty:
    """Counts out of a definition. ``operations`` are signs and functions in the formula, ``reductions`` those that take
    many elements to one; ``ragged`` is the share of public cases with an innermost extent of no whole 32 bytes.
    """

    operations: int
    reductions: int
    tensors: int
    attributes: int
    dtypes: int
    lists: bool
    core: str
    ragged: float

    @property
    def load(self) -> float:
        """One number to order tasks of a group by: what there is to compute and to tell apart."""
        kinds = {Core.VECTOR.value: 0, Core.CUBE.value: 10, Core.MIX.value: 20}
        parts = self.operations + 3 * self.reductions + self.tensors + self.attributes + self.dtypes
        return parts + 5 * self.lists + kinds[self.core] + self.ragged


def difficulty_of(task: Task) -> Difficulty:
    """The facts of one task."""
    dtypes = {dtype for item in task.inputs for dtype in item.dtypes}
    # Smoke cases are ragged by design, and would make every task look so.
    cases = [case for case in task.cases if "smoke" not in case.profiles] or list(task.cases)
    return Difficulty(
        operations=len(_OPERATION.findall(task.formula)),
        reductions=len(_REDUCTION.findall(task.formula)),
        tensors=len(task.inputs) + len(task.outputs),
        attributes=len(task.attributes),
        dtypes=len(dtypes),
        lists=any(item.presence is Presence.DYNAMIC for item in task.inputs),
        core=task.core.value,
        ragged=round(sum(_is_ragged(case) for case in cases) / len(cases), 3),
    )


def golden_lines(task: Task) -> int | None:
    """Lines of our dynamic golden kernel with the headers that it shares, or of the program that it is made of; None
    without one.
    """
    golden = golden_of(task, Track.DYNAMIC)
    if golden is None:
        return None
    folders = (golden.path, *golden.shared)
    files = [path for folder in folders for path in ([folder] if folder.is_file() else source_files(folder))]
    return sum(len(without_canary(path.read_text(encoding="utf-8")).splitlines()) for path in files)


def derive_core(tasks: Sequence[Task]) -> tuple[str, ...]:
    """The core selection: of every category of every suite and level a share of its tasks, rounded, but one at least,
    evenly spaced between the lightest and the heaviest by :attr:`Difficulty.load`; names decide between equals.
    """
    groups: dict[tuple[str, int, str], list[Task]] = defaultdict(list)
    for task in tasks:
        groups[task.suite, task.level, task.category].append(task)
    chosen: list[str] = []
    for members in groups.values():
        ordered = sorted(members, key=lambda task: (difficulty_of(task).load, task.name))
        count = max(1, round(len(ordered) * _SHARED_OUT / len(tasks)))
        # One task stands in the middle; `_spread` needs two ends.
        places = [len(ordered) // 2] if count == 1 else _spread(len(ordered), count)
        chosen += [ordered[place].name for place in places]
    return tuple(sorted(chosen))


def _spread(length: int, count: int) -> list[int]:
    """``count`` places of ``length``, the first and the last among them."""
    return [round(step * (length - 1) / (count - 1)) for step in range(count)]


def _is_ragged(case: Case) -> bool:
    shapes: list[TensorShape] = []
    for value in (*case.inputs.values(), *case.outputs.values()):
        members = value if isinstance(value, tuple) else () if value is None else (value,)
        shapes += [member.tensor if isinstance(member, TensorCase) else member for member in members]
    # A scalar has no last axis, and a tensor of one element no row that could be ragged.
    return any(shape.size > 1 and shape.shape[-1] * shape.dtype.itemsize % _BLOCK_BYTES for shape in shapes)


def as_json(task: Task) -> Mapping[str, object]:
    """The facts by name, for listings."""
    difficulty = difficulty_of(task)
    facts = {name: getattr(difficulty, name) for name in Difficulty.__dataclass_fields__}
    return {**facts, "load": difficulty.load, "golden_lines": golden_lines(task)}
