"""The twin that lowered programs run on."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.twin.running import Twin


@pytest.fixture(scope="session")
def twin() -> Iterator[Twin]:
    """A twin with default arguments, shared because kernels cannot change it."""
    shared = Twin()
    yield shared
    shared.executor.close()
