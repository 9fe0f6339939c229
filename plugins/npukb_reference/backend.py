"""Answers with golden kernels in fenced blocks: on the static track specialised for the case, else one per file.

A block stands between tags where the prompt asks for them.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import ClassVar

from pydantic import BaseModel

from npukernelbench.errors import TaskError
from npukernelbench.generate import Capabilities, GenerationFault, GenerationRequest, GenerationResult, NoArgs
from npukernelbench.generate.sources import as_completion
from npukernelbench.nouns import Completion, Task, Track
from npukernelbench.prompts import GoldenKernels

__all__ = ["ReferenceBackend"]


class ReferenceBackend:
    """Every request is answered at once and always alike; sampling parameters and seeds make no difference."""

    Args: ClassVar[type[BaseModel]] = NoArgs
    capabilities: Capabilities = Capabilities()

    def __init__(self, args: BaseModel) -> None:
        self.args = args
        self._goldens = GoldenKernels()

    def refuses(self, task: Task, track: Track) -> str | None:
        """Tasks without a golden kernel. A dynamic one will do for the static track: its tiling becomes constants."""
        return None if self._goldens.source(task, track) else f"no golden kernel for track {track.value}"

    async def open(self) -> None:
        """Nothing to open."""

    async def close(self) -> None:
        """Remove what deriving static kernels compiled."""
        self._goldens.close()

    async def generate_many(self, requests: Sequence[GenerationRequest]) -> AsyncIterator[GenerationResult]:
        """Answer in the order of the requests."""
        for request in requests:
            # In a thread: a static kernel out of a dynamic one takes a compilation, which would block the event loop.
            yield GenerationResult(request, await asyncio.to_thread(self._answer, request))

    def _answer(self, request: GenerationRequest) -> Completion | GenerationFault:
        task, track = request.task, request.key.track
        if self._goldens.source(task, track) is None:
            message = f"task {task.name} has no golden kernel for the {track.value} track"
            return GenerationFault(message, retryable=False)
        try:
            files = self._goldens.kernel(task, request.case, track)
        except TaskError as error:
            return GenerationFault(f"golden kernel of {task.name}: {error}", retryable=False)
        return Completion(as_completion(files, request.prompt), model="reference")
