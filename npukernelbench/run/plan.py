"""What a run does, who watches it, and how it ended. Pure data: the work is in :mod:`npukernelbench.run.runner`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from npukernelbench.nouns import Outcome, Sample, SampleKey, Shard, Stage, Track
from npukernelbench.nouns.knowledge import Hints, Knowledge

if TYPE_CHECKING:
    from npukernelbench.config import Config
    from npukernelbench.generate.backend import SamplingParams
    from npukernelbench.nouns.results import Results
    from npukernelbench.tasks.rules import Rules
    from npukernelbench.tasks.select import Selected

__all__ = ["RunContext", "RunObserver", "RunPlan", "RunSummary"]


@dataclass(frozen=True, slots=True)
class RunPlan:
    """What a run does. ``directory`` is the run's own folder; the same plan in the same folder resumes. ``hidden`` is
    the salted hash of the secret that hidden cases were drawn from, empty without one. With more than one of ``turns``
    a model is told about its kernel, as much as ``hints`` say, and asked again. With ``shard`` only that part of the
    samples is asked for. ``transport`` names the ``model_args`` that decide how answers come, not what they are,
    ``executor_transport`` the ``executor_args`` that decide where they are judged, not how. ``checkout`` is where a
    benchmark's rules and prompts are read from. Inputs are drawn from ``inputs``; without it from a secret that the run
    draws and keeps in its manifest. With ``reuse`` a new run takes answers to the same questions from runs beside it.
    """

    tasks: tuple[Selected, ...]
    track: Track
    model: str
    model_args: Mapping[str, object]
    executor: str
    executor_args: Mapping[str, object]
    samples: int
    params: SamplingParams
    prompt_style: str
    parser: str
    seed: int
    jobs: int
    compile_timeout_s: float
    run_timeout_s: float
    predict_only: bool
    directory: Path
    config: Config
    hidden: str = ""
    turns: int = 1
    hints: Hints = Hints.DIAGNOSTICS
    strategy: str = "direct"
    strategy_args: Mapping[str, object] = field(default_factory=dict)
    shard: Shard | None = None
    knowledge: Knowledge = Knowledge.STYLE
    rules: Rules | None = None
    checkout: Path | None = None
    transport: frozenset[str] = frozenset()
    executor_transport: frozenset[str] = frozenset()
    reuse: bool = False
    inputs: int | None = None


@dataclass(frozen=True, slots=True)
class RunContext:
    """What hooks are told about the run they are called for. ``directory`` is its folder, ``provenance`` what its
    manifest says of machine, versions and tasks.
    """

    run_id: str
    directory: Path
    plan: RunPlan
    provenance: Mapping[str, object]


class RunObserver(Protocol):
    """Watches a run, for a progress display. Every method is called from the thread that called :func:`run`."""

    def started(self, total: int, done: int) -> None:
        """The run has ``total`` samples, ``done`` of which were finished before."""
        ...

    def stage(self, key: SampleKey, stage: Stage) -> None:
        """A sample enters a stage."""
        ...

    def finished(self, sample: Sample) -> None:
        """A sample has its verdict and is on disk (with ``predict_only``: its completion is)."""
        ...

    def message(self, text: str) -> None:
        """Something worth a line of text happened."""
        ...


@dataclass(frozen=True, slots=True)
class RunSummary:
    """How a run ended. ``total`` counts samples; ``valid`` those that are not the fault of infrastructure, task or
    user.

    ``results`` is what ``results.json`` holds; None with ``predict_only``, where ``generated`` counts stored
    completions. ``stopped`` names the limit at which it ended early, empty where none did.
    """

    directory: Path
    total: int
    by_outcome: Mapping[Outcome, int]
    valid: int
    ok: int
    results: Results | None
    generated: int = 0
    stopped: str = ""
