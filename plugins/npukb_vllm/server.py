"""The vllm-server backend: a server of our own for the length of the run, or one that runs already."""

from __future__ import annotations

import asyncio
import os
import socket
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from typing import ClassVar
from urllib.error import URLError
from urllib.request import urlopen

from pydantic import BaseModel

from npukb_openai.args import OpenAIArgs
from npukb_openai.backend import OpenAIBackend
from npukb_vllm.args import VllmServerArgs
from npukb_vllm.child import Child
from npukb_vllm.offline import require_vllm
from npukernelbench.errors import BackendError
from npukernelbench.generate import (
    Capabilities,
    GenerationRequest,
    GenerationResult,
    SamplingParams,
    checkpoint_facts,
    split_thinking,
)
from npukernelbench.nouns import Completion

__all__ = ["VllmServerBackend", "command_line"]

_POLL_S = 0.5


class VllmServerBackend:
    """Starts vLLM's server with the same arguments as the vllm backend, asks it as the openai backend does, stops it.

    With ``base_url`` nothing is started and nothing is stopped.
    """

    Args: ClassVar[type[BaseModel]] = VllmServerArgs
    capabilities: Capabilities = Capabilities(seeds=True, overlapping=True)

    def __init__(self, args: VllmServerArgs) -> None:
        self.args = args
        self._child: Child | None = None
        self._client: OpenAIBackend | None = None
        #: Address of the server up to and with /v1, known once it is open.
        self.address = args.base_url or ""

    def describe(self) -> Mapping[str, str]:
        """Which checkpoint answers; of a server that runs already, its address."""
        if self.args.base_url is not None:
            return {"server": self.args.base_url}
        return checkpoint_facts(self.args.model, self.args.revision)

    async def open(self) -> None:
        """Start the server unless there is one, wait until it is well, connect."""
        base_url = self.args.base_url
        if base_url is None:
            require_vllm()
            port = self.args.port or _free_port(self.args.host)
            self._child = await Child.start(command_line(self.args, port), dict(os.environ), conversation=False)
            await self._wait_until_well(f"http://{self.args.host}:{port}/health")
            base_url = f"http://{self.args.host}:{port}/v1"
            self.address = base_url
        extra = {"chat_template_kwargs": dict(self.args.chat_template_kwargs)} if self.args.chat_template_kwargs else {}
        client = OpenAIBackend(
            OpenAIArgs(
                model=self.args.model,
                base_url=base_url,
                concurrency=self.args.concurrency,
                timeout_s=self.args.timeout_s,
                extra_body=extra,
            )
        )
        await client.open()
        self._client = client

    async def close(self) -> None:
        """Disconnect, and stop what we started."""
        client, self._client = self._client, None
        child, self._child = self._child, None
        if client is not None:
            await client.close()
        if child is not None:
            await child.stop()

    async def generate_many(self, requests: Sequence[GenerationRequest]) -> AsyncIterator[GenerationResult]:
        """Ask all requests; what the server left in the text of its thinking is taken out."""
        if self._client is None:
            raise RuntimeError("the backend is not open")
        original = {request.key: request for request in requests}
        # Servers take defaults from the checkpoint's generation_config, which the run would not record.
        stated = [replace(request, params=self._stated(request)) for request in requests]
        async for result in self._client.generate_many(stated):
            answer = result.answer
            if isinstance(answer, Completion) and not answer.reasoning:
                split = split_thinking(answer.text)
                answer = replace(answer, text=split.answer, reasoning=split.thinking)
            yield GenerationResult(original[result.request.key], answer)

    def _stated(self, request: GenerationRequest) -> SamplingParams:
        """Sampling with nothing left to a default of the server's."""
        params = request.params
        return replace(
            params,
            temperature=1.0 if params.temperature is None else params.temperature,
            top_p=1.0 if params.top_p is None else params.top_p,
            max_tokens=params.max_tokens or self.args.max_tokens,
        )

    async def _wait_until_well(self, url: str) -> None:
        deadline = asyncio.get_running_loop().time() + self.args.startup_timeout_s
        while not await asyncio.to_thread(_well, url):
            child = self._child
            late = asyncio.get_running_loop().time() > deadline
            if child is None or not child.running or late:
                said = child.last_words() if child else ""
                raise BackendError(
                    f"the vLLM server did not {'become ready in time' if late else 'start'}; it last said:\n{said}",
                    field="model_args",
                    remedy="check model, memory and engine_args; startup_timeout_s may be too short for large weights",
                )
            await asyncio.sleep(_POLL_S)


def command_line(args: VllmServerArgs, port: int) -> tuple[str, ...]:
    """vLLM's server with the engine's arguments as options.

    Its module, not ``vllm serve``: that command asks for a distribution named ``vllm``, which the CPU build is not.
    """
    engine = args.engine()
    command = [sys.executable, "-m", "vllm.entrypoints.openai.api_server"]
    command += ["--host", args.host, "--port", str(port)]
    for name, value in engine.items():
        option = "--" + name.replace("_", "-")
        # vLLM's boolean options take no value; the negative form denies them.
        if value is True:
            command.append(option)
        elif value is False:
            command.append("--no-" + option.removeprefix("--"))
        else:
            command += [option, str(value)]
    return tuple(command)


def _well(url: str) -> bool:
    try:
        with urlopen(url, timeout=2.0) as response:
            return bool(response.status == 200)
    except (URLError, OSError):
        return False


def _free_port(host: str) -> int:
    # Another program may take the port before the server does; its start fails then, and is told.
    with socket.socket() as probe:
        probe.bind((host, 0))
        return int(probe.getsockname()[1])
