"""The twin that the tests of this folder run kernels on."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.twin.hosting import Hosting
from tests.twin.running import Twin


@pytest.fixture(scope="session")
def twin() -> Iterator[Twin]:
    """A twin with default arguments, shared because kernels cannot change it; it sees to the order of pipes."""
    shared = Twin(apart=True)
    yield shared
    shared.executor.close()


@pytest.fixture(scope="session")
def hosting(tmp_path_factory: pytest.TempPathFactory) -> Hosting:
    """Host headers and runner, built once per machine."""
    return Hosting.ready(tmp_path_factory.mktemp("host"))
