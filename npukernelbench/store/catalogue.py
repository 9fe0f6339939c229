"""What an event log holds and where, without its contents: built by reading the log once, or loaded from the index."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from npukernelbench.errors import SourceLocation, StoreError
from npukernelbench.nouns import Outcome, Owner, SampleKey, Stage
from npukernelbench.nouns.codec import JSON
from npukernelbench.nouns.decode import key_from_json
from npukernelbench.store.files import check_schema

__all__ = ["Catalogue", "Place", "SampleEntry", "damaged", "scan"]


class Place(NamedTuple):
    """Where an event stands: byte offset of its line, and the line's number counted from 1."""

    offset: int
    line: int


class SampleEntry(NamedTuple):
    """A judged sample, as far as the index knows it."""

    place: Place
    outcome: Outcome
    owner: Owner
    stage: Stage

    @property
    def is_final(self) -> bool:
        """Whether the sample is never judged again. Faults of the infrastructure are retried, but not an answer that a
        filter withheld: it is stored, and would be withheld again."""
        return self.owner is not Owner.INFRA or self.outcome is Outcome.FILTERED


@dataclass(slots=True)
class Catalogue:
    """The places of all events. ``end`` is the number of bytes of whole lines, ``lines`` their number."""

    run_id: str = ""
    end: int = 0
    lines: int = 0
    prompts: dict[str, Place] = field(default_factory=dict)
    completions: dict[SampleKey, Place] = field(default_factory=dict)
    samples: dict[SampleKey, SampleEntry] = field(default_factory=dict)
    openings: list[Place] = field(default_factory=list)

    def add(self, event: Mapping[str, JSON], length: int) -> None:
        """Enter the event whose line of ``length`` bytes comes next. ValueError when it makes no sense there."""
        place = Place(self.end, self.lines + 1)
        if (event.get("type") == "header") != (place.line == 1):
            raise ValueError("the header must be the first line and no other")
        self._enter(event, place)
        self.end += length
        self.lines += 1

    def _enter(self, event: Mapping[str, JSON], place: Place) -> None:
        kind = event.get("type")
        if kind == "header":
            self.run_id = str(event.get("run_id"))
        elif kind == "opened":
            self.openings.append(place)
        elif kind == "prompt":
            self.prompts[str(event.get("id"))] = place
        elif kind == "completion":
            key = self._key(event)
            if key in self.completions:
                raise ValueError(f"the completion of {key} appears twice")
            self.completions[key] = place
        elif kind == "sample":
            key = self._key(event)
            before = self.samples.get(key)
            if before is not None and before.is_final:
                raise ValueError(f"the sample {key} appears twice, first in line {before.place.line}")
            self.samples[key] = _sample_entry(event, place)
        else:
            raise ValueError(f"unknown event type {kind!r}")

    def _key(self, event: Mapping[str, JSON]) -> SampleKey:
        prompt = event.get("prompt")
        identifier = prompt.get("id") if isinstance(prompt, Mapping) else None
        if identifier not in self.prompts:
            raise ValueError(f"prompt {identifier!r} is not in the lines above")
        return key_from_json(event.get("key"))


def _sample_entry(event: Mapping[str, JSON], place: Place) -> SampleEntry:
    verdict = event.get("verdict")
    if not isinstance(verdict, Mapping):
        raise ValueError("verdict: missing")
    return SampleEntry(place, Outcome(verdict.get("outcome")), Owner(verdict.get("owner")), Stage(verdict.get("stage")))


def scan(path: Path) -> Catalogue:
    """Read a whole log. A torn last line is left out; anything else that is damaged is a StoreError with file and line.

    A line is torn when it is the last and lacks its newline or is not JSON: the process or the machine stopped while it
    was written, and its writer was never told that it is safe. FileNotFoundError when there is no log.
    """
    catalogue = Catalogue()
    with path.open("rb") as log:
        line = log.readline()
        while line:
            # One line ahead, since only the last one may be torn.
            following = log.readline()
            if not line.endswith(b"\n"):
                break
            where = SourceLocation(path, catalogue.lines + 1)
            event = _parse(line)
            if event is None and not following and catalogue.lines:
                break
            if event is None:
                raise damaged(where, "is not a JSON object")
            if event.get("type") == "header":
                check_schema(event.get("schema"), where)
            try:
                catalogue.add(event, len(line))
            except ValueError as error:
                raise damaged(where, str(error)) from error
            line = following
    return catalogue


def _parse(line: bytes) -> Mapping[str, JSON] | None:
    try:
        event = json.loads(line)
    # Brackets nested deeply enough exhaust Python's JSON reader.
    except (ValueError, RecursionError):
        return None
    return event if isinstance(event, dict) else None


def damaged(where: SourceLocation, problem: str) -> StoreError:
    """The error for a log that cannot be read at ``where``."""
    return StoreError(
        f"the event log is damaged: {problem}",
        location=where,
        remedy="restore the file from a copy, or cut it off before this line; the run then makes the rest again",
    )
