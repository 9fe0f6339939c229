"""What a kernel has to read: every byte of the inputs, or, where a result may depend on a part of them only (indices,
slices, groups, pages), what the definition leaves no choice about. That part is named in ``reads.yaml``.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from math import prod

from pydantic import TypeAdapter

from npukernelbench.nouns import Case, CaseInput, Task, TensorCase
from npukernelbench.packaged import packaged_table

__all__ = ["depends_on_part", "needed_bytes"]

_PARTIAL_CATEGORIES = frozenset({"Index", "TensorMove", "TensorCreation", "Condition", "Mask", "Sort"})
_PARTIAL_TAGS = frozenset(
    {
        "index",
        "gather",
        "scatter",
        "slice",
        "selection",
        "select",
        "creation",
        "condition",
        "constant",
        "mask",
        "split",
        "window",
        "padding",
        "paged",
        "grouped",
        "groups",
        "sparse",
        "data_dependent_shape",
        "unread_input",
    }
)
_ALL, _ONE = "all", "one"


def depends_on_part(task: Task) -> bool:
    """Whether the result may depend on a part of the inputs only."""
    return task.category in _PARTIAL_CATEGORIES or bool(task.tags & _PARTIAL_TAGS)


def needed_bytes(task: Task, case: Case) -> Mapping[str, int]:
    """The bytes of each input that every kernel for ``case`` has to read; inputs that may stay unread are missing."""
    if not depends_on_part(task):
        return {name: _bytes(value) for name, value in case.inputs.items()}
    known = _table().get(task.operator, {})
    return {name: _part(task, case, name, how) for name, how in known.items() if case.inputs[name] is not None}


def _part(task: Task, case: Case, name: str, how: str) -> int:
    value = case.inputs[name]
    if how == _ALL:
        return _bytes(value)
    if not isinstance(value, TensorCase):
        raise ValueError(f"reads.yaml: input {name!r} of {task.name} is no single tensor")
    shape, size = value.tensor.shape, value.tensor.dtype.itemsize
    if how == _ONE:
        return prod(shape[1:]) * size
    lengths = case.attributes[how]
    if not isinstance(lengths, tuple):
        raise ValueError(f"reads.yaml: attribute {how!r} of {task.name} is no list")
    return min(int(sum(lengths)) * prod(shape[2:]) * size, value.tensor.nbytes)


def _bytes(value: CaseInput) -> int:
    if value is None:
        return 0
    return sum(tensor.tensor.nbytes for tensor in (value if isinstance(value, tuple) else (value,)))


@lru_cache(maxsize=1)
def _table() -> Mapping[str, Mapping[str, str]]:
    return TypeAdapter(dict[str, dict[str, str]]).validate_python(
        packaged_table("npukernelbench", "judge", "reads.yaml")
    )
