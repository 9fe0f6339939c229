"""What judge and executor say to each other: requests in, artifacts and observations out. Pure frozen data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from npukernelbench.nouns.outcomes import Outcome, Track
from npukernelbench.nouns.sample import Candidate
from npukernelbench.nouns.task import Case, Task

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array: TypeAlias = NDArray[np.generic]
    #: Values of one argument: a tensor, a list of tensors, or None (optional input absent).
    Argument: TypeAlias = "Array | list[Array] | None"

__all__ = [
    "Artifact",
    "CompileRequest",
    "CompileResult",
    "Diagnostic",
    "Observation",
    "Profile",
    "RunRequest",
    "Severity",
]


class Severity(str, Enum):
    """How much a diagnostic matters: errors decide the verdict, warnings go into the report."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One message about a candidate, at a place in its own source.

    ``rule`` is a stable identifier (``misaligned``, ``illegal_read``, ``compile``…), ``line`` and ``column`` count
    from 1, 0 is unknown. ``details`` holds numbers for machines (address, size, limit); ``count`` is how often it
    happened.
    """

    severity: Severity
    rule: str
    message: str
    file: str = ""
    line: int = 0
    column: int = 0
    remedy: str = ""
    count: int = 1
    details: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        place = ":".join(str(p) for p in (self.file, self.line, self.column) if p)
        return f"{place + ': ' if place else ''}{self.severity.value}: {self.message} [{self.rule}]"


@dataclass(frozen=True, slots=True)
class CompileRequest:
    """Compile ``candidate`` for ``task``. ``case`` is None on the dynamic track, which compiles once for all cases;
    ``cases`` are those that will be run, so that whatever they need is compiled now.
    """

    task: Task
    case: Case | None
    track: Track
    candidate: Candidate
    timeout_s: float
    cases: tuple[Case, ...] = ()


@dataclass(frozen=True, slots=True)
class Artifact:
    """A compiled candidate. ``key`` is the content hash of everything that went into it; ``path`` is the
    executor's own.
    """

    key: str
    path: Path
    from_cache: bool = False


@dataclass(frozen=True, slots=True)
class CompileResult:
    """``artifact`` is None unless ``outcome`` is OK."""

    outcome: Outcome
    artifact: Artifact | None
    diagnostics: tuple[Diagnostic, ...] = ()
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class RunRequest:
    """Run an artifact on one case.

    ``inputs`` hold the values in interface order, already of the case's element types. The executor allocates outputs
    and workspace itself, fills them with a pattern drawn from ``seed``, and never sees expected values.
    """

    task: Task
    case: Case
    artifact: Artifact
    inputs: Mapping[str, Argument]
    seed: int
    timeout_s: float


@dataclass(frozen=True, slots=True)
class Profile:
    """Time of one launch. ``predicted`` says whether ``time_us`` comes out of a model or off a clock.

    ``counters`` use the column names of the vendor's profiler (``aiv_vec_ratio``, ``aiv_mte2_time`` in us, …).
    ``tiling_key`` is what the tiling function chose, None on the static track.
    """

    time_us: float
    predicted: bool
    machine: str
    blocks: int
    counters: Mapping[str, float] = field(default_factory=dict)
    tiling_key: int | None = None


@dataclass(frozen=True, slots=True)
class Observation:
    """What an executor saw. ``outputs`` are raw buffers viewed in the declared shape and type; empty unless OK."""

    outcome: Outcome
    outputs: Mapping[str, Array | list[Array]]
    diagnostics: tuple[Diagnostic, ...] = ()
    profile: Profile | None = None
    inputs_intact: bool = True
    seconds: float = 0.0
