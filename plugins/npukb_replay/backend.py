"""The replay backend: every request is looked up, none is computed."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import ClassVar

from pydantic import BaseModel

from npukb_replay.library import Library, content_hash, read_library
from npukernelbench.errors import BackendError
from npukernelbench.generate import Capabilities, GenerationFault, GenerationRequest, GenerationResult
from npukernelbench.nouns import Completion
from npukernelbench.strict import Strict

__all__ = ["ReplayArgs", "ReplayBackend"]


class ReplayArgs(Strict):
    """``path`` is a folder, a ``.jsonl`` file, or the folder of an earlier run."""

    path: Path


class ReplayBackend:
    """Answers with what is stored for a request; what is missing is a fault that says where it was looked for."""

    Args: ClassVar[type[BaseModel]] = ReplayArgs
    capabilities: Capabilities = Capabilities(tools=True)

    def __init__(self, args: ReplayArgs) -> None:
        self.args = args
        self._library: Library | None = None

    def describe(self) -> Mapping[str, str]:
        """The content of what is replayed: a changed kernel makes another run of the same command."""
        return {"content": content_hash(self.args.path.expanduser())}

    async def open(self) -> None:
        """Read the names of all files, and all JSONL records. BackendError when there is nothing to replay."""
        self._library = read_library(self.args.path.expanduser())

    async def close(self) -> None:
        """Drop what was read."""
        self._library = None

    async def generate_many(self, requests: Sequence[GenerationRequest]) -> AsyncIterator[GenerationResult]:
        """Answer in the order of the requests."""
        if self._library is None:
            raise BackendError("the replay backend is not open")
        for request in requests:
            yield GenerationResult(request, _answer(self._library, request))


def _answer(library: Library, request: GenerationRequest) -> Completion | GenerationFault:
    answer = library.find(request.key, request.task.kernel)
    # What is not stored will not be there the next time either.
    return GenerationFault(answer, retryable=False) if isinstance(answer, str) else answer
