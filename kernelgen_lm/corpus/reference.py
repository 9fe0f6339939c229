"""References of generated tasks: ``op_<packed question>`` is the function that computes that question's operator."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

from numpy.typing import NDArray

from kernelgen_lm.corpus.movement import Movement
from kernelgen_lm.corpus.program import Kind
from kernelgen_lm.corpus.spec import Spec
from npukernelbench.nouns import Task

__all__ = ["function_of", "reference_of"]

_PREFIX = "op_"


# Python asks a module's own __getattr__ for names that it lacks (PEP 562): every packed question has a reference.
def __getattr__(name: str) -> Callable[..., NDArray[Any]]:
    """The reference that the rest of ``name`` describes. AttributeError when it describes none."""
    if not name.startswith(_PREFIX):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        spec = Spec.unpacked(name.removeprefix(_PREFIX))
    except (ValueError, KeyError) as error:
        # The name holds a whole program.
        raise AttributeError(f"{name[:40]!r} is no packed question") from error
    return reference_of(spec)


def function_of(task: Task) -> str:
    """What a task computes, as :attr:`Spec.function` says it; of a task that is not generated its name."""
    module, _, name = task.reference.partition(":")
    if module != __name__ or not name.startswith(_PREFIX):
        return task.name
    return Spec.unpacked(name.removeprefix(_PREFIX)).function


@cache
def reference_of(spec: Spec) -> Callable[..., NDArray[Any]]:
    """A function of the inputs by name; a program's is for inputs of any shape."""

    def compute(**inputs: NDArray[Any]) -> NDArray[Any]:
        arrays = [inputs[name] for name in spec.names[:-1]]
        if isinstance(spec.body, Movement):
            return spec.body.evaluate([array.reshape(spec.rows, spec.columns) for array in arrays])
        kinds = spec.body.inputs
        shape = next(array.shape for array, kind in zip(arrays, kinds, strict=True) if kind is Kind.FULL)
        asked = replace(spec, shape=shape)
        # A row that all rows share keeps its one axis, which NumPy spreads over them.
        shaped = [
            array if kind is Kind.COL else array.reshape(asked.rows, asked.columns)
            for array, kind in zip(arrays, kinds, strict=True)
        ]
        return spec.body.evaluate(shaped).reshape(asked.result_shape())

    return compute
