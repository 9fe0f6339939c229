"""The vllm backend: an engine in a child process, so that its devices are free again when it ends."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from importlib.util import find_spec
from typing import Any, ClassVar

from pydantic import BaseModel

from npukb_vllm.args import VllmArgs
from npukb_vllm.child import Child
from npukernelbench.errors import BackendError
from npukernelbench.generate import (
    Capabilities,
    GenerationFault,
    GenerationRequest,
    GenerationResult,
    SamplingParams,
    checkpoint_facts,
    split_thinking,
)
from npukernelbench.nouns import Completion, FinishReason, TokenUsage

__all__ = ["VllmBackend", "require_vllm", "sampling_fields"]

_FINISH_REASONS = {"stop": FinishReason.STOP, "length": FinishReason.LENGTH}


def require_vllm() -> None:
    """BackendError when vLLM is not installed."""
    if find_spec("vllm") is None:
        raise BackendError("vLLM is not installed", remedy="pip install 'npukernelbench[vllm]', or use --model hf")


class VllmBackend:
    """Answers with a vLLM engine in a child process that batches all requests of the run."""

    Args: ClassVar[type[BaseModel]] = VllmArgs
    capabilities: Capabilities = Capabilities(seeds=True)
    #: What is started to hold the engine.
    command: ClassVar[tuple[str, ...]] = (sys.executable, "-m", "npukb_vllm.worker")

    def __init__(self, args: VllmArgs) -> None:
        self.args = args
        self._child: Child | None = None

    def describe(self) -> Mapping[str, str]:
        """Which checkpoint answers."""
        return checkpoint_facts(self.args.model, self.args.revision)

    async def open(self) -> None:
        """Start the engine and wait until it is ready."""
        require_vllm()
        self._child = await Child.start(self.command, _environment(), conversation=True)
        await self._write({"engine": self.args.engine()})
        try:
            ready = await asyncio.wait_for(self._read(), self.args.startup_timeout_s)
        except asyncio.TimeoutError:
            ready = None
        if ready is None:
            raise BackendError(
                f"the vLLM engine did not start; it last said:\n{self._child.last_words()}",
                field="model_args",
                remedy="check model, memory and engine_args; startup_timeout_s may be too short for large weights",
            )

    async def close(self) -> None:
        """End the child."""
        child, self._child = self._child, None
        if child is not None:
            await child.stop()

    async def generate_many(self, requests: Sequence[GenerationRequest]) -> AsyncIterator[GenerationResult]:
        """Hand over everything, yield answers as they come. A child that dies is a fault of what was left."""
        waiting = dict(enumerate(requests))
        # All at once: the engine batches what it has, and keeps its own queue.
        for number, request in waiting.items():
            await self._write(self._message(number, request))
        while waiting:
            answer = await self._read()
            if answer is None:
                said = self._child.last_words() if self._child else ""
                for request in waiting.values():
                    yield GenerationResult(request, GenerationFault(f"the vLLM engine ended; it last said:\n{said}"))
                return
            request = waiting.pop(answer["id"])
            yield GenerationResult(request, self._completion(answer, self._sampling(request)))

    def _message(self, number: int, request: GenerationRequest) -> dict[str, object]:
        return {
            "id": number,
            "messages": [{"role": m.role, "content": m.content} for m in request.prompt.messages],
            "sampling": self._sampling(request),
            "chat_template_kwargs": dict(self.args.chat_template_kwargs),
        }

    def _sampling(self, request: GenerationRequest) -> dict[str, object]:
        return sampling_fields(request.params, request.seed, self.args.max_tokens)

    def _completion(self, answer: Mapping[str, Any], sent: Mapping[str, object]) -> Completion | GenerationFault:
        if "error" in answer:
            return GenerationFault(str(answer["error"]), retryable=False)
        split = split_thinking(answer["text"])
        return Completion(
            text=split.answer,
            reasoning=split.thinking,
            finish_reason=_FINISH_REASONS.get(answer["finish_reason"], FinishReason.OTHER),
            usage=TokenUsage(prompt=answer["prompt_tokens"], completion=answer["completion_tokens"]),
            model=self.args.model,
            sent=sent,
        )

    async def _write(self, message: Mapping[str, object]) -> None:
        """Boundary: a child that has gone is noticed where its answer is awaited."""
        pipe = self._child.process.stdin if self._child else None
        if pipe is None:
            raise RuntimeError("the backend is not open")
        try:
            pipe.write(json.dumps(message).encode() + b"\n")
            await pipe.drain()
        except (BrokenPipeError, ConnectionResetError):
            return

    async def _read(self) -> dict[str, Any] | None:
        """The child's next message, None when there is none any more."""
        pipe = self._child.process.stdout if self._child else None
        line = await pipe.readline() if pipe else b""
        # A line without its end is what a child that died had begun to write.
        message: dict[str, Any] | None = json.loads(line) if line.endswith(b"\n") else None
        return message


def sampling_fields(params: SamplingParams, seed: int, max_tokens: int) -> dict[str, object]:
    """Fields of vLLM's sampling parameters; everything is stated, so that no default of a checkpoint decides."""
    return {
        "temperature": 1.0 if params.temperature is None else params.temperature,
        "top_p": 1.0 if params.top_p is None else params.top_p,
        "max_tokens": params.max_tokens or max_tokens,
        # Folded as the openai backend folds it, so that engine and server draw with the same seed.
        "seed": seed % 2**31,
        **params.extra,
    }


def _environment() -> dict[str, str]:
    """The child's: ours, with the modules that we see on its path."""
    # An empty entry is the working directory, which python -m puts first by itself.
    path = os.pathsep.join(entry for entry in sys.path if entry)
    return {**os.environ, "PYTHONPATH": path}
