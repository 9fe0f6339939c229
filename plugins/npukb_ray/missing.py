"""Ray is imported where it is used; a machine without it is told what to install."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from npukernelbench.errors import ExecutorError

__all__ = ["imports_of_ray"]


@contextmanager
def imports_of_ray() -> Iterator[None]:
    """ExecutorError where an import in the context fails."""
    try:
        yield
    except ImportError as error:
        raise ExecutorError(
            f"the executor ray needs Ray: {error}", remedy="pip install 'npukernelbench[ray]'"
        ) from error
