"""A task: one operator, its interface, its cases, how its answers are judged. Pure frozen data.

Objects come out of :mod:`npukernelbench.tasks` (YAML in, Task out). Mappings are plain ``dict`` for speed of loading
and are never changed after construction.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from math import prod
from pathlib import Path

from npukernelbench.nouns.dtypes import DType
from npukernelbench.nouns.hidden import HiddenForm
from npukernelbench.nouns.outcomes import Track

# The types of attributes that operator definitions know; lists are tuples, so that cases stay frozen.
AttributeValue = bool | int | float | str | tuple[int, ...] | tuple[float, ...]


class Presence(str, Enum):
    """How an argument appears in the kernel's signature."""

    REQUIRED = "required"
    OPTIONAL = "optional"  # null pointer when absent
    DYNAMIC = "dynamic"  # a list of tensors, passed as one pointer to a pointer table


class Core(str, Enum):
    """Which cores the kernel is launched on."""

    VECTOR = "vector"
    CUBE = "cube"
    MIX = "mix"


@dataclass(frozen=True, slots=True)
class ValueSpec:
    """How an input's values are drawn. ``kind`` names a generator, ``args`` are its parameters.

    Kinds: ``uniform(low, high)``, ``normal(mean, std)``, ``integers(low, high)`` (high exclusive), ``bernoulli(p)``,
    ``constant(value)``, ``literal(values)``; suites may register more.
    """

    kind: str = "normal"
    args: Mapping[str, AttributeValue] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class InputSpec:
    """One input of the operator definition. ``values_for`` replaces ``values`` for single element types."""

    name: str
    dtypes: tuple[DType, ...]
    presence: Presence = Presence.REQUIRED
    description: str = ""
    values: ValueSpec = field(default_factory=ValueSpec)
    values_for: Mapping[DType, ValueSpec] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class OutputSpec:
    """One output. ``dtype`` and ``shape`` are a fixed type, or the name of the input they follow.

    ``shape_like`` is None when every case states the shape. ``alias_of`` names the input that is updated in place.
    ``zeroed``: the caller fills it with zeros before the launch; otherwise nothing is known of what it holds.
    """

    name: str
    dtype: DType | None = None
    dtype_like: str | None = None
    shape_like: str | None = None
    presence: Presence = Presence.REQUIRED
    alias_of: str | None = None
    description: str = ""
    zeroed: bool = False


@dataclass(frozen=True, slots=True)
class AttributeSpec:
    """One attribute of the operator definition. ``type`` is one of ``int float bool str list_int list_float``."""

    name: str
    type: str
    default: AttributeValue | None = None
    description: str = ""


@dataclass(frozen=True, slots=True)
class TensorShape:
    """Shape and element type of one buffer."""

    shape: tuple[int, ...]
    dtype: DType

    @property
    def size(self) -> int:
        """Number of elements."""
        return prod(self.shape)

    @property
    def nbytes(self) -> int:
        """Bytes of the dense buffer."""
        return self.size * self.dtype.itemsize


@dataclass(frozen=True, slots=True)
class TensorCase:
    """One input tensor of a case."""

    tensor: TensorShape
    values: ValueSpec


#: One tensor, a list of tensors (dynamic input), or None (optional input absent).
CaseInput = TensorCase | tuple[TensorCase, ...] | None


@dataclass(frozen=True, slots=True)
class Case:
    """One set of shapes, types and attributes on which a kernel is judged.

    ``outputs`` are fully resolved, in the interface's order. ``profiles`` are the size profiles the case belongs to.
    ``salt`` goes into the seed of the inputs: that of a hidden case comes from its secret, that of a public one is 0.
    ``limits`` replace those of the task's tolerance for this case alone; rules of a benchmark set them.
    """

    id: str
    inputs: Mapping[str, CaseInput]
    outputs: Mapping[str, TensorShape | tuple[TensorShape, ...]]
    attributes: Mapping[str, AttributeValue]
    profiles: frozenset[str] = frozenset()
    salt: int = 0
    limits: Mapping[DType, ToleranceLimits] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ToleranceLimits:
    """Absolute and relative limits for one element type."""

    atol: float
    rtol: float


@dataclass(frozen=True, slots=True)
class Tolerance:
    """Which checker judges float outputs, with limits per output element type.

    Integers and booleans are exact. Limits for an integer type say how far beyond half a step a quantised value may be
    from the unrounded reference.
    """

    policy: str = "pcl"
    limits: Mapping[DType, ToleranceLimits] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Golden:
    """A reference kernel of ours. ``path`` is the source file, which is specialised per case, on the static track; on
    the dynamic track it is a folder with ``op_host`` and ``op_kernel``, on the launch track a folder of sources. What
    several of these have in common lies in the folders ``shared``, which look alike.

    With a ``maker`` the kernel is what a plugin makes of the file ``path``; ``sha256`` is the digest that the result
    must have, where the task file says it. A derived one is made of the task's dynamic golden kernel, for each case.
    """

    track: Track
    path: Path
    shared: tuple[Path, ...] = ()
    maker: str = ""
    sha256: str = ""


@dataclass(frozen=True, slots=True)
class Task:
    """An operator to implement.

    ``kernel`` is the name of the entry function; ``reference`` is ``module.function`` inside
    :mod:`npukernelbench.reference`, ``package.module:function`` of any other package, or ``file.py:function`` of a file
    beside the task's; ``content_hash`` covers the resolved definition and every golden file. ``hidden``
    says how hidden cases may look; empty where the default rule of element-wise tasks applies. ``created`` is the day
    on which the task was first published, as ISO 8601 writes it; it is no part of the hash. ``start`` names what makes
    the kernel slow that a task of optimisation begins with, which is best seen on ``start_case``; both are empty for
    other tasks.
    """

    name: str
    suite: str
    level: int
    category: str
    version: int
    kernel: str
    core: Core
    summary: str
    description: str
    formula: str
    inputs: tuple[InputSpec, ...]
    outputs: tuple[OutputSpec, ...]
    attributes: tuple[AttributeSpec, ...]
    cases: Sequence[Case]
    reference: str
    tolerance: Tolerance
    tags: frozenset[str]
    goldens: tuple[Golden, ...]
    path: Path
    content_hash: str
    workspace_bytes: int = 0
    hidden: tuple[HiddenForm, ...] = ()
    created: str = ""
    start: tuple[str, ...] = ()
    start_case: str = ""

    def case(self, case_id: str) -> Case:
        """The case with that id; KeyError when there is none."""
        for case in self.cases:
            # Tasks have few cases, so that a search is enough.
            if case.id == case_id:
                return case
        raise KeyError(case_id)

    @property
    def operator(self) -> str:
        """The name of the operator, which several tasks may be about: ``Sqrt`` of ``optimise/Sqrt``."""
        return self.name.rpartition("/")[2]

    @property
    def usual_case(self) -> Case:
        """The case that is meant where none is named: that of the start, the smoke case, or the first."""
        if self.start_case:
            return self.case(self.start_case)
        # The smoke case is a small one; `npukb validate` warns of a task that has none.
        return next((case for case in self.cases if "smoke" in case.profiles), self.cases[0])

    @property
    def arguments(self) -> tuple[str, ...]:
        """Names of the kernel's pointer arguments in order: inputs, outputs, workspace."""
        return (*(i.name for i in self.inputs), *(o.name for o in self.outputs), "workspace")
