"""Answers by what they answer: a file in which equal questions to the same model find the answer given before.

The address of an answer is a hash of the model (backend, what it says of itself, those of its arguments that decide
answers), the messages, the sampling parameters, the seed and the sample's number. Nothing of tasks, judges or folders
takes part, so that a run with another executor, or in another folder, asks for nothing twice. One SQLite file may be
shared by several runs at a time. Faults are never kept.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import sqlite3
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

from pydantic import BaseModel

from npukernelbench.config.values import redact
from npukernelbench.errors import SourceLocation, StoreError
from npukernelbench.generate.backend import (
    Backend,
    Capabilities,
    Described,
    GenerationRequest,
    GenerationResult,
    NoArgs,
    transport_arguments,
)
from npukernelbench.nouns import Completion
from npukernelbench.nouns.codec import JSON, dumps, to_json
from npukernelbench.nouns.decode import completion_from_json

__all__ = ["CachedBackend", "CompletionCache", "address", "backend_facts"]

_SCHEMA = 1
_TABLE = "create table if not exists answers (address text primary key, completion text not null) without rowid"


class CompletionCache:
    """The file. What :meth:`put` returned from survives the end of the process."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            # Other runs that share the file may be writing.
            self._database = sqlite3.connect(path, timeout=60.0, check_same_thread=False)
            # With a write-ahead log, runs that share the file read while another one writes.
            self._database.execute("pragma journal_mode = wal")
            (version,) = self._database.execute("pragma user_version").fetchone()
            # 0 is the version of a file that was just made.
            if version not in (0, _SCHEMA):
                raise self._broken(f"its format has version {version}, this harness knows {_SCHEMA}")
            self._database.execute(_TABLE)
            self._database.execute(f"pragma user_version = {_SCHEMA}")
            self._database.commit()
        except (OSError, sqlite3.Error) as error:
            raise self._broken(str(error)) from error

    def get(self, key: str) -> Completion | None:
        """The answer at an address; it counts as cached."""
        try:
            row = self._database.execute("select completion from answers where address = ?", (key,)).fetchone()
            return None if row is None else replace(completion_from_json(json.loads(row[0])), cached=True)
        except (sqlite3.Error, ValueError) as error:
            raise self._broken(str(error)) from error

    def put(self, key: str, completion: Completion) -> None:
        """Keep an answer; an answer that is there already stays."""
        try:
            # Another run that shares the file may have stored its answer meanwhile.
            self._database.execute("insert or ignore into answers values (?, ?)", (key, dumps(completion)))
            self._database.commit()
        except sqlite3.Error as error:
            raise self._broken(str(error)) from error

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    def _broken(self, problem: str) -> StoreError:
        return StoreError(
            f"the cache of answers cannot be used: {problem}",
            location=SourceLocation(self._path),
            remedy="name another file with --use_cache, or remove this one",
        )


class CachedBackend:
    """A backend that looks into a cache first. The backend behind it is opened when the first answer is missing."""

    Args: ClassVar[type[BaseModel]] = NoArgs

    def __init__(self, backend: Backend, path: Path, facts: Mapping[str, JSON]) -> None:
        self.capabilities: Capabilities = backend.capabilities
        self._backend, self._path, self._facts = backend, path, facts
        self._cache: CompletionCache | None = None
        self._opened = False
        self._opening = asyncio.Lock()

    async def open(self) -> None:
        """Open the file."""
        self._cache = CompletionCache(self._path)

    async def close(self) -> None:
        """Close the file, and the backend if it was opened."""
        cache, self._cache = self._cache, None
        if cache is not None:
            cache.close()
        if self._opened:
            self._opened = False
            await self._backend.close()

    async def generate_many(self, requests: Sequence[GenerationRequest]) -> AsyncIterator[GenerationResult]:
        """Known answers at once, the others as the backend gives them."""
        cache = self._cache
        if cache is None:
            raise RuntimeError("the backend is not open")
        missing = []
        for request in requests:
            kept = cache.get(address(self._facts, request))
            if kept is None:
                missing.append(request)
            else:
                yield GenerationResult(request, kept)
        if not missing:
            return
        # Several streams may miss at the same time, and a backend is opened once.
        async with self._opening:
            if not self._opened:
                # Before it is opened, so that what a failed attempt took is released as well.
                self._opened = True
                await self._backend.open()
        stream = self._backend.generate_many(missing)
        try:
            async for result in stream:
                if isinstance(result.answer, Completion):
                    cache.put(address(self._facts, result.request), result.answer)
                yield result
        finally:
            # Whoever stops early closes this stream: the backend's own ends with it, before the backend is closed.
            if isinstance(stream, AsyncGenerator):
                await stream.aclose()


def backend_facts(name: str, backend: Backend) -> dict[str, JSON]:
    """What decides a backend's answers beside the question. Arguments marked ``decides: false`` take no part."""
    args = getattr(backend, "args", None)
    decisive: dict[str, object] = {}
    if isinstance(args, BaseModel):
        fields = type(args).model_fields.keys() - transport_arguments(type(args))
        decisive = {field: getattr(args, field) for field in fields}
    described = dict(backend.describe()) if isinstance(backend, Described) else {}
    # Names of backends may be written either way; both must find the same answers.
    return {"backend": name.lower().replace("_", "-"), "args": redact(to_json(decisive)), "facts": to_json(described)}


def address(facts: Mapping[str, JSON], request: GenerationRequest) -> str:
    """Where the answer to a request lies."""
    asked = {
        "model": facts,
        "messages": request.prompt.messages,
        "sampling": request.params,
        "seed": request.seed,
        "index": request.key.index,
        # Left out where there are none: questions without tools keep their addresses.
        **({"tools": request.prompt.tools} if request.prompt.tools else {}),
    }
    return hashlib.sha256(dumps(asked).encode()).hexdigest()
