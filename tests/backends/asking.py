"""Asking a backend by hand."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from npukernelbench.generate import Backend, GenerationRequest, GenerationResult, SamplingParams, answers
from npukernelbench.nouns import Message, Prompt, SampleKey, Task, Track


def request(task: Task, index: int = 0, *, text: str = "Write a kernel.", **sampling: object) -> GenerationRequest:
    """A request with a seed of its own."""
    messages = (Message("system", "You write kernels."), Message("user", text))
    extra = {name: value for name, value in sampling.items() if name not in ("temperature", "top_p", "max_tokens")}
    named = {name: value for name, value in sampling.items() if name not in extra}
    params = SamplingParams(**named, extra=extra)  # type: ignore[arg-type]
    key = SampleKey(task.name, "0", Track.STATIC, index)
    return GenerationRequest(key, task, None, Prompt(messages, "test@1", "0"), params, 1000 + index)


def ask(backend: Backend, requests: Sequence[GenerationRequest]) -> dict[int, GenerationResult]:
    """Open, ask, close; results by sample index."""

    async def collect() -> dict[int, GenerationResult]:
        return {result.request.key.index: result async for result in answers(backend, requests)}

    return asyncio.run(collect())
