"""The openai backend: one request per sample, our own retries, answers as they come.

The official client's retries are off. A request holds a slot of the limiter while it is under way and none while it
waits to be repeated. What stops everything (credentials, address, model name) is a BackendError; what concerns one
request is a fault of that request.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from itertools import count
from time import monotonic
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import BaseModel

from npukb_openai.args import OpenAIArgs
from npukb_openai.faults import Action, Failure, backoff_s, classify, wants_other_limit_field
from npukb_openai.limiter import Limiter
from npukb_openai.pace import Pace, estimated_tokens
from npukb_openai.protocol import completion_of, request_fields, sampling_of
from npukb_openai.wire import Wire
from npukernelbench.errors import BackendError
from npukernelbench.generate import Capabilities, GenerationFault, GenerationRequest, GenerationResult
from npukernelbench.nouns import Completion

if TYPE_CHECKING:
    from openai import AsyncOpenAI

__all__ = ["OpenAIBackend"]

#: Sent to servers that were named explicitly and need no key; the client insists on some text.
_NO_KEY = "none"
#: A shorter key is a stand-in for servers that want none (``x``, ``EMPTY``), and part of other words.
_LEAST_SECRET = 8
_OPENAI = "https://api.openai.com/v1"


class OpenAIBackend:
    """Asks a chat-completions server, directly or through the official client, which is imported in :meth:`open`."""

    Args: ClassVar[type[BaseModel]] = OpenAIArgs
    capabilities: Capabilities = Capabilities(seeds=True, overlapping=True, tools=True)

    def __init__(self, args: OpenAIArgs) -> None:
        self.args = args
        self._client: AsyncOpenAI | None = None
        self._wire: Wire | None = None
        self._key = ""
        self._address = ""
        self._limiter = Limiter(args.concurrency)
        self._pace = Pace(args.requests_per_minute, args.tokens_per_minute)
        self._limit_field = "max_tokens"
        self._ever_answered = False

    def describe(self) -> Mapping[str, str]:
        """Which server is asked, also when the environment says it."""
        return {"server": self._base_url() or "default"}

    async def open(self) -> None:
        """Make a client. BackendError when the key is missing, or the package where it is needed."""
        base_url = self._base_url()
        self._address = base_url or "the default address"
        self._key = os.environ.get(self.args.api_key_env, "")
        if not self._key and base_url is None:
            raise BackendError(
                f"the environment variable {self.args.api_key_env} is not set",
                remedy=f"export {self.args.api_key_env}=..., or give base_url for a server that needs no key",
            )
        address = base_url or _OPENAI
        if self.args.client == "direct":
            self._wire = self._directly(address)
        else:
            self._client = self._officially(base_url)

    def _directly(self, address: str) -> Wire:
        try:
            import aiohttp  # noqa: F401 - said now, not at the first request
        except ImportError as error:
            raise BackendError(
                f"the package 'aiohttp' cannot be imported: {error}", remedy="pip install 'npukernelbench[openai]'"
            ) from error
        headers = {"Authorization": f"Bearer {self._key or _NO_KEY}", "User-Agent": "npukernelbench"}
        try:
            return Wire(address, headers, self.args.timeout_s)
        except ValueError as error:
            raise BackendError(str(error), field="model_args.base_url", remedy="http://HOST:PORT/v1") from None

    def _officially(self, base_url: str | None) -> AsyncOpenAI:
        try:
            from openai import AsyncOpenAI
        except ImportError as error:
            raise BackendError(
                f"the package 'openai' cannot be imported: {error}", remedy="pip install 'npukernelbench[openai]'"
            ) from error
        return AsyncOpenAI(api_key=self._key or _NO_KEY, base_url=base_url, timeout=self.args.timeout_s, max_retries=0)

    async def close(self) -> None:
        """Close the connections."""
        client, self._client = self._client, None
        wire, self._wire = self._wire, None
        if client is not None:
            await client.close()
        if wire is not None:
            await wire.close()

    async def generate_many(self, requests: Sequence[GenerationRequest]) -> AsyncIterator[GenerationResult]:
        """Ask all requests, at most ``concurrency`` at a time; yield answers as they come.

        No more than twice as many are under way or wait to be taken: no further request is sent for a caller that
        takes no answers.
        """
        results: asyncio.Queue[GenerationResult | Exception] = asyncio.Queue()
        # Twice, so that the next requests are ready while answers wait to be taken.
        room = asyncio.Semaphore(2 * self.args.concurrency)

        async def ask(request: GenerationRequest) -> None:
            await room.acquire()
            try:
                results.put_nowait(GenerationResult(request, await self._ask(request)))
            except Exception as error:  # noqa: BLE001 - carried over to the consumer, who raises it
                results.put_nowait(error)

        tasks = [asyncio.create_task(ask(request)) for request in requests]
        try:
            for _ in tasks:
                result = await results.get()
                if isinstance(result, Exception):
                    raise result
                yield result
                room.release()
        finally:
            for task in tasks:
                task.cancel()
            # Cancelled requests give back slots and connections before the caller goes on.
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _ask(self, request: GenerationRequest) -> Completion | GenerationFault:
        """Ask until there is an answer, or no further attempt can give one."""
        for attempt in count():
            answer = await self._try(request)
            if isinstance(answer, Completion):
                return answer
            fault = self._fault(answer, attempt)
            if fault is not None:
                return fault
            # Outside of the slot: a request that waits must not keep others from being sent.
            await asyncio.sleep(self._wait_s(request.seed, attempt, answer.retry_after_s))
        raise AssertionError("unreachable: the loop has no end")

    def _fault(self, failure: Failure, attempt: int) -> GenerationFault | None:
        """The end of a request's attempts, None when there may be another. BackendError when no request can succeed."""
        message = self._without_key(failure.message)
        if failure.action is Action.STOP:
            raise BackendError(message, remedy=failure.remedy or None)
        if failure.action is Action.GIVE_UP:
            return GenerationFault(message, retryable=False)
        if (failure.retry_after_s or 0.0) > self.args.max_retry_after_s:
            wait = f"the server asks to wait {failure.retry_after_s:.0f} s, longer than max_retry_after_s allows"
            return GenerationFault(f"{message}; {wait}")
        if attempt < self.args.max_retries:
            return None
        # A server that has answered before may be restarting; one that never did has a wrong address.
        if failure.unreachable and not self._ever_answered:
            raise BackendError(
                f"no server can be reached at {self._address}: {message}",
                field="model_args.base_url",
                remedy=failure.remedy or "start the server, or check base_url",
            )
        times = "once" if attempt == 0 else f"{attempt + 1} times"
        return GenerationFault(f"{message} (asked {times})")

    async def _try(self, request: GenerationRequest) -> Completion | Failure:
        """Ask once, when the limits per minute allow."""
        characters = sum(len(message.shown) for message in request.prompt.messages)
        estimated = estimated_tokens(characters, request.params.max_tokens)
        await self._pace.wait(estimated)
        async with self._limiter.slot() as epoch:
            try:
                completion = await self._send_with_limit(request)
            except Exception as error:  # noqa: BLE001 - boundary: whatever the client raises is classified
                failure = classify(error)
                if failure.busy:
                    self._limiter.too_busy(epoch)
                return failure
            self._ever_answered = True
            self._limiter.answered()
            self._pace.used(estimated, completion.usage.prompt + completion.usage.completion)
            return completion

    async def _send_with_limit(self, request: GenerationRequest) -> Completion:
        """Send under the name of the token limit that this server knows; learn it from its first refusal."""
        field = self._limit_field
        try:
            return await self._send(request, field)
        except Exception as error:
            if field != "max_tokens" or request.params.max_tokens is None or not wants_other_limit_field(error):
                raise
        # Newer models refuse the older name, and older servers do not know the newer one.
        self._limit_field = "max_completion_tokens"
        return await self._send(request, self._limit_field)

    async def _send(self, request: GenerationRequest, limit_field: str) -> Completion:
        fields = request_fields(self.args, request, limit_field)
        started = monotonic()
        response = await self._call(fields)
        # Of the request that was answered: waiting for a slot, or to try again, says nothing about the model.
        seconds = round(monotonic() - started, 3)
        return replace(completion_of(response, self.args.model, sampling_of(fields)), seconds=seconds)

    async def _call(self, fields: dict[str, Any]) -> object:
        if self._wire is not None:
            plain = {name: value for name, value in fields.items() if name != "extra_body"}
            return await self._wire.post("/chat/completions", {**plain, **fields["extra_body"]})
        if self._client is None:
            raise RuntimeError("the backend is not open")
        # The client's own limit is one for each read, which a server that trickles never meets.
        return await asyncio.wait_for(self._client.chat.completions.create(**fields), self.args.timeout_s)

    def _base_url(self) -> str | None:
        return self.args.base_url or os.environ.get("OPENAI_BASE_URL") or None

    def _wait_s(self, seed: int, attempt: int, retry_after_s: float | None) -> float:
        own = backoff_s(seed, attempt, first_s=self.args.backoff_s, most_s=self.args.max_backoff_s)
        # Some jitter on top: all refused requests are told the same time, and would come back at once.
        return own if retry_after_s is None else retry_after_s + own * 0.1

    def _without_key(self, message: str) -> str:
        """Servers may quote the key in an error; what is stored must not."""
        return message.replace(self._key, "***") if len(self._key) >= _LEAST_SECRET else message
