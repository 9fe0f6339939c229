"""Trackers: what they are told of a run, and that none of them can end one."""

from __future__ import annotations

import logging
import sqlite3
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from npukb_track import PLUGIN, VARIABLE
from npukernelbench.plugins import Plugins
from npukernelbench.run.runner import run
from npukernelbench.testing import RecordingObserver, fake_plugins, make_plan


class Calls:
    """A stand-in of a library: remembers every call by name; ``init`` gives itself, as wandb's gives a run."""

    def __init__(self, fails: str = "") -> None:
        self.fails = fails
        self.made: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = []
        self.summary = SimpleNamespace(update=lambda values: self.made.append(("summary", (values,), {})))

    def __getattr__(self, name: str) -> Callable[..., Calls]:
        def call(*given: Any, **named: Any) -> Calls:
            self.made.append((name, given, named))
            if name == self.fails:
                raise OSError("no route to host")
            return self

        return call

    def names(self) -> list[str]:
        return [name for name, _, _ in self.made]


@pytest.fixture
def plugins() -> Plugins:
    plugins = fake_plugins()
    plugins.register(PLUGIN, "track")
    return plugins


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Calls]:
    """``library("wandb")`` puts a stand-in in its place and asks for it."""

    def put(name: str, fails: str = "") -> Calls:
        calls = Calls(fails)
        monkeypatch.setitem(sys.modules, name, calls)
        monkeypatch.setenv(VARIABLE, name)
        return calls

    return put


def tracked(plugins: Plugins, tmp_path: Path) -> int:
    """A run of eight samples, half of them right; how many are valid."""
    args = {"text": "```cpp\n// {index} fake: ok\n```\n", "delay_s": 0.0}
    plan = make_plan(tmp_path / "run", samples=2, model_args=args)
    return run(plan, plugins, RecordingObserver()).valid


def test_without_the_variable_nothing_is_loaded(
    plugins: Plugins, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    for name in ("wandb", "trackio", "mlflow"):
        monkeypatch.setitem(sys.modules, name, None)
    assert tracked(plugins, tmp_path) == 8


def test_wandb_is_told_who_is_asked_how_it_stands_and_how_it_ended(
    plugins: Plugins, library: Callable[..., Calls], tmp_path: Path
) -> None:
    wandb = library("wandb")
    assert tracked(plugins, tmp_path) == 8
    assert wandb.names() == ["init", *["log"] * 8, "summary", "finish"]
    begun = wandb.made[0][2]
    assert (begun["project"], begun["resume"], begun["name"]) == ("npukernelbench", "allow", "run")
    assert (begun["config"]["model"], begun["config"]["tasks"], begun["config"]["samples"]) == ("fake", 2, 2)
    steps = [named["step"] for name, _, named in wandb.made if name == "log"]
    assert steps == list(range(1, 9))
    last = wandb.made[8][1][0]
    assert (last["judged"], last["counted"], last["outcome/ok"], last["correct_at_1"]) == (8, 8, 8, 1.0)
    final = wandb.made[9][1][0]
    assert final["final/correct_at_1_low"] <= final["final/correct_at_1"] == final["final/pass_at_1"] == 1.0


def test_trackio_and_mlflow_are_told_the_same(
    plugins: Plugins, library: Callable[..., Calls], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    mlflow, trackio = library("mlflow"), library("trackio")
    monkeypatch.setenv(VARIABLE, "trackio, MLflow")
    assert tracked(plugins, tmp_path) == 8
    assert trackio.names() == ["init", *["log"] * 9, "finish"]
    assert mlflow.names() == ["set_experiment", "start_run", "log_params", *["log_metrics"] * 9, "end_run"]
    assert all("@" not in name for _, given, _ in mlflow.made[3:12] for name in given[0])


def test_credentials_are_not_told(plugins: Plugins, library: Callable[..., Calls], tmp_path: Path) -> None:
    from npukb_track.tracking import _facts

    plan = make_plan(tmp_path / "run", model_args={"api_key": "sk-secret", "model": "m"})
    facts = _facts(plan)
    assert "sk-secret" not in str(facts)
    assert facts["model_args.model"] == "m"


@pytest.mark.parametrize(("fails", "calls"), [("init", 1), ("log", 2), ("finish", 11)])
def test_a_tracker_that_fails_warns_once_and_ends_no_run(
    plugins: Plugins,
    library: Callable[..., Calls],
    caplog: pytest.LogCaptureFixture,
    tmp_path: Path,
    fails: str,
    calls: int,
) -> None:
    wandb = library("wandb", fails)
    with caplog.at_level(logging.WARNING):
        assert tracked(plugins, tmp_path) == 8
    assert len(wandb.made) == calls
    warnings = [record.getMessage() for record in caplog.records if record.name.startswith("npukb_track")]
    assert warnings == ["wandb does not track this run: OSError: no route to host"]


def test_a_tracker_that_is_unknown_or_not_installed_is_named_with_a_remedy(
    plugins: Plugins, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    monkeypatch.setenv(VARIABLE, "wandbb,mlflow")
    monkeypatch.setitem(sys.modules, "mlflow", None)
    with caplog.at_level(logging.WARNING):
        assert tracked(plugins, tmp_path) == 8
    assert "there is no tracker 'wandbb'; NPUKB_TRACKERS takes wandb, trackio, mlflow" in caplog.text
    assert "pip install 'npukernelbench[mlflow]'" in caplog.text


@pytest.mark.filterwarnings("ignore")
def test_the_real_wandb_offline(plugins: Plugins, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pytest.importorskip("wandb", reason="wandb is not installed")
    monkeypatch.setenv(VARIABLE, "wandb")
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_SILENT", "true")
    monkeypatch.setenv("WANDB_DIR", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    assert tracked(plugins, tmp_path) == 8
    (file,) = tmp_path.glob("wandb/offline-run-*/run-*.wandb")
    until = time.monotonic() + 30
    while b"correct_at_1" not in file.read_bytes():  # a process of wandb's writes it, after the run has ended
        assert time.monotonic() < until
        time.sleep(0.1)


@pytest.mark.filterwarnings("ignore")
def test_the_real_trackio_offline(plugins: Plugins, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TRACKIO_DIR", str(tmp_path / "trackio"))
    pytest.importorskip("trackio", reason="trackio is not installed")
    monkeypatch.setenv(VARIABLE, "trackio")
    assert tracked(plugins, tmp_path) == 8
    (file,) = (tmp_path / "trackio").glob("npukernelbench.db")
    with sqlite3.connect(file) as database:
        assert database.execute("select count(*) from metrics").fetchone() == (9,)


@pytest.mark.filterwarnings("ignore")
def test_the_real_mlflow_offline(plugins: Plugins, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    mlflow = pytest.importorskip("mlflow", reason="mlflow is not installed")
    monkeypatch.setenv(VARIABLE, "mlflow")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path / 'mlflow.db'}")
    monkeypatch.chdir(tmp_path)
    assert tracked(plugins, tmp_path) == 8
    (found,) = mlflow.MlflowClient().search_runs(["1"])
    assert found.data.metrics["final/correct_at_1"] == 1.0
    assert found.data.params["model"] == "fake"
