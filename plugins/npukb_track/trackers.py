"""Three trackers behind one protocol. A library is imported when a run begins that is to be tracked with it."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from importlib import import_module
from types import MappingProxyType
from typing import Any, Protocol

__all__ = ["TRACKERS", "Tracker"]

#: What our runs are filed under, unless the library is told otherwise.
_PROJECT = "npukernelbench"


class Tracker(Protocol):
    """One run in one tracker. Methods may raise anything: the caller then goes on without it."""

    def start(self, run_id: str, name: str, facts: Mapping[str, object]) -> None:
        """Begin a run, or continue the one of the same id."""

    def log(self, numbers: Mapping[str, float], step: int) -> None:
        """How it stands."""

    def finish(self, numbers: Mapping[str, float]) -> None:
        """The last numbers, and the end."""


class _Wandb:
    """Weights & Biases; ``WANDB_MODE=offline``, ``WANDB_PROJECT`` and the like say how."""

    def start(self, run_id: str, name: str, facts: Mapping[str, object]) -> None:
        wandb = _library("wandb")
        self._run = wandb.init(
            project=_set("WANDB_PROJECT"), id=run_id, name=name, config=dict(facts), resume="allow", reinit=True
        )

    def log(self, numbers: Mapping[str, float], step: int) -> None:
        self._run.log(dict(numbers), step=step)

    def finish(self, numbers: Mapping[str, float]) -> None:
        self._run.summary.update(dict(numbers))
        self._run.finish()


class _Trackio:
    """Trackio; local unless ``TRACKIO_SPACE_ID`` says otherwise."""

    def start(self, run_id: str, name: str, facts: Mapping[str, object]) -> None:
        self._trackio = _library("trackio")
        self._trackio.init(
            project=_set("TRACKIO_PROJECT"),
            # Trackio continues a run by its name, so that the name has to be the run's alone.
            name=f"{name}-{run_id}",
            config=dict(facts),
            resume="allow",
            auto_log_gpu=False,
            auto_log_cpu=False,
        )

    def log(self, numbers: Mapping[str, float], step: int) -> None:
        self._trackio.log(dict(numbers), step=step)

    def finish(self, numbers: Mapping[str, float]) -> None:
        self._trackio.log(dict(numbers))
        self._trackio.finish()


class _Mlflow:
    """MLflow; ``MLFLOW_TRACKING_URI`` and ``MLFLOW_EXPERIMENT_NAME`` say where."""

    def start(self, run_id: str, name: str, facts: Mapping[str, object]) -> None:
        self._mlflow = _library("mlflow")
        # set_experiment would win over the variable.
        if not _environ("MLFLOW_EXPERIMENT_NAME"):
            self._mlflow.set_experiment(_PROJECT)
        self._mlflow.start_run(run_name=name, tags={"npukb_run_id": run_id})
        self._mlflow.log_params({key: str(value) for key, value in facts.items()})

    def log(self, numbers: Mapping[str, float], step: int) -> None:
        self._mlflow.log_metrics(dict(numbers), step=step)

    def finish(self, numbers: Mapping[str, float]) -> None:
        self._mlflow.log_metrics(dict(numbers))
        self._mlflow.end_run()


TRACKERS: Mapping[str, Callable[[], Tracker]] = MappingProxyType(
    {"wandb": _Wandb, "trackio": _Trackio, "mlflow": _Mlflow}
)


def _library(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError as error:
        raise ImportError(f"{error}; pip install 'npukernelbench[{name}]'") from error


def _set(variable: str) -> str:
    return _environ(variable) or _PROJECT


def _environ(variable: str) -> str:
    return os.environ.get(variable, "")
