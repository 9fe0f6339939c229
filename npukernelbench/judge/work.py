"""Is the work that a right kernel did commensurate with its task? Told as a warning, and looked at more closely.

The executor says how much its units can have done at most while they were busy (two counters of the profile), the
task's definition how much there is to do at least (:mod:`npukernelbench.judge.operations`). A kernel whose units did
far less has computed elsewhere: with the scalar unit, whose arithmetic the prediction sees in part only, or not at all.
Such a kernel is not rejected, but judged on more inputs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from npukernelbench.judge.operations import least_operations
from npukernelbench.judge.reads import depends_on_part
from npukernelbench.nouns import Case, Diagnostic, Profile, Severity, Task

if TYPE_CHECKING:
    from npukernelbench.nouns.execution import Argument, Array

__all__ = ["CUBE_PRODUCTS", "RULE", "VECTOR_RESULTS", "little_work", "only_moves"]

#: Counters of a profile: bytes that can have left vector instructions, and products that the cube can have formed.
VECTOR_RESULTS, CUBE_PRODUCTS = "vector_result_bytes", "cube_products"
RULE = "lint_little_work"

#: Tags of tasks that compute.
_COMPUTING = frozenset({"elementwise", "reduction", "matmul", "scan", "comparison", "activation"})
_LEAST_SHARE = 0.5
_SMALLEST_BYTES = 4096  # of less, a scalar loop is what an engineer would write
_PRODUCT_BYTES = 2  # a vector instruction forms a product per element


def only_moves(task: Task, inputs: Mapping[str, Argument], expected: Mapping[str, Argument]) -> bool:
    """Whether everything that the outputs hold comes from inputs as it is: data that are moved need no arithmetic.

    A task that says itself that it computes does, even where its values are those of its inputs, as a maximum's are.
    """
    import numpy as np

    if task.tags & _COMPUTING:
        return False
    given: dict[str, list[Array]] = {}
    for array in _arrays(inputs):
        given.setdefault(array.dtype.str, []).append(_bits(array))
    for array in _arrays(expected):
        known = given.get(array.dtype.str)
        if known is None or not np.isin(_bits(array), np.concatenate(known)).all():
            return False
    return True


def _arrays(arguments: Mapping[str, Argument]) -> Iterator[Array]:
    for value in arguments.values():
        if isinstance(value, list):
            yield from value
        elif value is not None:
            yield value


def _bits(array: Array) -> Array:
    """Elements as numbers that compare bit by bit: NaN equals itself."""
    import numpy as np

    flat = np.ascontiguousarray(array).reshape(-1)
    # No unsigned type has 16 bytes: complex128 is compared as it is.
    return flat.view(f"u{flat.dtype.itemsize}") if flat.dtype.itemsize in (1, 2, 4, 8) else flat


def little_work(task: Task, case: Case, profile: Profile | None) -> Diagnostic | None:
    """The warning about a kernel whose units cannot have done half of the task's least work; None otherwise."""
    if profile is None or VECTOR_RESULTS not in profile.counters:
        return None
    least = least_operations(task, case, partial=depends_on_part(task))
    done = profile.counters[VECTOR_RESULTS]
    # Vector cores may multiply matrices, too.
    products = profile.counters.get(CUBE_PRODUCTS, 0.0) + done / _PRODUCT_BYTES
    for what, unit, wanted, possible in (
        ("vector units", "bytes of results", least.vector_bytes, done),
        ("cube units", "products", least.products, products),
    ):
        if wanted > _SMALLEST_BYTES and possible < _LEAST_SHARE * wanted:
            message = f"the {what} can have produced at most {possible:.0f} {unit}; the task needs {wanted:.0f} or more"
            remedy = "Compute with vector or cube instructions; the predicted time of other arithmetic is too short."
            return Diagnostic(Severity.WARNING, RULE, message, remedy=remedy)
    return None
