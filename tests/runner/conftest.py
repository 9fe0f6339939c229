"""The fixtures of the testing kit under short names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from npukernelbench.plugins import Plugins
from npukernelbench.run.plan import RunPlan
from npukernelbench.testing import FakePlugin, RecordingObserver
from npukernelbench.testing.fixtures import npukb_fakes, npukb_observer, npukb_plan, npukb_plugins, npukb_run_dir

__all__ = ["npukb_fakes", "npukb_observer", "npukb_plan", "npukb_plugins", "npukb_run_dir"]


@pytest.fixture
def fakes(npukb_fakes: FakePlugin) -> FakePlugin:
    return npukb_fakes


@pytest.fixture
def plugins(npukb_plugins: Plugins) -> Plugins:
    return npukb_plugins


@pytest.fixture
def watcher(npukb_observer: RecordingObserver) -> RecordingObserver:
    return npukb_observer


@pytest.fixture
def make_plan(npukb_plan: Callable[..., RunPlan]) -> Callable[..., RunPlan]:
    """A plan of two tasks with two cases each, one sample each, unless told otherwise; ``text`` is the answer."""

    def make(text: str | None = None, **changes: Any) -> RunPlan:
        return npukb_plan(**({} if text is None else {"model_args": {"text": text}}), **changes)

    return make
