"""A backend that answers what it is told, with faults on demand."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import ClassVar

from pydantic import BaseModel

from npukernelbench.errors import BackendError
from npukernelbench.generate.backend import (
    Capabilities,
    GenerationFault,
    GenerationRequest,
    GenerationResult,
)
from npukernelbench.nouns import Completion, FinishReason
from npukernelbench.strict import Strict

__all__ = ["FakeBackend", "FakeBackendArgs"]


class FakeBackendArgs(Strict):
    """``text`` is the answer; ``{task}``, ``{case}`` and ``{index}`` in it are replaced.

    ``log`` receives one line per request. ``stop_after`` makes the backend raise BackendError after that many answers.
    """

    text: str = "```cpp\n// {task} {case} {index} fake: ok\n```\n"
    log: Path | None = None
    delay_s: float = 0.0
    stop_after: int | None = None


class FakeBackend:
    """Answers requests one after the other. ``answer`` replaces ``args.text`` where a constant will not do.

    An answer that starts with ``fault:`` becomes a GenerationFault; one that starts with ``cut:`` is truncated.
    """

    Args: ClassVar[type[BaseModel]] = FakeBackendArgs
    capabilities = Capabilities()

    def __init__(
        self, args: FakeBackendArgs | None = None, *, answer: Callable[[GenerationRequest], str] | None = None
    ) -> None:
        self.args = args or FakeBackendArgs()
        self.requests: list[GenerationRequest] = []
        self.opened = False
        self.closed = False
        self._answer = answer or self._text

    async def open(self) -> None:
        """Remember that it was called."""
        self.opened = True

    async def close(self) -> None:
        """Remember that it was called."""
        self.closed = True

    async def generate_many(self, requests: Sequence[GenerationRequest]) -> AsyncIterator[GenerationResult]:
        """Answer in order."""
        for count, request in enumerate(requests):
            if self.args.stop_after is not None and count >= self.args.stop_after:
                raise BackendError("the fake model went away", remedy="run the same command again")
            # Also with 0 seconds: a real backend gives way to others between two answers.
            await asyncio.sleep(self.args.delay_s)
            self.requests.append(request)
            if self.args.log is not None:
                with self.args.log.open("a", encoding="utf-8") as file:
                    file.write(f"{request.key}\n")
            yield GenerationResult(request, self._wrap(self._answer(request)))

    def _text(self, request: GenerationRequest) -> str:
        key = request.key
        values = {"task": key.task, "case": key.case, "index": str(key.index)}
        # Not `str.format`: answers are C++, and full of braces.
        return re.sub(r"\{(task|case|index)\}", lambda match: values[match.group(1)], self.args.text)

    def _wrap(self, text: str) -> Completion | GenerationFault:
        if text.startswith("fault:"):
            return GenerationFault(text.removeprefix("fault:").strip())
        if text.startswith("cut:"):
            return Completion(text.removeprefix("cut:"), FinishReason.LENGTH, model="fake")
        return Completion(text, model="fake")
