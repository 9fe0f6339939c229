"""The event log: one JSON object per line, appended and never changed, on the disk before an append returns."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

from npukernelbench.errors import SourceLocation, StoreError
from npukernelbench.nouns import Completion, Prompt, Sample, SampleKey
from npukernelbench.nouns.codec import JSON, dumps, to_json
from npukernelbench.nouns.decode import completion_from_json, prompt_from_json, sample_from_json
from npukernelbench.store.catalogue import Catalogue, Place, damaged
from npukernelbench.store.files import write_all, writing

__all__ = ["LOG_NAME", "LogReader", "LogWriter", "StoredCompletion", "StoredView"]

LOG_NAME = "events.jsonl"
#: Prompts that a reader keeps.
_KEPT = 64

_T = TypeVar("_T")
_log = logging.getLogger(__name__)


class StoredCompletion(NamedTuple):
    """What was asked and what was answered."""

    prompt: Prompt
    completion: Completion


class LogWriter:
    """Appends events to a log that the caller has locked and whose catalogue it knows."""

    def __init__(self, path: Path, catalogue: Catalogue) -> None:
        self._path = path
        self._catalogue = catalogue
        with writing(path):
            # O_APPEND puts each write at the end of the file, also after it was cut.
            self._descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o666)
            try:
                self._trim()
            except BaseException:
                self.close()
                raise

    def append(self, events: Sequence[Mapping[str, object]]) -> None:
        """Write events as one block and wait until it is on the disk. StoreError leaves the log as it was."""
        # Encoded before anything is written: an event that JSON cannot hold leaves the log alone.
        lines = [(dumps(event) + "\n").encode("ascii") for event in events]
        with writing(self._path):
            # An append that failed has left bytes if cutting them off failed as well.
            self._trim()
            try:
                write_all(self._descriptor, b"".join(lines))
                os.fsync(self._descriptor)
            except BaseException:
                self._trim()
                raise
        # Last: `_trim` cuts at the catalogue's end, so it must hold nothing that is not on the disk. Lines are parsed
        # again because the catalogue takes plain JSON.
        for line in lines:
            self._catalogue.add(json.loads(line), len(line))

    def _trim(self) -> None:
        """Cut off the rest of an interrupted append; no caller was told that it is safe."""
        surplus = os.fstat(self._descriptor).st_size - self._catalogue.end
        if surplus:
            _log.warning("%s: cutting off %d bytes of an unfinished last line", self._path, surplus)
            os.ftruncate(self._descriptor, self._catalogue.end)

    def close(self) -> None:
        """Give back the file."""
        os.close(self._descriptor)


class LogReader:
    """Reads single events back, by place. Opens the log for each, so there is nothing to close."""

    def __init__(self, path: Path, prompts: Mapping[str, Place]) -> None:
        self._path = path
        self._prompts = prompts
        self._texts: dict[str, JSON] = {}

    def event(self, place: Place) -> Mapping[str, JSON]:
        """One event."""
        try:
            with self._path.open("rb") as log:
                log.seek(place.offset)
                event = json.loads(log.readline())
        except (OSError, ValueError) as error:
            raise self._error(place, f"cannot be read back: {error}") from error
        if not isinstance(event, dict):
            raise self._error(place, "is not a JSON object")
        return event

    def prompt(self, event: Mapping[str, JSON], place: Place) -> Prompt:
        """The prompt that a completion or sample refers to."""
        reference = event.get("prompt")
        identifier = reference.get("id") if isinstance(reference, Mapping) else None
        if not isinstance(identifier, str) or identifier not in self._prompts:
            raise self._error(place, f"refers to prompt {identifier!r}, which does not exist")
        there = self._prompts[identifier]
        text = self._text(identifier, there)
        return self._decoded(there, lambda: prompt_from_json(text))

    def _text(self, identifier: str, there: Place) -> JSON:
        """A prompt as the log holds it. The last ones are kept: samples of one problem have the same."""
        text = self._texts.get(identifier)
        if text is None:
            text = self.event(there).get("prompt")
            # Replaced, not emptied: another thread may be reading it.
            self._texts = {**(self._texts if len(self._texts) < _KEPT else {}), identifier: text}
        return text

    def completion(self, place: Place) -> StoredCompletion:
        """A prompt and what the model answered."""
        event = self.event(place)
        prompt = self.prompt(event, place)
        return StoredCompletion(prompt, self._decoded(place, lambda: completion_from_json(event.get("completion"))))

    def sample(self, place: Place) -> Sample:
        """A judged sample, whole."""
        event = self.event(place)
        prompt = self.prompt(event, place)
        verdict = event.get("verdict")
        if not isinstance(verdict, Mapping):
            raise self._error(place, "verdict: missing")
        # The log has timings beside the verdict, so that what differs between equal runs stands under one key.
        whole = {**event, "prompt": to_json(prompt), "verdict": {**verdict, "timings": event.get("timings", {})}}
        return self._decoded(place, lambda: sample_from_json(whole))

    def _decoded(self, place: Place, decode: Callable[[], _T]) -> _T:
        try:
            return decode()
        except ValueError as error:
            raise self._error(place, str(error)) from error

    def _error(self, place: Place, problem: str) -> StoreError:
        return damaged(SourceLocation(self._path, place.line), problem)


class StoredView(Mapping[SampleKey, _T]):
    """A snapshot of what a log held, in the order of keys. Values are read from the disk when they are asked for."""

    def __init__(self, places: Mapping[SampleKey, Place], load: Callable[[Place], _T]) -> None:
        self._places = {key: places[key] for key in sorted(places)}
        self._load = load

    def __getitem__(self, key: SampleKey) -> _T:
        return self._load(self._places[key])

    def __contains__(self, key: object) -> bool:
        return key in self._places

    def __iter__(self) -> Iterator[SampleKey]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)
