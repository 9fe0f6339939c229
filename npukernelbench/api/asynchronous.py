"""The same from coroutines: each function in a thread of its own, so that the event loop goes on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from npukernelbench.api.evaluation import evaluate, iter_samples
from npukernelbench.api.judging import judge_kernel

if TYPE_CHECKING:
    from npukernelbench.nouns import Sample, Verdict
    from npukernelbench.nouns.results import Results

__all__ = ["evaluate_async", "iter_samples_async", "judge_kernel_async"]


async def evaluate_async(model: str, tasks: str | Sequence[str], **arguments: object) -> Results:
    """:func:`~npukernelbench.evaluate`, awaited. Cancelling the coroutine does not stop the run; closing
    :func:`~npukernelbench.iter_samples_async` does.
    """
    return await asyncio.to_thread(partial(evaluate, model, tasks, **arguments))  # type: ignore[arg-type]


async def judge_kernel_async(task: str, kernel: str | Mapping[str, str], **arguments: object) -> Verdict:
    """:func:`~npukernelbench.judge_kernel`, awaited."""
    return await asyncio.to_thread(partial(judge_kernel, task, kernel, **arguments))  # type: ignore[arg-type]


async def iter_samples_async(
    model: str, tasks: str | Sequence[str], **arguments: object
) -> AsyncGenerator[Sample, None]:
    """:func:`~npukernelbench.iter_samples` as an asynchronous iterator; closing it stops the run."""
    samples = iter_samples(model, tasks, **arguments)  # type: ignore[arg-type]
    try:
        while (sample := await asyncio.to_thread(_next, samples)) is not None:
            yield sample
    finally:
        await asyncio.to_thread(samples.close)


def _next(samples: Iterator[Sample]) -> Sample | None:
    return next(samples, None)
