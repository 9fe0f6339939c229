"""The reference of recorded data: it knows the right outputs of the inputs that were recorded, and of no others.

The data lie in the task's folder as raw bytes, ``data/CASE/NAME.bin``. Their digests are part of ``reference.py``,
so that other data are another task.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from npukb_suites.recorded.records import load
from npukernelbench.errors import SourceLocation, TaskError

if TYPE_CHECKING:
    from npukernelbench.nouns.execution import Array

__all__ = ["Recorded"]

Draw = Callable[[str, tuple[int, ...], str, Mapping[str, Any], int], "Array"]


class Recorded:
    """``facts``: by case, of every input (None where it is absent) and output its type, shape and digest."""

    def __init__(self, place: str, facts: Mapping[str, Mapping[str, Any]]) -> None:
        self._place = Path(place)
        self._facts = facts

    def __call__(self, **arguments: Any) -> tuple[Array, ...]:
        """The outputs of the case whose inputs and attributes these are. TaskError where none was recorded."""
        for case, facts in self._facts.items():
            if self._is(case, facts, arguments):
                return tuple(self._wide(self._read(case, name, told)) for name, told in facts["outputs"].items())
        raise TaskError(
            "no right answer was recorded for these inputs",
            location=SourceLocation(self._place),
            remedy="judge on the task's own cases; a reference in Python answers for any",
        )

    def drawing(self, case: str) -> Draw:
        """The inputs of a case, as task files ask for them."""

        def draw(name: str, shape: tuple[int, ...], dtype: str, attributes: Mapping[str, Any], seed: int) -> Array:
            del shape, dtype, attributes, seed
            return self._read(case, name, self._facts[case]["inputs"][name])

        return draw

    def _is(self, case: str, facts: Mapping[str, Any], arguments: Mapping[str, Any]) -> bool:
        # Attributes first, since comparing them costs nothing and tensors have to be read.
        if any(_plain(arguments.get(name)) != value for name, value in facts["attributes"].items()):
            return False
        for name, told in facts["inputs"].items():
            given = arguments[name]
            if told is None or given is None:
                if told is not None or given is not None:
                    return False
            elif list(given.shape) != told[1] or not _alike(given, self._wide(self._read(case, name, told))):
                return False
        return True

    def _read(self, case: str, name: str, told: list[Any]) -> Array:
        dtype, shape, digest = told
        path = self._place.parent / "data" / case / f"{name}.bin"
        changed = path.stat().st_mtime_ns if path.is_file() else 0
        return _content(path, changed, dtype, tuple(shape), digest)

    @staticmethod
    def _wide(array: Array) -> Array:
        """Real floats as references have them: in double precision."""
        exact = array.dtype.kind in "biu" or array.dtype.kind == "c"
        return array if exact else array.astype(np.float64)


# A call looks for its case among all of them, and reads their inputs for that.
@lru_cache(maxsize=64)
def _content(path: Path, changed: int, dtype: str, shape: tuple[int, ...], digest: str) -> Array:
    del changed  # a file that is written again is read again
    array = load(path, dtype, shape)
    if hashlib.sha256(array.tobytes()).hexdigest() != digest:
        raise TaskError(
            "it is not what the task was made of", location=SourceLocation(path), remedy="make the task again"
        )
    return array


def _alike(one: Array, other: Array) -> bool:
    # Recorded inputs may hold NaN, and are the same inputs all the same.
    return bool(np.array_equal(one, other, equal_nan=one.dtype.kind in "fc"))


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value
