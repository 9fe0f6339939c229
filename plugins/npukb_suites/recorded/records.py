"""One recorded case: inputs, right outputs and attributes, in the element types of the chip."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from npukernelbench.errors import SourceLocation, TaskError
from npukernelbench.nouns import DType

if TYPE_CHECKING:
    from npukernelbench.nouns.execution import Array

__all__ = ["Record", "dtype_of", "load", "typed"]

_BY_NAME = {dtype.value: dtype for dtype in DType}


@dataclass(frozen=True)
class Record:
    """``folder`` is where it was found; an input that is None is left out."""

    name: str
    folder: Path
    inputs: Mapping[str, Array | None]
    outputs: Mapping[str, Array]
    attributes: Mapping[str, Any] = field(default_factory=dict)

    @property
    def elements(self) -> int:
        """Of all tensors together."""
        return sum(array.size for array in (*self.inputs.values(), *self.outputs.values()) if array is not None)


def dtype_of(array: Array, path: Path) -> DType:
    """The element type. TaskError for one that the chip does not have."""
    known = _BY_NAME.get(array.dtype.name)
    if known is None:
        message = f"elements of {array.dtype.name} are none that the chip has"
        raise TaskError(message, location=SourceLocation(path), remedy=f"types are {', '.join(sorted(_BY_NAME))}")
    return known


def load(path: Path, dtype: str | None, shape: tuple[int, ...] | None) -> Array:
    """A file of numbers: ``.npy``, or raw bytes of a stated type and shape. TaskError where its size is another."""
    place = SourceLocation(path)
    if path.suffix == ".npy":
        try:
            # A pickle would run code of whoever made the file.
            array: Array = np.load(path, allow_pickle=False)
        except (OSError, ValueError) as error:
            raise TaskError(f"it cannot be read: {error}", location=place) from error
        if shape is not None and array.shape != shape:
            raise TaskError(f"it has the shape {list(array.shape)}, not {list(shape)}", location=place)
        return array
    if dtype is None or shape is None:
        raise TaskError("a file of raw bytes needs dtype and shape", location=place, remedy="write both into data.yaml")
    try:
        content = path.read_bytes()
    except OSError as error:
        raise TaskError(f"it cannot be read: {error.strerror}", location=place) from error
    kind = typed(dtype, path)
    need = int(np.prod(shape, dtype=np.int64)) * kind.itemsize
    # Exactly: a file that is too long was written in another type or shape.
    if len(content) != need:
        message = f"it has {len(content)} bytes; {dtype}{list(shape)} has {need}"
        raise TaskError(message, location=place, remedy="correct dtype or shape in data.yaml")
    return np.frombuffer(content, kind).reshape(shape)


def typed(name: str, path: Path) -> np.dtype[Any]:
    """The NumPy type of an element type's name. TaskError for one that the chip does not have."""
    if name not in _BY_NAME:
        raise TaskError(
            f"there is no element type {name!r}",
            location=SourceLocation(path),
            remedy=f"types are {', '.join(sorted(_BY_NAME))}",
        )
    return _BY_NAME[name].numpy()
