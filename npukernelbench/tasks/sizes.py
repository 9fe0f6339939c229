"""Sizes of a case in bytes, the smallest case of a task, and the largest that a laptop can run."""

from __future__ import annotations

from npukernelbench.nouns import Case, CaseInput, Task, TensorCase, TensorShape

__all__ = ["input_bytes", "largest_case", "output_bytes", "smallest_case"]


def largest_case(task: Task) -> Case:
    """The case with the most bytes of those meant for a laptop; the first of several."""
    cases = [case for case in task.cases if "cpu" in case.profiles] or list(task.cases)
    return max(cases, key=_nbytes)


def smallest_case(task: Task) -> Case:
    """The case with the fewest bytes, inputs and outputs together; the first of several."""
    return min(task.cases, key=_nbytes)


def _nbytes(case: Case) -> int:
    return input_bytes(case) + output_bytes(case)


def input_bytes(case: Case) -> int:
    """Bytes of all input tensors."""
    return sum(tensor.nbytes for entry in case.inputs.values() for tensor in _tensors(entry))


def output_bytes(case: Case) -> int:
    """Bytes of all output tensors."""
    outputs = case.outputs.values()
    return sum(tensor.nbytes for entry in outputs for tensor in ((entry,) if isinstance(entry, TensorShape) else entry))


def _tensors(entry: CaseInput) -> tuple[TensorShape, ...]:
    if entry is None:
        return ()
    return (entry.tensor,) if isinstance(entry, TensorCase) else tuple(member.tensor for member in entry)
