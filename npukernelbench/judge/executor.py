"""What an executor is: the one thing the judge knows about machines."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from npukernelbench.errors import UsageError
from npukernelbench.nouns import (
    Artifact,
    Candidate,
    Case,
    CompileRequest,
    CompileResult,
    Observation,
    RunRequest,
    Task,
    Tier,
    Track,
    Verdict,
)

if TYPE_CHECKING:
    from pydantic import BaseModel

    from npukernelbench.judge.settings import JudgeSettings
    from npukernelbench.plugins.registry import Registration

__all__ = [
    "ALIKE_UNITS",
    "HOST_STANDARD",
    "Assignment",
    "Confining",
    "Diagnosable",
    "Executor",
    "Finding",
    "FindingStatus",
    "Judging",
    "Preparable",
    "Trying",
    "make_executor",
    "prepare",
    "require_track",
]

#: The C++ that definitions, shape inference and tiling functions are compiled as, on every executor.
HOST_STANDARD = "c++17"

#: Families of chips with the same cores: a definition for one of them does for the other, on every executor.
ALIKE_UNITS = frozenset({"ascend910b", "ascend910_93"})


@runtime_checkable
class Executor(Protocol):
    """Compiles candidates and runs them on one case at a time.

    The class is constructed as ``Executor(args)`` where ``args`` is an instance of its ``Args`` model. Methods may be
    called from several threads at once. A candidate's failure is returned, never raised; raise
    :class:`~npukernelbench.errors.ExecutorError` or :class:`~npukernelbench.errors.ToolchainError` for faults of the
    executor.
    """

    Args: type[BaseModel]
    name: str
    tier: Tier
    tracks: frozenset[Track]

    def describe(self) -> Mapping[str, str]:
        """Facts that go into results and cache keys: toolchain, machine, versions. Stable for equal behaviour."""
        ...

    def compile(self, request: CompileRequest) -> CompileResult:
        """Source to artifact."""
        ...

    def run(self, request: RunRequest) -> Observation:
        """Run an artifact on the request's case in a process of its own and return raw outputs."""
        ...

    def release(self, artifact: Artifact) -> None:
        """Give back what an artifact holds: files, memory, entries in tables.

        The judge calls it once for every artifact that :meth:`compile` returned, when its verdict is out or cannot be
        had; nobody runs it afterwards. Equal candidates are compiled side by side: an executor that gives them one
        artifact counts them. An artifact that is gone already, for instance after :meth:`close`, is no error.
        """
        ...

    def close(self) -> None:
        """Give back processes, devices, temporary files, and artifacts that were not released."""
        ...


class FindingStatus(str, Enum):
    """How much a finding matters to somebody who wants to start a run."""

    OK = "ok"
    WARNING = "warning"  # works, with a stated loss
    PROBLEM = "problem"  # does not work until the remedy is applied


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of ``npukb doctor``: what was looked at, how it is, what was seen, and what to do about it."""

    name: str
    status: FindingStatus
    detail: str
    remedy: str = ""


@runtime_checkable
class Diagnosable(Protocol):
    """An executor, backend or plugin object that can say whether it would work here. Optional for all of them."""

    def diagnose(self) -> Sequence[Finding]:
        """Look, do not touch: no download, no build, no device reset. A finding with a problem names its remedy."""
        ...


@runtime_checkable
class Trying(Protocol):
    """An executor that can be tried out: it builds and runs something small. Optional."""

    def try_out(self, say: Callable[[str], None]) -> Iterable[Finding]:
        """Do, in seconds, what a run would do; findings as they come. A finding with a problem names its remedy.
        ``say`` takes a line for somebody who waits.
        """
        ...


@runtime_checkable
class Preparable(Protocol):
    """An executor with something to do once before its first sample, such as building its runtime. Optional."""

    def prepare(self, say: Callable[[str], None], track: Track) -> None:
        """Do what ``track`` needs now; ``say`` takes a line for the user when it takes longer than a moment. Faults are
        raised.
        """
        ...


@runtime_checkable
class Confining(Protocol):
    """An executor that confines what it compiles and runs, and knows by which measures. Optional."""

    def sandbox_level(self) -> str:
        """The measures that hold for every sample; ``none`` without any."""
        ...


@dataclass(frozen=True, slots=True)
class Assignment:
    """One candidate to judge, and all that its verdict follows from; ``compile_only`` asks whether it compiles."""

    settings: JudgeSettings
    task: Task
    cases: Sequence[Case]
    track: Track
    candidate: Candidate
    compile_only: bool = False


@runtime_checkable
class Judging(Protocol):
    """An executor that has whole candidates judged elsewhere, on other machines for instance. Optional.

    The verdicts have to be those of a :class:`~npukernelbench.judge.pipeline.Judge` with the same settings.
    """

    def seats(self) -> int:
        """How many candidates it judges at once."""
        ...

    def judge(self, assignment: Assignment) -> Verdict:
        """The verdict; ExecutorError when none can be had."""
        ...


def prepare(executor: Executor, say: Callable[[str], None], track: Track) -> None:
    """Let the executor get ready for a track, if it has anything to do."""
    if isinstance(executor, Preparable):
        executor.prepare(say, track)


def make_executor(registration: Registration, executor_args: Mapping[str, object]) -> Executor:
    """Load a registered executor class, validate its arguments, construct it. The caller closes it.

    Raises PluginError when the target is no executor, UsageError when the arguments do not fit its ``Args`` model.
    """
    # here, as a device's worker takes this module's constants alone and starts in half the time without pydantic
    from npukernelbench.plugins.arguments import with_arguments

    construction = with_arguments(registration, executor_args, field="executor_args")
    executor = registration.construct(construction.target, construction.args)
    # This looks for names only; a method with other parameters fails at its first call.
    if not isinstance(executor, Executor):
        raise registration.broken("does not implement the protocol npukernelbench.judge.executor.Executor")
    return executor


def require_track(executor: Executor, track: Track) -> None:
    """UsageError when the executor does not judge that track."""
    if track not in executor.tracks:
        able = ", ".join(sorted(track.value for track in executor.tracks)) or "none"
        raise UsageError(
            f"executor {executor.name!r} judges track {able} only, not {track.value}",
            field="--track",
            remedy=f"use --track {able}, or another executor; see npukb ls executors",
        )
