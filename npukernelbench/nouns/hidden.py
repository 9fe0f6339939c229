"""How the hidden cases of a task may vary: shapes over symbolic axes, as data. Drawing is in ``tasks.hidden``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from npukernelbench.nouns.dtypes import DType

#: An extent of a shape: a number, or text such as ``d``, ``d / 2``, ``n|1`` and ``...``.
Extent: TypeAlias = int | str
_Item: TypeAlias = bool | int | float | str


@dataclass(frozen=True, slots=True)
class HiddenAxis:
    """The extents of a symbolic axis: ``low`` to ``high``, both included, multiples of ``multiple_of`` only."""

    low: int
    high: int
    multiple_of: int = 1


@dataclass(frozen=True, slots=True)
class HiddenRange:
    """An attribute's values, from ``low`` to ``high``, both included."""

    low: int | float
    high: int | float


@dataclass(frozen=True, slots=True)
class ValueClass:
    """A class of unusual values; ``limit`` is the largest magnitude, None for the class's own."""

    name: str
    limit: float | None = None


@dataclass(frozen=True, slots=True)
class HiddenForm:
    """One way in which a hidden case may look. What it leaves out follows from the interface and the public cases.

    ``shapes`` without an entry stand for the default rule of element-wise tasks. ``dtypes`` are the combinations of
    element types, by input. ``attributes`` are choices or ranges; text in the choices of a number is an extent.
    ``values`` are generators as YAML spells them, with extents for numbers. ``required`` names optional inputs that
    are never left out.
    """

    axes: Mapping[str, HiddenAxis] = field(default_factory=dict)
    shapes: Mapping[str, tuple[Extent, ...]] = field(default_factory=dict)
    outputs: Mapping[str, tuple[Extent, ...]] = field(default_factory=dict)
    dtypes: tuple[Mapping[str, DType], ...] = ()
    attributes: Mapping[str, HiddenRange | tuple[_Item | tuple[_Item, ...], ...]] = field(default_factory=dict)
    values: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    value_classes: Mapping[str, tuple[ValueClass, ...]] = field(default_factory=dict)
    required: tuple[str, ...] = ()
