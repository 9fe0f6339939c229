"""Machine files: one SoC's numbers, each with unit, source and grade."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from importlib.resources import files
from typing import Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from npukernelbench.errors import ConfigError, UsageError
from npukernelbench.nouns import Core

__all__ = ["Machine", "available", "load"]


class Number(BaseModel):
    """A quantity and how it is known. Grades: A documented, B measured, C second-hand, D derived, E assumed."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    value: float
    unit: str
    source: str
    grade: Literal["A", "B", "C", "D", "E"]


class Cores(BaseModel):
    """How many cores of each kind a launch can use."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    cube: Number
    vector: Number


class MachineFile(BaseModel):
    """The schema of ``machines/*.yaml``."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    description: str
    cores: Cores
    numbers: dict[str, Number] = Field(min_length=1)


@dataclass(frozen=True, slots=True)
class Machine:
    """One SoC. ``numbers`` are in the units of the file; ``digest`` identifies its content."""

    name: str
    description: str
    cube_cores: int
    vector_cores: int
    numbers: Mapping[str, float]
    digest: str

    def blocks(self, core: Core) -> int:
        """Blocks of a launch that uses every core of one kind."""
        return self.vector_cores if core is Core.VECTOR else self.cube_cores


def available() -> tuple[str, ...]:
    """Names that :func:`load` accepts."""
    folder = files("npukb_twin") / "machines"
    return tuple(sorted(entry.name.removesuffix(".yaml") for entry in folder.iterdir() if entry.name.endswith(".yaml")))


def load(soc: str) -> Machine:
    """The machine file of ``soc``. UsageError when there is none, ConfigError when it is wrong."""
    name = soc.lower().replace("-", "_")
    if name not in available():
        raise UsageError(
            f"no machine file for SoC {soc!r}", field="soc", remedy=f"choose one of: {', '.join(available())}"
        )
    text = (files("npukb_twin") / "machines" / f"{name}.yaml").read_text(encoding="utf-8")
    try:
        data = MachineFile.model_validate(yaml.safe_load(text))
    except ValidationError as error:
        raise ConfigError(f"machine file {name}.yaml is wrong: {error}") from error
    return Machine(
        name=data.name,
        description=data.description,
        cube_cores=int(data.cores.cube.value),
        vector_cores=int(data.cores.vector.value),
        numbers={key: number.value for key, number in data.numbers.items()},
        digest=sha256(text.encode()).hexdigest()[:16],
    )
