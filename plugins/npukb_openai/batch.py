"""The backend ``openai-batch``: all questions in one batch job, which providers answer within a day for half the price.

Nothing is kept here: a batch carries the digest of its questions as metadata, and the same command, after an
interruption, finds it among the server's batches and goes on waiting. Requests go through the standard library, in a
thread, because there are few of them.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import urllib.error
import urllib.request
import uuid
from collections.abc import AsyncIterator, Mapping, Sequence
from io import StringIO
from types import SimpleNamespace
from typing import Any, ClassVar

from pydantic import BaseModel, Field

from npukb_openai.args import OpenAIArgs
from npukb_openai.protocol import MalformedAnswer, completion_of, request_fields, sampling_of
from npukernelbench.errors import BackendError
from npukernelbench.generate import Capabilities, GenerationFault, GenerationRequest, GenerationResult

__all__ = ["BatchArgs", "OpenAIBatchBackend"]

_OPENAI = "https://api.openai.com/v1"
_PATH = "/v1/chat/completions"
#: The field of a batch's metadata that says which questions it answers.
_MARK = "npukb_questions"
_GONE = frozenset({"failed", "expired", "cancelled", "cancelling"})


class BatchArgs(OpenAIArgs):
    """Arguments of ``openai``, of which those about pace take no part, and how often to look."""

    poll_s: float = Field(
        60.0, gt=0, description="seconds between two looks at the batch", json_schema_extra={"decides": False}
    )
    limit_field: str = Field("max_tokens", description="name of the field that limits an answer's tokens")


class OpenAIBatchBackend:
    """Answers come all at once, when the provider is done."""

    Args: ClassVar[type[BaseModel]] = BatchArgs
    capabilities: Capabilities = Capabilities(seeds=True, tools=True)

    def __init__(self, args: BatchArgs) -> None:
        self.args = args
        self._address = (args.base_url or os.environ.get("OPENAI_BASE_URL") or _OPENAI).rstrip("/")
        self._key = ""

    def describe(self) -> Mapping[str, str]:
        """Which server is asked."""
        return {"server": self._address}

    async def open(self) -> None:
        """BackendError when the key is missing."""
        self._key = os.environ.get(self.args.api_key_env, "")
        if not self._key and self._address == _OPENAI:
            raise BackendError(
                f"the environment variable {self.args.api_key_env} is not set",
                remedy=f"export {self.args.api_key_env}=..., or give base_url for a server that needs no key",
            )

    async def close(self) -> None:
        """Nothing is held; the batch goes on."""

    async def generate_many(self, requests: Sequence[GenerationRequest]) -> AsyncIterator[GenerationResult]:
        """Hand in the batch or find it, wait for its end, give out its answers."""
        if not requests:
            return
        fields = [request_fields(self.args, request, self.args.limit_field) for request in requests]
        lines = "".join(_line(f"q{number}", body) for number, body in enumerate(fields))
        batch = await self._batch(lines)
        while batch["status"] not in ("completed", *_GONE):
            await asyncio.sleep(self.args.poll_s)
            batch = await self._get(f"/batches/{batch['id']}")
        answers: dict[str, Mapping[str, Any]] = {}
        # Requests that failed are in a file of their own.
        for name in ("output_file_id", "error_file_id"):
            if batch.get(name):
                text = await self._send("GET", f"/files/{batch[name]}/content")
                # Not splitlines(), as JSON may hold U+2028 and its like unescaped inside a text.
                rows = (json.loads(line) for line in StringIO(text) if line.strip())
                answers.update({row["custom_id"]: row for row in rows})
        # An expired batch may hold answers to part of its questions.
        if batch["status"] in _GONE and not answers:
            raise BackendError(
                f"the batch {batch['id']} is {batch['status']}: {json.dumps(batch.get('errors'))[:300]}",
                remedy="run the same command again: it hands in a new one",
            )
        for number, (request, body) in enumerate(zip(requests, fields, strict=True)):
            yield self._result(request, body, answers.get(f"q{number}"))

    async def _batch(self, lines: str) -> dict[str, Any]:
        """The batch of these questions: one that is there and has not failed, else a new one."""
        mark = hashlib.sha256(lines.encode()).hexdigest()
        # As many as a page may hold; batches on further pages are not looked for.
        listed = await self._get("/batches?limit=100")
        for batch in listed.get("data") or ():
            if (batch.get("metadata") or {}).get(_MARK) == mark and batch.get("status") not in _GONE:
                return dict(batch)
        uploaded = await self._upload(lines)
        wanted = {
            "input_file_id": uploaded["id"],
            "endpoint": _PATH,
            "completion_window": "24h",
            "metadata": {_MARK: mark},
        }
        made = await self._send("POST", "/batches", json.dumps(wanted).encode(), "application/json")
        return dict(json.loads(made))

    async def _upload(self, lines: str) -> dict[str, Any]:
        border = uuid.uuid4().hex
        parts = (
            f'--{border}\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nbatch\r\n'
            f'--{border}\r\nContent-Disposition: form-data; name="file"; filename="questions.jsonl"\r\n'
            f"Content-Type: application/jsonl\r\n\r\n{lines}\r\n--{border}--\r\n"
        )
        sent = await self._send("POST", "/files", parts.encode(), f"multipart/form-data; boundary={border}")
        return dict(json.loads(sent))

    async def _get(self, path: str) -> dict[str, Any]:
        return dict(json.loads(await self._send("GET", path)))

    async def _send(self, method: str, path: str, body: bytes | None = None, kind: str = "") -> str:
        """What the server answers, after a few tries. BackendError when it does not, or refuses."""
        headers = {"Authorization": f"Bearer {self._key}"} if self._key else {}
        if kind:
            headers["Content-Type"] = kind
        for attempt in range(self.args.max_retries + 1):
            request = urllib.request.Request(self._address + path, body, headers, method=method)
            try:
                return await asyncio.to_thread(self._open, request)
            except urllib.error.HTTPError as error:
                said = error.read(500).decode("utf-8", "replace")
                # Any other refusal would come again, and waiting costs the whole backoff.
                if error.code not in (408, 429) and error.code < 500:
                    raise BackendError(f"the server refused {path}: {error.code} {said}") from None
                problem = f"{error.code} {said}"
            except (OSError, ValueError) as error:
                problem = str(error)
            await asyncio.sleep(min(self.args.backoff_s * 2**attempt, self.args.max_backoff_s))
        raise BackendError(
            f"{self._address} does not answer: {problem}", remedy="run the same command again: the batch goes on"
        )

    def _open(self, request: urllib.request.Request) -> str:
        with urllib.request.urlopen(request, timeout=self.args.timeout_s) as response:
            return str(response.read().decode("utf-8"))

    def _result(
        self, request: GenerationRequest, fields: Mapping[str, Any], row: Mapping[str, Any] | None
    ) -> GenerationResult:
        if row is None:
            return GenerationResult(request, GenerationFault("the batch has no answer to this question"))
        response = row.get("response") or {}
        if row.get("error") or response.get("status_code") != 200:
            said = json.dumps(row.get("error") or response)[:300]
            return GenerationResult(request, GenerationFault(f"the batch failed for this question: {said}"))
        # completion_of reads attributes, as the answers of the official client have them.
        body = json.loads(json.dumps(response["body"]), object_hook=lambda fields: SimpleNamespace(**fields))
        try:
            return GenerationResult(request, completion_of(body, self.args.model, sampling_of(fields)))
        except MalformedAnswer as error:
            return GenerationResult(request, GenerationFault(str(error)))


def _line(name: str, fields: Mapping[str, Any]) -> str:
    # extra_body is an argument of the official client; in a batch file there is only the body.
    body = {**{key: value for key, value in fields.items() if key != "extra_body"}, **fields["extra_body"]}
    question = {"custom_id": name, "method": "POST", "url": _PATH, "body": body}
    return json.dumps(question, sort_keys=True) + "\n"
