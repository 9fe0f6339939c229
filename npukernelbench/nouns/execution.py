"""What judge and executor say to each other: requests in, artifacts and observations out. Pure frozen data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from npukernelbench.nouns.evidence import Diagnostic, Profile
from npukernelbench.nouns.outcomes import Outcome, Track
from npukernelbench.nouns.sample import Candidate
from npukernelbench.nouns.task import Case, Task
from npukernelbench.nouns.trace import Recording, Step, Watched

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array: TypeAlias = NDArray[np.generic]
    #: Values of one argument: a tensor, a list of tensors, or None (optional input absent).
    Argument: TypeAlias = "Array | list[Array] | None"


class Allocation(str, Enum):
    """What surrounds a kernel's buffers in global memory."""

    EXACT = "exact"  # what is documented: a multiple of 32 bytes and 32 more, and nothing behind that may be touched
    POOLED = "pooled"  # as frameworks allocate: 512-byte granules inside mapped segments, whose rest can be read


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
    and workspace itself, fills them with a pattern drawn from ``seed``, and never sees expected values. An executor
    that cannot choose its memory, such as a device, ignores ``allocation``. ``repeat`` is 0 for the run that is
    judged; other runs must give the same bytes, and the executor varies what it can. ``order`` draws the order in which
    blocks begin, which is the opposite one in every second of those runs. With ``fewer_cores`` a tiling
    function that asks for the number of cores gets a smaller one: the order of sums may then change. With ``thorough``
    an executor that can check more, at a price, does. ``watched`` are places of outputs whose origin is wanted, for
    people who debug a kernel; an executor that cannot tell it ignores them. ``recorded`` names a
    core whose instructions are wanted for the same reason: a block, and which of its cores.
    """

    task: Task
    case: Case
    artifact: Artifact
    inputs: Mapping[str, Argument]
    seed: int
    timeout_s: float
    allocation: Allocation = Allocation.EXACT
    repeat: int = 0
    order: int = 0
    fewer_cores: bool = False
    thorough: bool = False
    watched: tuple[Watched, ...] = ()
    recorded: tuple[int, int] | None = None


class Touched(NamedTuple):
    """A buffer's size, and how much of it the kernel's own instructions read and wrote, counted from above: what is not
    counted was not touched.
    """

    nbytes: int
    read_bytes: int
    written_bytes: int


@dataclass(frozen=True, slots=True)
class Observation:
    """What an executor saw. ``outputs`` are raw buffers viewed in the declared shape and type; empty unless OK.

    ``traces`` has the way back from each watched place, in their order; empty where the executor cannot tell.
    ``recording`` is what the recorded core did, whatever the outcome; None where the executor cannot tell.
    ``touched`` tells of every buffer, by the argument's name or ``name[i]``; empty where the executor cannot tell.
    """

    outcome: Outcome
    outputs: Mapping[str, Array | list[Array]]
    diagnostics: tuple[Diagnostic, ...] = ()
    profile: Profile | None = None
    inputs_intact: bool = True
    touched: Mapping[str, Touched] = field(default_factory=dict)
    traces: tuple[tuple[Step, ...], ...] = ()
    recording: Recording | None = None
    seconds: float = 0.0


def named_tensors(values: Mapping[str, Argument]) -> Iterator[tuple[str, Array]]:
    """Every tensor under a name of its own: members of lists are ``y[0]``, absent ones are left out."""
    for name, value in values.items():
        if isinstance(value, list):
            yield from ((f"{name}[{index}]", array) for index, array in enumerate(value))
        elif value is not None:
            yield name, value
