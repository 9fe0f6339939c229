"""A folder of recorded data with a description, ``data.yaml``.

::

    inputs:
      x: {file: input/input_x.bin, dtype: float16, shape: [8, 2048]}
    outputs:
      z: {file: output/golden.bin, dtype: float16, shape: [8, 2048]}
    attributes: {eps: 1.0e-5}
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, NonNegativeInt, ValidationError

from npukb_suites.documents import read_yaml
from npukb_suites.recorded.records import Record, load
from npukernelbench.errors import SourceLocation, TaskError, UsageError

__all__ = ["DESCRIPTION", "Description", "read_described", "read_description"]

DESCRIPTION = "data.yaml"
# Values are taken strictly: YAML has types, and a number in quotes is a text.
_Value = bool | int | float | str | list[bool] | list[int] | list[float]


class _Tensor(BaseModel):
    """One file. A ``.npy`` file says its type and shape itself."""

    model_config = ConfigDict(extra="forbid", strict=True)

    file: str
    dtype: str | None = None
    shape: list[NonNegativeInt] | None = None


class Description(BaseModel):
    """What ``data.yaml`` says; beside a script it may say attributes alone."""

    model_config = ConfigDict(extra="forbid", strict=True)

    inputs: dict[str, _Tensor | None] = Field(default_factory=dict)
    outputs: dict[str, _Tensor] = Field(default_factory=dict)
    attributes: dict[str, _Value] = Field(default_factory=dict)


def read_description(folder: Path) -> Description | None:
    """The description of a folder; None where it has none. TaskError, with the field, where it is wrong."""
    path = folder / DESCRIPTION
    if not path.is_file():
        return None
    document = read_yaml(path)
    try:
        return Description.model_validate(document)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field = ".".join(map(str, first["loc"]))
        raise TaskError(first["msg"], location=SourceLocation(path), field=field or None) from error


def read_described(name: str, folder: Path) -> Record:
    """The case of a folder. UsageError where nothing describes it, TaskError where a file is not as described."""
    told = read_description(folder)
    if told is None:
        raise UsageError(
            f"there is no {DESCRIPTION} in {folder}",
            field="--data",
            remedy="write one (docs/new_from_data.md), or name the script that writes the data with --script",
        )
    for field, listed in (("inputs", told.inputs), ("outputs", told.outputs)):
        if not listed:
            raise TaskError("there is no tensor", location=SourceLocation(folder / DESCRIPTION), field=field)
    return Record(
        name,
        folder,
        {name: None if entry is None else _loaded(folder, entry) for name, entry in told.inputs.items()},
        {name: _loaded(folder, entry) for name, entry in told.outputs.items()},
        told.attributes,
    )


def _loaded(folder: Path, entry: _Tensor) -> Any:
    return load(folder / entry.file, entry.dtype, None if entry.shape is None else tuple(entry.shape))
