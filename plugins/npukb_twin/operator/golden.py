"""Golden kernels of the static track out of dynamic operators, for the core's ``prompts.golden``."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from npukernelbench.errors import TaskError
from npukernelbench.tasks.making import sources_digest

if TYPE_CHECKING:
    from npukb_twin.operator.derive import Deriver
    from npukernelbench.tasks.making import Making

__all__ = ["DerivedKernel"]

#: What decides a tiling, and what is made of it: our Python, the host's headers and runner, the machine.
_DECIDING = ("operator", "compile", "host", "include_host", "machines")


class DerivedKernel:
    """Derives kernels; compiled host sides are kept until ``close``."""

    def __init__(self) -> None:
        self._deriver: Deriver | None = None

    def version(self) -> str:
        """The sources that decide what a tiling function says of a case."""
        return _sources()

    def make(self, request: Making) -> Mapping[str, str]:
        """The kernel for the case. TaskError that says why there is none."""
        from npukb_twin.operator.derive import Deriver

        assert request.task is not None
        assert request.case is not None
        self._deriver = self._deriver or Deriver()
        source, why = self._deriver.source(request.task, request.case, request.sources)
        if why:
            raise TaskError(f"no static kernel from the dynamic golden of {request.task.name}: {why}")
        return {"kernel.cpp": source}

    def close(self) -> None:
        """Remove what was compiled."""
        if self._deriver is not None:
            self._deriver.close()
            self._deriver = None


@cache
def _sources() -> str:
    package = Path(__file__).parents[1]
    return sources_digest(*(package / name for name in _DECIDING))
