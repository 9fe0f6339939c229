"""The least work of a task beside its traffic: elements that pass through a vector unit, products of the cube unit.

Like the traffic, it follows from the definition, not from a way to compute it. On vector cores every element of a
result leaves an instruction, and an instruction takes in at most three elements for each that it gives out; data that
are only moved need none. Products of matrices are named in ``operations.yaml``. What can be done in more than one way
counts in the cheapest: an element passes at the full rate of its width, whatever the function, and products of float32
count as those of hf32.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from pydantic import Field, TypeAdapter

from npukernelbench.nouns import Case, Core, DType, Task, TensorCase
from npukernelbench.packaged import packaged_table
from npukernelbench.strict import Strict
from npukernelbench.tasks.sizes import input_bytes, output_bytes

__all__ = ["Operations", "least_operations"]

_OPERANDS = 3  # of a vector instruction, at most
_MOVING = frozenset({"TensorMove", "TensorCreation", "Index", "Condition", "Sort"})
_COPY = "copy"  # a tag, and the last word of references that compute nothing


class Operations(NamedTuple):
    """Bytes that leave vector instructions, and multiplications of 16-bit numbers that take the cube as long."""

    vector_bytes: float
    products: float


class _Products(Strict):
    """An entry of ``operations.yaml``."""

    extents: dict[str, str] = Field(min_length=1)
    products: str
    times: int = 1


def least_operations(task: Task, case: Case, *, partial: bool) -> Operations:
    """The least work of ``case``. ``partial``: its result may depend on a part of the inputs only."""
    products = _table().get(task.operator)
    counted = 0.0 if products is None else _products(products, case)
    if task.core is not Core.VECTOR or partial or _only_moves(task):
        return Operations(0.0, counted)
    return Operations(max(output_bytes(case), input_bytes(case) / _OPERANDS), counted)


def _only_moves(task: Task) -> bool:
    return task.category in _MOVING or _COPY in task.tags or task.reference.endswith(f".{_COPY}")


def _products(entry: _Products, case: Case) -> float:
    sizes: dict[str, int] = {}
    width = 1.0
    for position, (name, letters) in enumerate(entry.extents.items()):
        tensor = case.inputs[name]
        if not isinstance(tensor, TensorCase):
            raise ValueError(f"operations.yaml: input {name!r} is no single tensor")
        sizes |= dict(zip(letters.split(), tensor.tensor.shape, strict=True))
        # `operations.yaml` names the input first whose element type the products have.
        if position == 0:
            width = _width(tensor.tensor.dtype)
    total = float(entry.times)
    for letter in entry.products.split():
        total *= sizes[letter]
    return total * width


def _width(dtype: DType) -> float:
    """How long a product takes, in those of 16-bit numbers."""
    # The cube multiplies int8 twice as fast as float16, and hf32 half as fast.
    return {1: 0.5, 2: 1.0}.get(dtype.numpy().itemsize, 2.0)


@lru_cache(maxsize=1)
def _table() -> dict[str, _Products]:
    return TypeAdapter(dict[str, _Products]).validate_python(
        packaged_table("npukernelbench", "judge", "operations.yaml")
    )
