"""The tensors of a case: walking over them, and changing all of them alike."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from npukernelbench.nouns import Case, CaseInput, DType, TensorCase, TensorShape, ValueSpec

__all__ = ["all_tensors", "input_tensors", "with_tensors", "with_values"]


def input_tensors(case: Case) -> Iterator[TensorShape]:
    """Every input tensor; the items of a list one by one."""
    for value in case.inputs.values():
        if isinstance(value, TensorCase):
            yield value.tensor
        elif value is not None:
            yield from (item.tensor for item in value)


def all_tensors(case: Case) -> Iterator[TensorShape]:
    """Every input and output tensor."""
    yield from input_tensors(case)
    for value in case.outputs.values():
        yield from (value,) if isinstance(value, TensorShape) else value


def with_tensors(case: Case, change: Callable[[str, TensorShape], TensorShape]) -> Case:
    """The case with ``change(name, tensor)`` in the place of every tensor."""

    def given(name: str, value: CaseInput) -> CaseInput:
        if value is None:
            return None
        if isinstance(value, TensorCase):
            return replace(value, tensor=change(name, value.tensor))
        return tuple(replace(item, tensor=change(name, item.tensor)) for item in value)

    inputs = {name: given(name, value) for name, value in case.inputs.items()}
    outputs = {
        name: change(name, value) if isinstance(value, TensorShape) else tuple(change(name, member) for member in value)
        for name, value in case.outputs.items()
    }
    return replace(case, inputs=inputs, outputs=outputs)


def with_values(case: Case, change: Callable[[str, DType, ValueSpec], ValueSpec]) -> Case:
    """The case with ``change(name, element type, generator)`` in the place of every generator of an input."""

    def drawn(name: str, tensor: TensorCase) -> TensorCase:
        return replace(tensor, values=change(name, tensor.tensor.dtype, tensor.values))

    inputs: dict[str, CaseInput] = {}
    for name, value in case.inputs.items():
        if isinstance(value, tuple):
            inputs[name] = tuple(drawn(name, member) for member in value)
        else:
            inputs[name] = value if value is None else drawn(name, value)
    return replace(case, inputs=inputs)
