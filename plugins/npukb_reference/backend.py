"""Answers with golden kernels in fenced blocks: on the static track specialised for the case, else one per file."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import ClassVar

from pydantic import BaseModel

from npukernelbench.errors import TaskError
from npukernelbench.generate import Capabilities, GenerationFault, GenerationRequest, GenerationResult, NoArgs, wrap
from npukernelbench.nouns import Completion, Golden, Task, Track
from npukernelbench.prompts import specialise
from npukernelbench.tasks.goldens import read_golden

__all__ = ["ReferenceBackend"]


class ReferenceBackend:
    """Every request is answered at once and always alike; sampling parameters and seeds make no difference."""

    Args: ClassVar[type[BaseModel]] = NoArgs
    capabilities: Capabilities = Capabilities()

    def __init__(self, args: BaseModel) -> None:
        self.args = args

    def refuses(self, task: Task, track: Track) -> str | None:
        """Tasks without a golden kernel."""
        return None if _golden(task, track) else f"no golden kernel for track {track.value}"

    async def open(self) -> None:
        """Nothing to open."""

    async def close(self) -> None:
        """Nothing to close."""

    async def generate_many(self, requests: Sequence[GenerationRequest]) -> AsyncIterator[GenerationResult]:
        """Answer in the order of the requests."""
        for request in requests:
            yield GenerationResult(request, _answer(request))


def _golden(task: Task, track: Track) -> Golden | None:
    return next((golden for golden in task.goldens if golden.track is track), None)


def _answer(request: GenerationRequest) -> Completion | GenerationFault:
    task, track = request.task, request.key.track
    golden = _golden(task, track)
    if golden is None:
        return GenerationFault(f"task {task.name} has no golden kernel for the {track.value} track", retryable=False)
    try:
        files = read_golden(golden)
    except TaskError as error:
        return GenerationFault(f"golden kernel of {task.name}: {error}", retryable=False)
    if request.case is None:
        return Completion("\n".join(wrap(text, name=name) for name, text in files.items()), model="reference")
    [source] = files.values()
    return Completion(wrap(specialise(task, request.case, source)), model="reference")
