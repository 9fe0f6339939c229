"""The twin that the tests of this folder run kernels on."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from npukernelbench.nouns import DType
from tests.twin.hosting import Hosting
from tests.twin.running import Twin


@pytest.fixture(scope="session")
def twin() -> Iterator[Twin]:
    """A twin with default arguments, shared because kernels cannot change it; it sees to the order of pipes."""
    shared = Twin(apart=True)
    yield shared
    shared.executor.close()


@pytest.fixture(params=[DType.FLOAT16, DType.FLOAT32], ids=lambda dtype: dtype.value)
def dtype(request: pytest.FixtureRequest) -> DType:
    """What nearly every instruction computes in; a test of other types lists them."""
    made: DType = request.param
    return made


@pytest.fixture(scope="session")
def hosting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hosting]:
    """Host headers and runner, built once per machine."""
    made = Hosting.ready(tmp_path_factory.mktemp("host"))
    yield made
    made.runtime.sandbox.close()
