"""Answers with golden kernels in fenced blocks: on the static track specialised for the case, else one per file."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from pydantic import BaseModel

from npukernelbench.errors import TaskError
from npukernelbench.generate import Capabilities, GenerationFault, GenerationRequest, GenerationResult, NoArgs, wrap
from npukernelbench.nouns import Case, Completion, Golden, Task, Track
from npukernelbench.prompts import specialise
from npukernelbench.tasks.goldens import read_golden

if TYPE_CHECKING:
    from npukb_twin.operator.derive import Deriver

__all__ = ["ReferenceBackend"]


class ReferenceBackend:
    """Every request is answered at once and always alike; sampling parameters and seeds make no difference."""

    Args: ClassVar[type[BaseModel]] = NoArgs
    capabilities: Capabilities = Capabilities()

    def __init__(self, args: BaseModel) -> None:
        self.args = args
        self._deriver: Deriver | None = None

    def refuses(self, task: Task, track: Track) -> str | None:
        """Tasks without a golden kernel. A dynamic one will do for the static track: its tiling becomes constants."""
        found = _golden(task, track) or _golden(task, Track.DYNAMIC)
        return None if found else f"no golden kernel for track {track.value}"

    async def open(self) -> None:
        """Nothing to open."""

    async def close(self) -> None:
        """Remove what deriving static kernels compiled."""
        if self._deriver is not None:
            self._deriver.close()
            self._deriver = None

    async def generate_many(self, requests: Sequence[GenerationRequest]) -> AsyncIterator[GenerationResult]:
        """Answer in the order of the requests."""
        for request in requests:
            yield GenerationResult(request, await asyncio.to_thread(self._answer, request))

    def _answer(self, request: GenerationRequest) -> Completion | GenerationFault:
        task, track = request.task, request.key.track
        golden = _golden(task, track) or _golden(task, Track.DYNAMIC)
        if golden is None:
            message = f"task {task.name} has no golden kernel for the {track.value} track"
            return GenerationFault(message, retryable=False)
        try:
            files = read_golden(golden)
        except TaskError as error:
            return GenerationFault(f"golden kernel of {task.name}: {error}", retryable=False)
        if request.case is None:
            return Completion("\n".join(wrap(text, name=name) for name, text in files.items()), model="reference")
        if golden.track is Track.STATIC:
            [source] = files.values()
            return Completion(wrap(specialise(task, request.case, source)), model="reference")
        return self._derived(task, request.case, files)

    def _derived(self, task: Task, case: Case, files: Mapping[str, str]) -> Completion | GenerationFault:
        """A static kernel out of the dynamic golden; it takes a compiler, which the twin brings."""
        from npukb_twin.operator.derive import Deriver

        self._deriver = self._deriver or Deriver()
        source, why = self._deriver.source(task, case, files)
        if why:
            return GenerationFault(f"no static kernel from the dynamic golden of {task.name}: {why}", retryable=False)
        return Completion(wrap(source), model="reference")


def _golden(task: Task, track: Track) -> Golden | None:
    return next((golden for golden in task.goldens if golden.track is track), None)
