"""What was seen of a candidate: messages about its source, and the time that one launch took. Pure frozen data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from npukernelbench.nouns.outcomes import Severity


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


class LineCost(NamedTuple):
    """What one line of the candidate cost one unit, over all cores. ``wait_us`` is time in which the unit waited there,
    ``times`` how often the line was reached.
    """

    file: str
    line: int
    pipe: str
    times: int
    busy_us: float
    wait_us: float
    nbytes: int


class CoreCost(NamedTuple):
    """One core, or ``alike`` cores from ``core`` on that did the same. ``busy_us`` and ``wait_us`` are per pipe.

    ``kind`` is "vector" or "cube".
    """

    core: int
    alike: int
    time_us: float
    busy_us: Mapping[str, float]
    wait_us: Mapping[str, float]
    kind: str = "vector"


class Span(NamedTuple):
    """One instruction in time."""

    core: int
    pipe: str
    file: str
    line: int
    start_us: float
    end_us: float
    nbytes: int


class Suggestion(NamedTuple):
    """A change to the kernel and the time that the model gives it."""

    change: str
    time_us: float


@dataclass(frozen=True, slots=True)
class Analysis:
    """Where a launch's time goes, and what would be faster: changes with the most to gain first, lines with the most
    time first, spans in the order in which they ended."""

    suggestions: tuple[Suggestion, ...] = ()
    lines: tuple[LineCost, ...] = ()
    cores: tuple[CoreCost, ...] = ()
    spans: tuple[Span, ...] = ()


@dataclass(frozen=True, slots=True)
class Profile:
    """Time of one launch. ``predicted`` says whether ``time_us`` comes out of a model or off a clock.

    ``counters`` use the column names of the vendor's profiler (``aiv_vec_ratio``, ``aiv_mte2_time`` in us, …).
    ``tiling_key`` is what the tiling function chose, None on the static track. ``low_us`` and ``high_us`` say how far
    off a predicted time may be, ``bottleneck`` in one sentence what it is spent on. ``analysis`` is there when it was
    asked for.
    """

    time_us: float
    predicted: bool
    machine: str
    blocks: int
    counters: Mapping[str, float] = field(default_factory=dict)
    tiling_key: int | None = None
    low_us: float | None = None
    high_us: float | None = None
    bottleneck: str = ""
    analysis: Analysis | None = None
