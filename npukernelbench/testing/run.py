"""Whole runs with fakes: a plugin that offers them, a plan that uses them, an observer that remembers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from npukernelbench.config import resolve
from npukernelbench.generate.backend import Backend, SamplingParams
from npukernelbench.hookspecs import hookimpl
from npukernelbench.judge.executor import Executor
from npukernelbench.nouns import Sample, SampleKey, Stage, Track
from npukernelbench.plugins import Plugins, Register
from npukernelbench.run.plan import RunPlan
from npukernelbench.tasks import Selected
from npukernelbench.testing.backend import FakeBackend, FakeBackendArgs
from npukernelbench.testing.executor import FakeExecutor, FakeExecutorArgs
from npukernelbench.testing.tasks import tiny_case, tiny_task

__all__ = ["FakePlugin", "RecordingObserver", "fake_plugins", "make_plan"]


class FakePlugin:
    """Offers a backend and an executor named ``fake``. What makes them can be replaced at any time."""

    def __init__(self) -> None:
        self.backend: Callable[[Any], Backend] = FakeBackend
        self.executor: Callable[[Any], Executor] = FakeExecutor

    @hookimpl
    def register_backends(self, register: Register) -> None:
        """The backend ``fake``."""
        # A lambda, since a test may set `backend` after this.
        register("fake", _Maker(FakeBackendArgs, lambda args: self.backend(args)))

    @hookimpl
    def register_executors(self, register: Register) -> None:
        """The executor ``fake``."""
        register("fake", _Maker(FakeExecutorArgs, lambda args: self.executor(args)))


class _Maker:
    """Stands for a class: it has ``Args`` and can be called with them."""

    def __init__(self, schema: type[BaseModel], make: Callable[[Any], object]) -> None:
        self.Args = schema
        self._make = make

    def __call__(self, args: BaseModel) -> object:
        return self._make(args)


def fake_plugins(fakes: FakePlugin | None = None) -> Plugins:
    """The built-in plugins and ``fakes``; whatever else is installed is left out."""
    # Nothing of the environment: a test must not depend on what else is installed.
    plugins = Plugins.load(autoload=False, environ={})
    plugins.register(fakes or FakePlugin(), "fakes")
    return plugins


def make_plan(directory: Path, **changes: Any) -> RunPlan:
    """A plan with the fakes: two tiny tasks, two cases each, one sample. ``changes`` are fields of the plan; with
    ``inputs=None`` the run draws a secret of its own, so that two runs are not alike.
    """
    # The second shape's 84 bytes are no multiple of a block's 32.
    cases = (tiny_case("a"), tiny_case("b", shape=(3, 7)))
    values: dict[str, Any] = {
        "tasks": tuple(Selected(tiny_task(name, cases=cases), cases) for name in ("TinyOne", "TinyTwo")),
        "track": Track.STATIC,
        "model": "fake",
        "model_args": {},
        "executor": "fake",
        "executor_args": {},
        "samples": 1,
        "params": SamplingParams(),
        "prompt_style": "terse",
        "parser": "auto",
        "seed": 0,
        "inputs": 0,
        "jobs": 2,
        "compile_timeout_s": 60.0,
        "run_timeout_s": 60.0,
        "predict_only": False,
        "directory": directory,
        # The plan is the same, whatever a developer's environment says.
        "config": resolve(environ={}, options={}),
    }
    return RunPlan(**(values | changes))


@dataclass
class RecordingObserver:
    """A run observer that remembers what it is told."""

    totals: list[tuple[int, int]] = field(default_factory=list)
    stages: list[tuple[SampleKey, Stage]] = field(default_factory=list)
    samples: list[Sample] = field(default_factory=list)
    messages: list[str] = field(default_factory=list)

    def started(self, total: int, done: int) -> None:
        """Remember both numbers."""
        self.totals.append((total, done))

    def stage(self, key: SampleKey, stage: Stage) -> None:
        """Remember key and stage."""
        self.stages.append((key, stage))

    def finished(self, sample: Sample) -> None:
        """Remember the sample."""
        self.samples.append(sample)

    def message(self, text: str) -> None:
        """Remember the text."""
        self.messages.append(text)
