"""Machine files: one SoC's numbers, each with unit, source and grade. What SoCs share lies in ``machines/cores``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import Literal

import yaml
from pydantic import Field, TypeAdapter, ValidationError, model_validator

from npukb_twin.compile.columns import Column, column_of
from npukb_twin.compile.instructions import instructions
from npukb_twin.compile.kinds import Composition
from npukb_twin.timing.intervals import Residuals
from npukernelbench.errors import ConfigError, UsageError
from npukernelbench.judge.roofline import Roof
from npukernelbench.packaged import packaged_table
from npukernelbench.strict import Strict

__all__ = ["PRODUCTS", "VECTOR_BYTES", "Machine", "available", "documented_rates", "load"]


VECTOR_BYTES = 256  # a vector core's results per cycle, at most
PRODUCTS = 16 * 16 * 16  # a cube core's products of 16-bit numbers per cycle


class Number(Strict):
    """A quantity and how it is known. Grades: A documented, B measured, C second-hand, D derived, E assumed."""

    value: float
    unit: str
    source: str
    grade: Literal["A", "B", "C", "D", "E"]


class Cores(Strict):
    """How many cores of each kind a launch can use."""

    cube: Number
    vector: Number


class Peaks(Strict):
    """What no kernel can exceed."""

    memory_bytes_per_s: Number
    cache_bytes_per_s: Number


class MachineFile(Strict):
    """The schema of ``machines/*.yaml``. ``numbers`` extend and replace those of the file in ``machines/cores`` that
    ``core`` names. What the chips of that core lack of the tables, its file in ``machines/columns`` says.
    """

    name: str
    description: str
    core: str
    cores: Cores
    peaks: Peaks
    numbers: dict[str, Number] = Field(min_length=1)


class Overlay(Strict):
    """The schema of a file that replaces numbers of a packaged one, such as ``npukb calibrate`` writes.

    ``rates``: elements per cycle of vector instructions, ``Add.b16`` for types of up to 16 bits and ``Add.b32`` for
    those of 32, in the place of what the instruction table says. ``residuals``: how far kernels measured on this very
    machine were from what was predicted.
    """

    name: str
    description: str
    extends: str
    numbers: dict[str, Number] = Field(default_factory=dict)
    rates: dict[str, Number] = Field(default_factory=dict)
    residuals: Residuals | None = None

    @model_validator(mode="after")
    def _says_something(self) -> Overlay:
        if not self.numbers and self.residuals is None:
            raise ValueError("it holds neither numbers nor residuals")
        return self


_SHARED: TypeAdapter[dict[str, Number]] = TypeAdapter(dict[str, Number])


@dataclass(frozen=True, slots=True)
class Machine:
    """One SoC. ``numbers`` in the units of the file, ``grades`` how each is known, ``digest`` for both.

    ``chip``: the packaged machine that it is or extends. ``rates``: throughputs that replace those of the instruction
    table; see :class:`Overlay`. ``column``: what the chip has of the tables; None where they are written for it.
    """

    name: str
    description: str
    chip: str
    cube_cores: int
    vector_cores: int
    numbers: Mapping[str, float]
    grades: Mapping[str, str]
    roof: Roof
    digest: str
    rates: Mapping[str, float] = field(default_factory=dict)
    residuals: Residuals | None = None
    column: Column | None = None

    @property
    def calibrated(self) -> bool:
        """Whether anything was measured that says how far predicted times may be off."""
        return self.residuals is not None or self.column is None or self.column.file.calibrated

    @property
    def label(self) -> str:
        """The machine as profiles name it, which is how every table and page of times does."""
        return self.name if self.calibrated else f"{self.name} (uncalibrated)"

    def blocks(self, composition: Composition) -> int:
        """Blocks of a launch that uses every core it can: each has the cores of ``composition``."""
        kinds = ((self.cube_cores, composition.cubes), (self.vector_cores, composition.vectors))
        # a kind of core that a block has none of bounds nothing
        return min(there // wanted for there, wanted in kinds if wanted)


def available() -> tuple[str, ...]:
    """Names that :func:`load` accepts."""
    folder = files("npukb_twin") / "machines"
    return tuple(sorted(entry.name.removesuffix(".yaml") for entry in folder.iterdir() if entry.name.endswith(".yaml")))


def documented_rates() -> dict[str, float]:
    """Elements per cycle of every vector instruction, ``Add.b16`` and ``Add.b32``, as its instruction table says."""
    return {
        f"{row.name}.b{bits}": float(rate)
        for row in instructions()
        for bits, rate in ((16, row.rate16), (32, row.rate32))
        if rate
    }


def load(soc: str) -> Machine:
    """The machine file of ``soc``, a name or a path. UsageError when there is none, ConfigError when it is wrong."""
    return _found(soc, frozenset())


def _found(soc: str, extending: frozenset[Path]) -> Machine:
    if soc.endswith((".yaml", ".yml")):
        return _extended(Path(soc), extending)
    # the toolkit writes Ascend910B4-1
    name = soc.lower().replace("-", "_")
    if name not in available():
        raise UsageError(
            f"no machine file for SoC {soc!r}", field="soc", remedy=f"choose one of: {', '.join(available())}"
        )
    return _packaged(name)


@cache
def _packaged(name: str) -> Machine:
    """Every executor asks for one, and most processes for the same."""
    folder = files("npukb_twin") / "machines"
    text = (folder / f"{name}.yaml").read_text(encoding="utf-8")
    try:
        data = MachineFile.model_validate(packaged_table("npukb_twin", "machines", f"{name}.yaml"))
        shared = (folder / "cores" / f"{data.core}.yaml").read_text(encoding="utf-8")
        common = packaged_table("npukb_twin", "machines", "cores", f"{data.core}.yaml")
        numbers = _SHARED.validate_python(common) | data.numbers
    except (ValidationError, FileNotFoundError) as error:
        raise ConfigError(f"machine file {name}.yaml is wrong: {error}") from error
    column = column_of(data.core)
    return Machine(
        name=data.name,
        description=data.description,
        chip=data.name,
        cube_cores=int(data.cores.cube.value),
        vector_cores=int(data.cores.vector.value),
        numbers={key: number.value for key, number in numbers.items()},
        grades={key: number.grade for key, number in numbers.items()},
        roof=Roof(
            data.peaks.memory_bytes_per_s.value,
            data.peaks.cache_bytes_per_s.value,
            numbers["l2_bytes"].value,
            data.cores.vector.value * VECTOR_BYTES * numbers["clock_hz"].value,
            data.cores.cube.value * PRODUCTS * numbers["clock_hz"].value,
        ),
        digest=sha256((text + shared + (column.text if column else "")).encode()).hexdigest()[:16],
        column=column,
    )


def _extended(path: Path, extending: frozenset[Path]) -> Machine:
    """A machine with the numbers of a file of the user's in place; the files of ``extending`` extend this one."""
    if path.resolve() in extending:
        raise ConfigError(f"machine file {path} extends itself", remedy="name a packaged machine under extends")
    try:
        text = path.read_text(encoding="utf-8")
        overlay = Overlay.model_validate(yaml.safe_load(text))
    except OSError as error:
        raise UsageError(f"machine file {path} cannot be read: {error.strerror}", field="soc") from error
    except (ValidationError, yaml.YAMLError) as error:
        raise ConfigError(f"machine file {path} is wrong: {error}") from error
    base = _found(overlay.extends, extending | {path.resolve()})
    unknown = sorted(
        (overlay.numbers.keys() - base.numbers.keys()) | (overlay.rates.keys() - documented_rates().keys())
    )
    if unknown:
        raise ConfigError(f"machine file {path} has numbers that {base.name} does not know: {', '.join(unknown)}")
    return replace(
        base,
        name=overlay.name,
        description=overlay.description,
        numbers={**base.numbers, **{key: number.value for key, number in overlay.numbers.items()}},
        grades={**base.grades, **{key: number.grade for key, number in overlay.numbers.items()}},
        rates={**base.rates, **{key: number.value for key, number in overlay.rates.items()}},
        residuals=overlay.residuals,
        digest=sha256((base.digest + text).encode()).hexdigest()[:16],
    )
